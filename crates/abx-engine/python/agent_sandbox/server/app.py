"""Requests in, answers out, over HTTP/1.1 with a thread a connection."""

import dataclasses
import http.server
import json
import os
import select
import socket
import sys
import time
import traceback
import urllib.parse
from typing import Any, Dict

from . import endpoints, values
from .identity import Identities, Identity
from .paths import Paths
from .policy import ServerPolicy
from .refusal import PolicyDenied, Refusal
from .registry import default_registry
from .rules import Rules

LONGEST_BODY = 10 << 20
PORT = 9000
TERMINAL_PORT = 9001


@dataclasses.dataclass
class Request:
    """What the code of an endpoint gets."""

    server: Any
    identity: Identity
    rule: Any
    query: Dict[str, str]
    body: Dict[str, Any]
    parameters: Dict[str, str]
    #: Whether the caller still waits.
    is_awaited: Any

    def path(self, path, use=None, field=""):
        """The real path, if this endpoint may touch it."""
        return self.paths().resolve(path, use or endpoints.ENDPOINTS[self.rule.endpoint].path_use, field)

    def paths(self):
        """What this endpoint may touch."""
        return Paths(self.rule, self.server.policy.document.get("base_dir"))

    def limit(self, name, default=None):
        """A limit of the policy."""
        return self.rule.limits.get(name, default)


class Stream:
    """An answer in events: pairs of a name and a JSON value."""

    def __init__(self, events):
        self.events = events


class SandboxServer:
    """The service: commands, a policy, and who may do what."""

    def __init__(self, host="0.0.0.0", registry=None, pty_port=None, policy=None):
        self.host = host
        self.registry = registry if registry is not None else default_registry()
        if isinstance(policy, dict):
            policy = ServerPolicy(policy)
        self.policy = policy if policy is not None else ServerPolicy.from_environment()
        self.rules = Rules(self.policy)
        self.identities = Identities(self.policy)
        self.pty_port = int(pty_port or os.environ.get("ABX_PTY_PORT") or TERMINAL_PORT)
        self._http = None

    def serve(self, port=PORT):
        """Serves until interrupted. No command can be registered from then on."""
        self.registry.freeze()
        self._http = _Http((self.host, port), _Handler)
        self._http.owner = self
        try:
            self._http.serve_forever(poll_interval=2)
        except KeyboardInterrupt:
            pass
        finally:
            self._http.server_close()

    def shutdown(self):
        """Ends `serve`, from another thread."""
        if self._http is not None:
            self._http.shutdown()

    def child_environment(self):
        """What programs get: everything but the service's own secrets."""
        return {name: value for name, value in os.environ.items() if not self.is_secret(name)}

    def is_secret(self, variable):
        """A variable that is the service's own affair."""
        return variable in self.identities.secret_variables or variable.upper().startswith("ABX_SERVER_")


def start(port=PORT, host="0.0.0.0", registry=None, policy=None):
    """Serves what is registered until interrupted."""
    SandboxServer(host=host, registry=registry, policy=policy).serve(port)


