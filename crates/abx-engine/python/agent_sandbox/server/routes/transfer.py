"""/files/upload-stream, download-stream and archive: content as base64 in JSON."""

import base64
import binascii
import fnmatch
import io
import os
import stat as modes
import tarfile
import zipfile

from ..refusal import PolicyDenied, Refusal
from .files import failed, walk

LONGEST = 100 << 20


def longest_upload():
    """Bytes, `ABX_MAX_UPLOAD_SIZE` where that is a number."""
    given = os.environ.get("ABX_MAX_UPLOAD_SIZE", "")
    return int(given) if given.isdigit() else LONGEST


def upload(request):
    """Writes a file, making its parents."""
    path = request.path(request.body.get("path"))
    content = request.body.get("content_base64")
    try:
        content = base64.b64decode(content, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise Refusal(400, "Missing or invalid 'content_base64'")
    _within(len(content), request.limit("max_bytes", longest_upload()))
    _named_well(request, path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    if request.rule.params.get("overwrite") is False:
        flags |= os.O_EXCL
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(request.paths().open(path, flags, "write"), "wb") as file:
            file.write(content)
    except FileExistsError:
        raise PolicyDenied("overwrite_denied", "the file is there already", status=409)
    except OSError as error:
        raise failed(error)
    return {"path": path, "bytes": len(content)}


def download(request):
    """Reads a file."""
    path = request.path(request.query.get("path"))
    missing = Refusal(404, "File not found: %s" % request.query["path"], "FileNotFoundError")
    try:
        with open(request.paths().open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not modes.S_ISREG(status.st_mode):
                raise missing
            _within(status.st_size, request.limit("max_bytes", longest_upload()))
            content = file.read()
    except IsADirectoryError:
        raise missing
    except OSError as error:
        raise failed(error)
    return {"path": path, "content_base64": base64.b64encode(content).decode(), "bytes": len(content)}


def archive(request):
    """Packs files and directories as `tar.gz` or `zip`."""
    paths, form = request.body.get("paths"), request.body.get("format", "tar.gz")
    if not isinstance(paths, list) or not paths:
        raise Refusal(400, "Missing or invalid 'paths'")
    if form not in ("tar.gz", "zip"):
        raise Refusal(400, "Unsupported format: %s" % form)
    members = [member for path in paths for member in _members(request, path)]
    most = request.limit("max_files", len(members))
    if len(members) > most:
        raise PolicyDenied("too_many_files", "more than %d files" % most, status=413, limit=most)
    longest = request.limit("max_bytes", longest_upload())
    _within(sum(os.lstat(path).st_size for path, _ in members if os.path.isfile(path)), longest)
    try:
        packed = _packed(members, form)
    except OSError as error:
        raise failed(error)
    return {"content_base64": base64.b64encode(packed).decode(), "format": form, "bytes": len(packed)}


def _members(request, given):
    path = request.path(given)
    if not os.path.lexists(path):
        raise Refusal(404, "Path not found: %s" % given, "FileNotFoundError")
    above = len(os.path.dirname(path).rstrip("/")) + 1
    yield path, path[above:]
    if os.path.isdir(path):
        for entry, status in walk(request.paths(), path, 1000):
            if modes.S_ISREG(status.st_mode) or modes.S_ISDIR(status.st_mode):
                yield entry.path, entry.path[above:]


def _packed(members, form):
    buffer = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for path, name in members:
                packed.write(path, name)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
            for path, name in members:
                packed.add(path, name, recursive=False)
    return buffer.getvalue()


def _within(length, limit):
    if length > limit:
        raise PolicyDenied("payload_too_large", "%d bytes are more than %d" % (length, limit), status=413,
                           type="ValueError", limit=limit)


def _named_well(request, path):
    name = os.path.basename(path).lower()
    fits = lambda endings: any(fnmatch.fnmatchcase(name, "*" + each.lower()) for each in endings)  # noqa: E731
    allow = request.rule.params.get("allow_extensions")
    if fits(request.rule.params.get("deny_extensions", [])) or (allow is not None and not fits(allow)):
        raise PolicyDenied("extension_not_allowed", "the policy does not allow files of this kind")
