"""Terminals, each with a shell in it."""

import codecs
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
import uuid

from ..refusal import Refusal

MOST = 10
IDLE_SECONDS = 30 * 60
#: So much of the last output a latecomer gets to see.
KEPT = 64 << 10
SIGNALS = ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT")

_sessions = {}
_lock = threading.Lock()


def open(shell, size, environment, most):  # noqa: A001
    """Opens a terminal; 429 where there are enough."""
    with _lock:
        for session in list(_sessions.values()):
            if time.time() - session.used > IDLE_SECONDS:
                session.close()
        if len(_sessions) >= most:
            raise Refusal(429, "%d terminals are open, which is as many as there may be" % most, "RuntimeError",
                          code="limit", limit=most)
        session = Session(shell, size, environment)
        _sessions[session.id] = session
    threading.Thread(target=session.read, daemon=True, name="terminal").start()
    return session


def sessions():
    """The open ones, oldest first."""
    return list(_sessions.values())


def find(which):
    """One by its id; 404 where there is none."""
    session = _sessions.get(which)
    if session is None:
        raise Refusal(404, "Session not found: %s" % which)
    return session


class Session:
    """A shell in a terminal, and who listens to it."""

    def __init__(self, shell, size, environment):
        self.id = uuid.uuid4().hex[:12]
        self.shell, self.size = shell, size
        self.created = self.used = time.time()
        self._ours, theirs = pty.openpty()
        self._resize()
        try:
            self._process = subprocess.Popen(
                [shell], stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
                start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        except OSError as error:
            os.close(self._ours)
            raise Refusal(500, str(error), "OSError")
        finally:
            os.close(theirs)
        self.pid = self._process.pid
        self._listeners = []
        self._kept = ""
        self._changing = threading.RLock()

    def described(self):
        """What is said of it."""
        return {"id": self.id, "session_id": self.id, "pid": self.pid, "shell": self.shell, "cols": self.size[0],
                "rows": self.size[1], "created_at": self.created, "last_activity": self.used,
                "alive": self._process.poll() is None}

    def listen(self, tell, end):
        """Tells of output from here on, after what is kept of it; returns how to stop."""
        listener = (tell, end)
        with self._changing:
            if self._kept:
                tell({"type": "output", "data": self._kept})
            self._listeners.append(listener)

        def leave():
            with self._changing:
                if listener in self._listeners:
                    self._listeners.remove(listener)
        return leave

    def write(self, data):
        """What is typed."""
        self.used = time.time()
        view = memoryview(data)
        while view:
            view = view[os.write(self._terminal(), view):]

    def resize(self, columns, rows):
        """Another size; the shell is told."""
        if 1 <= columns <= 1000 and 1 <= rows <= 1000:
            self.size = (columns, rows)
            self._resize()

    def signal(self, name):
        """To whatever runs in the foreground."""
        if name in SIGNALS:
            try:
                os.killpg(os.tcgetpgrp(self._terminal()), getattr(signal, name))
            except OSError:
                pass

    def close(self):
        """Ends the shell and all it has started in the terminal."""
        _sessions.pop(self.id, None)
        if self._process.poll() is None:
            for number in (signal.SIGHUP, signal.SIGKILL):
                try:
                    os.killpg(self.pid, number)
                except OSError:
                    pass

    def read(self):
        """Tells the listeners what the terminal shows, until the shell ends."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:
                break
            if not data:
                break
            self.used = time.time()
            text = decoder.decode(data)
            if text:
                self._kept = (self._kept + text)[-KEPT:]
                self._tell({"type": "output", "data": text})
        status = self._process.wait()
        _sessions.pop(self.id, None)
        self._tell({"type": "event", "event": "exited", "session_id": self.id, "exit_code": status}, last=True)
        ours, self._ours = self._ours, None
        os.close(ours)

    def _terminal(self):
        """Its number, which is another's once it is closed."""
        if self._ours is None:
            raise OSError("the terminal is closed")
        return self._ours

    def _tell(self, message, last=False):
        with self._changing:
            for listener in list(self._listeners):
                tell, end = listener
                try:
                    tell(message)
                    end() if last else None
                except (OSError, ValueError):
                    self._listeners.remove(listener)

    def _resize(self):
        columns, rows = self.size
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
