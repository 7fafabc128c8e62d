"""/files/list, stat, mkdir, move, search and DELETE /files."""

import datetime
import fnmatch
import os
import shutil
import stat as modes
import time

from ..refusal import PolicyDenied, Refusal

MOST_ENTRIES = 10000
DEEPEST = 20
SEARCH_SECONDS = 30.0


def listed(request):
    """What is in a directory, with `recursive` below it too."""
    path = _directory(request, _given(request.query))
    most = min(_number(request.query, "max_entries", MOST_ENTRIES), request.limit("max_entries", MOST_ENTRIES))
    deepest = request.limit("max_depth", DEEPEST) if _word(request.query.get("recursive")) else 1
    entries = []
    for entry, status in walk(request.paths(), path, deepest):
        if len(entries) >= most:
            break
        kind = "directory" if modes.S_ISDIR(status.st_mode) else "file"
        entries.append({"name": entry.name, "path": entry.path, "type": kind, "size": status.st_size,
                        "modified": when(status.st_mtime)})
    return {"entries": entries}


def stat(request):
    """What a path is; that there is nothing is an answer too."""
    path = request.path(_given(request.query))
    name = os.path.basename(path)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return {"name": name, "path": path, "type": "unknown", "size": 0, "permissions": "", "modified": "",
                "accessed": "", "created": "", "exists": False}
    except OSError as error:
        raise failed(error)
    return {"name": name, "path": path, "type": kind_of(status), "size": status.st_size,
            "permissions": "%03o" % (status.st_mode & 0o777), "modified": when(status.st_mtime),
            "accessed": when(status.st_atime), "created": when(status.st_ctime), "exists": True}


def mkdir(request):
    """Makes a directory, with its parents. One that is there is fine."""
    path = request.path(_given(request.body))
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise failed(error)
    return {"path": path, "created": True}


def delete(request):
    """Removes a file, or a directory with all in it."""
    given = _given(request.query)
    path = request.path(given)
    if not os.path.lexists(path):
        raise Refusal(404, "Path not found: %s" % given, "FileNotFoundError")
    _whole(request.paths(), path, "delete")
    try:
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    except OSError as error:
        raise failed(error)
    return {"path": path, "deleted": True}


def move(request):
    """Moves or renames, making the parents of where it goes."""
    source = request.path(_given(request.body, "source"), "delete", "source")
    destination = request.path(_given(request.body, "destination"), "write", "destination")
    if not os.path.lexists(source):
        raise Refusal(404, "Source not found: %s" % request.body["source"], "FileNotFoundError")
    _whole(request.paths(), source, "delete")
    try:
        os.makedirs(os.path.dirname(destination), exist_ok=True)
        shutil.move(source, destination)
    except (OSError, shutil.Error) as error:
        raise failed(error)
    return {"source": source, "destination": destination}


def search(request):
    """Files whose name fits a pattern."""
    path = _directory(request, _given(request.body))
    pattern = _given(request.body, "pattern")
    deepest = min(_number(request.body, "max_depth", 5), request.limit("max_depth", DEEPEST))
    most = min(_number(request.body, "max_results", 100), request.limit("max_results", MOST_ENTRIES))
    deadline = time.monotonic() + request.limit("timeout_seconds", SEARCH_SECONDS)
    results, late = [], False
    for entry, status in walk(request.paths(), path, deepest):
        late = time.monotonic() > deadline
        if late or len(results) >= most:
            break
        if not modes.S_ISDIR(status.st_mode) and fnmatch.fnmatch(entry.name, pattern):
            results.append({"name": entry.name, "path": entry.path})
    return {"results": results, "timed_out": late}


def walk(paths, directory, deepest):
    """Entries below a directory with their status, those of a directory before its content; links are not followed,
    what may not be touched or read is left out."""
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if not paths.permits(entry.path):
            continue
        yield entry, status
        if deepest > 1 and entry.is_dir(follow_symlinks=False):
            yield from walk(paths, entry.path, deepest - 1)


def kind_of(status):
    """`file`, `directory`, `symlink` or `other`."""
    for test, kind in ((modes.S_ISDIR, "directory"), (modes.S_ISLNK, "symlink"), (modes.S_ISREG, "file")):
        if test(status.st_mode):
            return kind
    return "other"


def when(seconds):
    """A time as ISO 8601, UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


def failed(error):
    """A failure of the file system as an answer."""
    status = {FileNotFoundError: 404, PermissionError: 403}.get(type(error), 500)
    return Refusal(status, str(error), type(error).__name__)


def _given(values, name="path"):
    given = values.get(name)
    if not isinstance(given, str) or not given:
        raise Refusal(400, "Missing or invalid '%s'" % name)
    return given


def _directory(request, given):
    path = request.path(given)
    if not os.path.isdir(path):
        raise Refusal(404, "Directory not found: %s" % given, "FileNotFoundError")
    return path


def _whole(paths, path, use):
    """Nothing below may be denied where all of it goes."""
    for directory, folders, names in os.walk(path):
        for name in folders + names:
            each = os.path.join(directory, name)
            if not os.path.islink(each) and not paths.permits(each, use):
                raise PolicyDenied("path_denied", "the policy denies something in it")


def _number(values, name, default):
    try:
        return max(1, int(values.get(name, default)))
    except (TypeError, ValueError):
        raise Refusal(400, "'%s' is not a whole number" % name)


def _word(text):
    return str(text).lower() in ("true", "yes", "1")
