"""/pty/sessions: terminals. They are joined over WebSocket on a port of its own, opened with the first of them."""

import http.server
import json
import os
import threading
import urllib.parse

from ..identity import Identities
from ..programs import variables
from ..refusal import PolicyDenied, Refusal
from ..websocket import Closed, WebSocket
from . import pty_session

SHELLS = ("/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh")

_lock = threading.Lock()
_listener = None


def create(request):
    """Opens one."""
    body = request.body
    shell = body.get("shell") or next(each for each in SHELLS if os.path.exists(each))
    allowed = request.rule.params.get("shells")
    if shell not in SHELLS:
        raise Refusal(400, "Shell %r is not allowed; permitted: %s" % (shell, ", ".join(SHELLS)))
    if allowed is not None and shell not in allowed:
        raise PolicyDenied("shell_not_allowed", "the policy does not allow the shell %r" % shell)
    own = variables(request, "env")
    denied = sorted(set(own) & set(request.rule.params.get("env_deny", [])))
    if denied:
        raise PolicyDenied("env_var_not_allowed", "the policy does not allow %s" % ", ".join(denied))
    environment = dict(request.server.child_environment(), TERM="xterm-256color")
    environment.update(own)
    _listen(request.server)
    most = request.limit("max_sessions", pty_session.MOST)
    session = pty_session.open(shell, _size(body, (80, 24)), environment, min(most, pty_session.MOST))
    url = "ws://localhost:%d/pty?session_id=%s" % (request.server.pty_port, session.id)
    return {"session_id": session.id, "ws_url": url, "pid": session.pid}


def listed(_request):
    """The open ones."""
    return {"sessions": [session.described() for session in pty_session.sessions()]}


def detail(request):
    """One of them."""
    return pty_session.find(request.parameters["id"]).described()


def resize(request):
    """Gives it another size."""
    session = pty_session.find(request.parameters["id"])
    session.resize(*_size(request.body))
    return session.described()


def delete(request):
    """Closes it."""
    session = pty_session.find(request.parameters["id"])
    session.close()
    return {"status": "closed", "session_id": session.id}


def _size(body, default=(None, None)):
    given = (body.get("cols", default[0]), body.get("rows", default[1]))
    if not all(type(each) is int and 1 <= each <= 1000 for each in given):
        raise Refusal(400, "'cols' and 'rows' are whole numbers from 1 to 1000")
    return given


def _listen(server):
    global _listener
    with _lock:
        if _listener is None:
            _listener = http.server.ThreadingHTTPServer((server.host, server.pty_port), _Handler)
            _listener.daemon_threads = True
            _listener.owner = server
            threading.Thread(target=_listener.serve_forever, args=(2,), daemon=True, name="terminals").start()


class _Handler(http.server.BaseHTTPRequestHandler):
    """A WebSocket for one terminal."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        """Nothing of interest."""

    def do_GET(self):
        """The handshake, then the messages."""
        self.close_connection = True
        key = self.headers.get("Sec-WebSocket-Key")
        if "websocket" not in self.headers.get("Upgrade", "").lower() or not key:
            self.send_error(426, "a WebSocket is expected here")
            return
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", WebSocket.answer(key))
        self.end_headers()
        socket = WebSocket(self.rfile, self.wfile)
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        try:
            self._authorize(query)
            session = pty_session.find(query.get("session_id", ""))
        except Refusal as refusal:
            codes = {401: 4001, 400: 4001, 403: 4003}
            code = 4003 if refusal.extra.get("code") == "endpoint_disabled" else codes.get(refusal.status, 1008)
            socket.close(code, refusal.message)
            return
        _join(socket, session)

    def _authorize(self, query):
        owner = self.server.owner
        identities: Identities = owner.identities
        shown = self.headers.get("Authorization") or self.headers.get("X-Access-Token")
        if not shown and query.get("token") and identities.has_tokens:
            identity = identities.with_token(query["token"])
        else:
            identity = identities.of(self.headers)
        from ..endpoints import ENDPOINTS
        rule = owner.rules.admit(ENDPOINTS["pty_connect"], identity)
        owner.rules.release(rule, identity)


def _join(socket, session):
    """Carries messages both ways until either side has had enough."""
    socket.send(json.dumps({"type": "event", "event": "started", "session_id": session.id, "pid": session.pid}))
    leave = session.listen(lambda message: socket.send(json.dumps(message)), lambda: socket.close(1000))
    try:
        while True:
            _obey(session, socket.receive())
    except (Closed, OSError, ValueError):
        pass
    finally:
        leave()


def _obey(session, text):
    try:
        message = json.loads(text.decode("utf-8", "replace"))
    except ValueError:
        return
    kind = message.get("type") if isinstance(message, dict) else None
    if kind == "input":
        session.write(str(message.get("data", "")).encode())
    elif kind == "resize":
        try:
            session.resize(int(message["cols"]), int(message["rows"]))
        except (KeyError, TypeError, ValueError):
            pass
    elif kind == "signal":
        session.signal(str(message.get("signal", "SIGINT")))