class _Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # A caller that went away is no news.
            traceback.print_exc()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "abx"
    sys_version = ""

    def log_message(self, *arguments):
        """Every request would be a line of the log."""

    def do_GET(self):
        """Any method goes the same way."""
        self._said = False
        try:
            self._answer(self.command)
        except Refusal as refusal:
            self._refuse(refusal)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 - whatever an endpoint failed with is its answer
            traceback.print_exc()
            self._refuse(Refusal(500, str(error), type(error).__name__))

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

    def _answer(self, method):
        owner = self.server.owner
        target = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(target.path).rstrip("/") or "/"
        endpoint, parameters = endpoints.find(method, path)
        if endpoint is None or not endpoint.handler:
            self._drain()
            raise Refusal(404, "not found: %s" % path)
        is_open = endpoint.name == "health"
        rule, identity, said = None, None, ""
        try:
            identity = Identity("anonymous", frozenset()) if is_open else owner.identities.of(self.headers)
            rule = owner.rules.admit(endpoint, identity)
            request = Request(owner, identity, rule, self._query(target.query), self._body(method, rule),
                              parameters, self._is_awaited)
            answer = endpoint.answer(request)
            if isinstance(answer, Stream):
                self._stream(answer)
            else:
                self._send(200, answer)
        except Refusal as refusal:
            said = refusal.extra.get("code", "error")
            refusal.extra.setdefault("endpoint", endpoint.name) if "code" in refusal.extra else None
            raise
        finally:
            if rule is not None:
                owner.rules.release(rule, identity)
            _audit(rule, identity, endpoint, said)

    def _query(self, text):
        found = urllib.parse.parse_qs(text, keep_blank_values=True)
        twice = sorted(name for name, given in found.items() if len(given) > 1)
        if twice:
            raise PolicyDenied("duplicate_parameter", "%s is given twice" % twice[0], status=400, type="ValueError")
        return {name: given[0] for name, given in found.items()}

    def _body(self, method, rule):
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise PolicyDenied("unsupported_encoding", "send Content-Length instead of Transfer-Encoding",
                               status=400, type="ValueError")
        length = self._length()
        limit = rule.limits.get("max_request_bytes", _longest_body(rule.endpoint))
        if length > limit:
            self.close_connection = True
            raise PolicyDenied("payload_too_large", "a body of %d bytes is longer than %d" % (length, limit),
                               status=413, type="ValueError", limit=limit)
        text = self.rfile.read(length)
        self._read = True
        if not text or method == "GET":
            return {}
        try:
            body = json.loads(text.decode("utf-8"))
        except ValueError as error:
            raise Refusal(400, "the body is not JSON: %s" % error)
        if not isinstance(body, dict):
            raise Refusal(400, "the body is not a JSON object")
        return body

    def _length(self):
        given = self.headers.get_all("Content-Length") or ["0"]
        if len(set(given)) > 1 or not (given[0].isascii() and given[0].isdigit()):
            self.close_connection = True
            raise Refusal(400, "Content-Length is not a number")
        return int(given[0])

    def _drain(self):
        """What is not read now would be taken for the next request."""
        if not getattr(self, "_read", False) and (self.headers.get("Content-Length") or "0") != "0":
            self.close_connection = True
        self._read = False

    def _is_awaited(self):
        """The caller has not hung up."""
        try:
            if not select.select([self.connection], [], [], 0)[0]:
                return True
            return self.connection.recv(1, socket.MSG_PEEK) != b""
        except (OSError, ValueError):
            return False

    def _refuse(self, refusal):
        if self._said:
            self.close_connection = True
            return
        self._drain()
        self._send(refusal.status, refusal.body(), refusal.extra.get("retry_after"))

    def _send(self, status, value, retry_after=None):
        body = values.dumped(value)
        self._said = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self._read = False

    def _stream(self, stream):
        self._said = True
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for name, value in stream.events:
                self.wfile.write(b"event: %s\ndata: %s\n\n" % (name.encode(), values.dumped(value)))
                self.wfile.flush()
        finally:
            stream.events.close()


def _longest_body(endpoint):
    if endpoint != "files_upload_stream":
        return LONGEST_BODY
    from .routes.transfer import longest_upload
    return max(LONGEST_BODY, longest_upload() * 4 // 3 + 4096)


def _audit(rule, identity, endpoint, said):
    """A line of JSON in the log for calls that the policy wants to know of: those it denied, or all."""
    mode = rule.audit if rule is not None else "deny"
    if mode == "all" or (mode == "deny" and said and said != "error"):
        event = {
            "ts": round(time.time(), 3), "identity": identity.id if identity else None,
            "endpoint": endpoint.name, "method": endpoint.method,
            "decision": "deny" if said else "allow", "code": said or None,
        }
        sys.stderr.write("audit %s\n" % json.dumps(event))
        sys.stderr.flush()
