"""A kernel of Jupyter's protocol in plain Python, without ZeroMQ: it speaks the wire itself, as a server does.

A cell is a line of words: what is to happen, one after the other.
"""

import hashlib
import hmac
import json
import os
import signal
import socket
import sys
import threading
import time

info = json.load(open(sys.argv[1]))
lock = threading.Lock()
subscribers = []
count = 0
interrupted = threading.Event()
refusing = {"times": 0}


def listen(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((info["ip"], port))
    server.listen()
    return server


def read(stream, length):
    data = b""
    while len(data) < length:
        part = stream.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frame(stream):
    flags = read(stream, 1)[0]
    length = int.from_bytes(read(stream, 8 if flags & 2 else 1), "big")
    return flags, read(stream, length)


def message(stream):
    frames = []
    while True:
        flags, body = frame(stream)
        if flags & 4:
            continue
        frames.append(body)
        if not flags & 1:
            return frames


def encode(frames):
    data = b""
    for number, body in enumerate(frames):
        more = int(number + 1 < len(frames))
        long = len(body) > 255
        data += bytes([more | 2 * long]) + len(body).to_bytes(8 if long else 1, "big") + body
    return data


def greet(stream, role):
    stream.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48))
    theirs = read(stream, 64)
    assert theirs[0] == 0xFF and theirs[12:16] == b"NULL", theirs
    body = b"\x05READY\x0bSocket-Type" + len(role).to_bytes(4, "big") + role
    stream.sendall(bytes([4, len(body)]) + body)
    flags, ready = frame(stream)
    assert flags == 4 and ready.startswith(b"\x05READY"), ready


def signed(kind, parent, content):
    header = {"msg_id": os.urandom(8).hex(), "msg_type": kind, "session": "s", "version": "5.3"}
    parts = [json.dumps(part).encode() for part in (header, parent, {}, content)]
    mac = hmac.new(info["key"].encode(), digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return [b"<IDS|MSG>", mac.hexdigest().encode(), *parts]


def publish(kind, parent, content):
    data = encode([b"topic", *signed(kind, parent, content)])
    with lock:
        for stream in subscribers:
            stream.sendall(data)


def execute(parent, request):
    """What a cell's words mean; the answer's content."""
    global count
    if not request["silent"]:
        count += 1
        publish("execute_input", parent, {"code": request["code"], "execution_count": count})
    answer = {"status": "ok", "execution_count": count, "payload": []}
    for word in request["code"].split():
        name, _, value = word.partition("=")
        if name == "out":
            publish("stream", parent, {"name": "stdout", "text": value})
        elif name == "others":
            publish("stream", {"msg_id": "another"}, {"name": "stdout", "text": value})
        elif name == "forms":
            publish("display_data", parent, {"data": json.loads(value), "metadata": {}})
        elif name == "value":
            publish("execute_result", parent, {"data": {"text/plain": value}, "execution_count": count})
        elif name == "large":
            publish("display_data", parent, {"data": {"text/plain": "x" * int(value)}, "metadata": {}})
        elif name == "raise":
            refusing.update(times=3)
            error = {"ename": value, "evalue": "why", "traceback": ["one", "two"]}
            publish("error", parent, error)
            return {"status": "error", **error}
        elif name == "wait":
            publish("stream", parent, {"name": "stdout", "text": "waiting"})
            interrupted.clear()
            interrupted.wait()
            return {"status": "error", "ename": "Interrupted", "evalue": "", "traceback": []}
        elif name == "die":
            os._exit(int(value))
        elif name == "busy":
            return None
    return answer


def serve_shell(stream):
    greet(stream, b"ROUTER")
    while True:
        frames = message(stream)
        at = frames.index(b"<IDS|MSG>")
        header, content = json.loads(frames[at + 2]), json.loads(frames[at + 5])
        kind = header["msg_type"]
        publish("status", header, {"execution_state": "busy"})
        if kind == "interrupt_request":
            interrupted.set()
            answer = {"status": "ok"}
        elif kind == "execute_request" and refusing["times"]:
            refusing["times"] -= 1
            answer = {"status": "aborted"}
        elif kind == "execute_request":
            answer = execute(header, content)
        else:
            answer = {"status": "ok", "language_info": {"name": "words"}}
        if answer is not None:
            stream.sendall(encode(signed(kind.replace("_request", "_reply"), header, answer)))
            publish("status", header, {"execution_state": "idle"})


def serve_published(stream):
    greet(stream, b"PUB")
    assert message(stream) == [b"\x01"]
    with lock:
        subscribers.append(stream)


def accept(server, serve):
    while True:
        stream, _ = server.accept()

        def run(stream=stream):
            try:
                serve(stream)
            except (EOFError, OSError):
                pass

        threading.Thread(target=run, daemon=True).start()


signal.signal(signal.SIGINT, lambda *_: interrupted.set())
print("a word of the process itself", file=sys.stderr)
for port, serve in (("iopub_port", serve_published), ("control_port", serve_shell), ("shell_port", serve_shell)):
    threading.Thread(target=accept, args=(listen(info[port]), serve), daemon=True).start()
while True:
    time.sleep(3600)
