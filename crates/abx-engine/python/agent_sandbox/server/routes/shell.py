"""/shell and /shell/stream: one program, to its end. Its words are split as a shell does, but no shell runs it."""

import os
import queue
import subprocess
import threading
import time

from ..app import Stream
from ..programs import Program
from ..refusal import Refusal

#: How often to look whether somebody still waits.
LOOK = 0.2
PIECE = 64 << 10


def run(request):
    """Answers when it has ended."""
    program = Program(request)
    process, pieces = _started(program)
    limit = request.limit("max_output_bytes")
    output = {"stdout": bytearray(), "stderr": bytearray()}
    truncated = False
    try:
        for name, piece in _until_end(process, pieces, program.timeout, request.is_awaited):
            if name == "late":
                raise Refusal(500, "Command timed out after %gs" % program.timeout, "TimeoutError")
            room = len(piece) if limit is None else max(0, limit - len(output[name]))
            truncated = truncated or len(piece) > room
            output[name] += piece[:room]
    finally:
        _kill(process)
    answer = {name: bytes(text).decode("utf-8", "replace") for name, text in output.items()}
    answer["exit_code"] = process.wait()
    if truncated:
        answer["truncated"] = True
    return answer


def stream(request):
    """Answers in lines, as they come."""
    return Stream(_events(request, Program(request)))


def _events(request, program):
    try:
        process, pieces = _started(program)
    except Refusal as refusal:
        yield "error", {"error": refusal.message}
        return
    limit, written, partial = request.limit("max_output_bytes"), 0, {"stdout": b"", "stderr": b""}
    try:
        for name, piece in _until_end(process, pieces, program.timeout, request.is_awaited):
            if name == "late":
                yield "error", {"error": "timeout"}
                break
            written += len(piece)
            if limit is not None and written > limit:
                yield "error", {"error": "output_limit"}
                break
            *lines, partial[name] = (partial[name] + piece).split(b"\n")
            for line in lines:
                yield name, {"data": line.decode("utf-8", "replace")}
        for name, line in partial.items():
            if line:
                yield name, {"data": line.decode("utf-8", "replace")}
    finally:
        _kill(process)
    yield "exit", {"exit_code": process.wait()}


def _started(program):
    """The process and a queue of what it writes: `(stream, bytes)`, `(stream, None)` at each end."""
    try:
        process = subprocess.Popen(
            program.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=program.directory, env=program.environment, start_new_session=True,
        )
    except OSError as error:
        raise Refusal(500, str(error), type(error).__name__)
    pieces = queue.Queue(maxsize=64)
    for name in ("stdout", "stderr"):
        threading.Thread(target=_read, args=(getattr(process, name), name, pieces), daemon=True).start()
    return process, pieces


def _read(pipe, name, pieces):
    with pipe:
        while True:
            piece = os.read(pipe.fileno(), PIECE)
            pieces.put((name, piece or None))
            if not piece:
                return


def _until_end(process, pieces, timeout, is_awaited):
    """What it writes; `("late", b"")` once its time is up. Ends early when nobody waits any more."""
    deadline, left = time.monotonic() + timeout, 2
    while left:
        try:
            name, piece = pieces.get(timeout=LOOK)
        except queue.Empty:
            if time.monotonic() > deadline:
                yield "late", b""
                return
            if not is_awaited():
                raise BrokenPipeError()
            # Its output may be in other hands when it has ended itself.
            if process.poll() is not None:
                return
            continue
        if piece is None:
            left -= 1
        elif time.monotonic() > deadline:
            yield "late", b""
            return
        else:
            yield name, piece


def _kill(process):
    """With all it has started. One that has ended is left alone: its number may be another's."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, 9)
        except OSError:
            process.kill()
