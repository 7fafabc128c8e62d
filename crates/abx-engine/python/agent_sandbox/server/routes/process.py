"""/process/*: programs in the background."""

import base64
import binascii
import os
import subprocess
import threading
import time

from ..programs import Program
from ..refusal import PolicyDenied, Refusal

SIGNALS = (2, 9, 15, 18, 20)
MOST = 100
KEPT_BYTES = 1 << 20
LONGEST_WAIT = 30.0

_processes = {}
_lock = threading.Lock()


class Background:
    """One of them, and what is kept of its output."""

    def __init__(self, process, command, limit):
        self.process, self.command, self.limit = process, command, limit
        self.started = time.time()
        self.events, self.kept, self.next, self.dropped = [], 0, 0, False
        self.changed = threading.Condition()
        self.readers = 0

    def state(self):
        """`running` or `exited`."""
        return "running" if self.process.poll() is None else "exited"

    def listed(self):
        """What is said of it."""
        return {"pid": self.process.pid, "command": self.command, "state": self.state(),
                "started_at": self.started}

    def add(self, stream, text):
        """Keeps a piece of output, and forgets the oldest beyond the limit."""
        with self.changed:
            self.events.append({"seq": self.next, "stream": stream, "data": text})
            self.next += 1
            self.kept += len(text)
            while self.kept > self.limit and len(self.events) > 1:
                self.kept -= len(self.events.pop(0)["data"])
                self.dropped = True
            self.changed.notify_all()

    def read(self, pipe, stream):
        """Keeps what comes out of a pipe."""
        with pipe:
            while True:
                piece = os.read(pipe.fileno(), 1 << 16)
                if not piece:
                    break
                self.add(stream, piece.decode("utf-8", "replace"))
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()


def start(request):
    """Starts one. `capture_output` keeps what it writes, `stdin` lets write to it."""
    program = Program(request)
    captured = bool(request.body.get("capture_output"))
    with _lock:
        running = [each for each in _processes.values() if each.state() == "running"]
        most = min(MOST, request.limit("max_processes", MOST))
        if len(running) >= most:
            raise Refusal(429, "Process limit reached (%d)" % most, "ResourceError", code="limit", limit=most)
        output = subprocess.PIPE if captured else subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                program.words, stdin=subprocess.PIPE if request.body.get("stdin") else subprocess.DEVNULL,
                stdout=output, stderr=output, cwd=program.directory, env=program.environment,
                start_new_session=True, bufsize=0,
            )
        except OSError as error:
            raise Refusal(500, str(error), type(error).__name__)
        background = Background(process, program.command, request.limit("max_output_bytes", KEPT_BYTES))
        _processes[process.pid] = background
        _forget()
    if captured:
        background.readers = 2
        for stream in ("stdout", "stderr"):
            arguments = (getattr(process, stream), stream)
            threading.Thread(target=background.read, args=arguments, daemon=True).start()
    return {"pid": process.pid, "command": program.command}


def _forget():
    """Of those that have ended only the latest are remembered."""
    ended = [pid for pid, each in _processes.items() if each.state() == "exited"]
    for pid in ended[:-MOST]:
        del _processes[pid]


def listed(_request):
    """Those that run."""
    with _lock:
        return {"processes": [each.listed() for each in _processes.values() if each.state() == "running"]}


def detail(request):
    """One, with the status it ended with."""
    background = _found(request)
    return dict(background.listed(), exit_code=background.process.poll())


def signal(request):
    """Sends a signal to it and what it has started."""
    background, number = _found(request), request.body.get("signal")
    allowed = request.rule.params.get("allowed_signals")
    if isinstance(number, bool) or not isinstance(number, int) or number not in SIGNALS:
        raise Refusal(400, "'signal' is one of %s" % ", ".join(map(str, SIGNALS)))
    if allowed is not None and number not in allowed:
        raise PolicyDenied("signal_not_allowed", "the policy does not allow signal %d" % number)
    if background.state() == "exited":
        raise Refusal(404, "Process %d not found: it has ended" % background.process.pid, "NotFoundError")
    try:
        os.killpg(background.process.pid, number)
    except ProcessLookupError:
        raise Refusal(404, "Process %d not found" % background.process.pid, "NotFoundError")
    return {"pid": background.process.pid, "signal": number}


def stdin(request):
    """Writes `data` or `data_base64`; `eof` closes."""
    background, body = _found(request), request.body
    pid, pipe = background.process.pid, background.process.stdin
    try:
        data = base64.b64decode(body["data_base64"], validate=True) if "data_base64" in body \
            else body.get("data", "").encode()
    except (binascii.Error, TypeError, ValueError, AttributeError):
        raise Refusal(400, "'data' is not a string, or 'data_base64' not base64")
    eof = bool(body.get("eof"))
    if not data and not eof:
        raise Refusal(400, "Provide 'data', 'data_base64' or 'eof'")
    if pipe is None or pipe.closed:
        raise Refusal(409, "Process %d has no open input" % pid, "ConflictError")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(pipe.fileno(), view):]
        if eof:
            pipe.close()
    except OSError as error:
        raise Refusal(409, "the input is closed: %s" % error.strerror, "ConflictError")
    return {"pid": pid, "written": len(data), "closed": eof}


def output(request):
    """What it has written from number `since` on; waits up to `wait` seconds for something."""
    background = _found(request)
    pid = background.process.pid
    if background.process.stdout is None:
        raise Refusal(409, "Process %d was started without capture_output" % pid, "ConflictError")
    try:
        since = max(0, int(request.query.get("since") or 0))
        deadline = time.monotonic() + min(LONGEST_WAIT, float(request.query.get("wait") or 0))
    except ValueError:
        raise Refusal(400, "'since' or 'wait' is not a number")
    with background.changed:
        while background.next <= since and background.readers:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            background.changed.wait(left)
        events = [event for event in background.events if event["seq"] >= since]
        following, dropped, readers = background.next, background.dropped, background.readers
    status = background.process.poll()
    ended = status is not None and not readers
    return {"pid": pid, "events": events, "next": following, "state": "exited" if ended else "running",
            "exit_code": status if ended else None, "dropped": dropped}


def _found(request):
    given = request.parameters["pid"]
    if not given.isdigit():
        raise Refusal(400, "Invalid pid: %r" % given)
    with _lock:
        background = _processes.get(int(given))
    if background is None:
        raise Refusal(404, "Process %s not found" % given, "NotFoundError")
    return background
