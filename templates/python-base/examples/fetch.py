"""Serves a page on the loopback interface and fetches it with requests and with httpx; needs no network.

    abx upload ID examples/fetch.py fetch.py && abx exec ID -- python /home/user/fetch.py
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import requests


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"hello": "sandbox"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        for fetch in (requests.get, httpx.get):
            print(fetch.__module__.split(".")[0], fetch(url).json())
        server.shutdown()


if __name__ == "__main__":
    main()
