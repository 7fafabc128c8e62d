"""/files/watch: changes in a directory, found by looking again and again."""

import os
import stat as modes
import time

from ..app import Stream
from ..refusal import Refusal
from .files import walk

LONGEST = 300.0
MOST_ENTRIES = 5000


def watch(request):
    """`ready`, then a `change` each, then `end` when the time is up."""
    query = request.query
    path = request.path(query.get("path"))
    if not os.path.isdir(path):
        raise Refusal(404, "Directory not found: %s" % query["path"], "FileNotFoundError")
    try:
        interval = min(5.0, max(0.1, float(query.get("interval") or 0.5)))
        seconds = max(0.1, float(query.get("timeout") or LONGEST))
    except ValueError:
        raise Refusal(400, "'interval' or 'timeout' is not a number")
    deepest = 10 if str(query.get("recursive", "")).lower() in ("true", "yes", "1") else 1
    seconds = min(seconds, request.limit("max_duration_seconds", LONGEST))
    return Stream(_changes(request, path, deepest, interval, seconds))


def _changes(request, path, deepest, interval, seconds):
    before = _seen(request.paths(), path, deepest)
    yield "ready", {"path": path}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and request.is_awaited():
        time.sleep(min(interval, max(0.0, deadline - time.monotonic())))
        now = _seen(request.paths(), path, deepest)
        for each in sorted(set(before) | set(now)):
            old, new = before.get(each), now.get(each)
            if old == new:
                continue
            kind = "created" if old is None else "deleted" if new is None else "modified"
            yield "change", {"type": kind, "path": each, "is_dir": (new or old)[0]}
        before = now
    yield "end", {"reason": "timeout"}


def _seen(paths, directory, deepest):
    seen = {}
    for entry, status in walk(paths, directory, deepest):
        is_directory = modes.S_ISDIR(status.st_mode)
        seen[entry.path] = (is_directory, status.st_mtime_ns, 0 if is_directory else status.st_size, status.st_ino)
        if len(seen) >= MOST_ENTRIES:
            break
    return seen
