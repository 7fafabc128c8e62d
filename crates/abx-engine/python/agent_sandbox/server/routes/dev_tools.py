"""/code/run, /git/status, /git/diff: off unless asked for."""

import subprocess
import time

from ..refusal import PolicyDenied, Refusal

LANGUAGES = {"python": ["python3", "-c"], "node": ["node", "-e"], "bash": ["bash", "-c"]}
DEFAULT_TIMEOUT = 30.0
LONGEST = 300.0


def run_code(request):
    """Runs a piece of code in a process of its own."""
    code, language = request.body.get("code"), str(request.body.get("language", "python")).lower()
    if not isinstance(code, str) or not code:
        raise Refusal(400, "Missing or invalid 'code'")
    if language not in LANGUAGES:
        raise Refusal(400, "Unsupported language %r; supported: %s" % (language, ", ".join(LANGUAGES)))
    allowed = request.rule.params.get("languages")
    if allowed is not None and language not in allowed:
        raise PolicyDenied("language_not_allowed", "the policy does not allow %s" % language)
    try:
        timeout = min(float(request.body.get("timeout") or DEFAULT_TIMEOUT), LONGEST)
    except (TypeError, ValueError):
        raise Refusal(400, "'timeout' is not a number")
    started = time.monotonic()
    done = _done(request, LANGUAGES[language] + [code], min(timeout, request.limit("timeout_seconds", timeout)))
    elapsed = round((time.monotonic() - started) * 1000, 1)
    return {"stdout": done.stdout.decode("utf-8", "replace"), "stderr": done.stderr.decode("utf-8", "replace"),
            "exit_code": done.returncode, "language": language, "execution_time_ms": elapsed}


def git_status(request):
    """The branch, and the files that differ."""
    lines = _git(request, "status", "--porcelain=v1", "--branch").splitlines()
    branch = lines[0][3:].split("...")[0] if lines and lines[0].startswith("## ") else ""
    files = [{"status": line[:2].strip(), "path": line[3:]} for line in lines if not line.startswith("## ")]
    return {"branch": branch, "clean": not files, "files": files}


def git_diff(request):
    """What differs, of the index with `staged`."""
    staged = str(request.query.get("staged", "")).lower() in ("true", "yes", "1")
    words = ["diff"] + (["--cached"] if staged else [])
    # A line a file: lines added, lines removed, its name; binary files have dashes.
    rows = [line.split("\t") for line in _git(request, *words, "--numstat").splitlines()]
    added, removed = (sum(int(row[at]) for row in rows if row[at].isdigit()) for at in (0, 1))
    stats = {"files_changed": len(rows), "insertions": added, "deletions": removed}
    return {"diff": _git(request, *words), "stats": stats}


def _git(request, *words):
    path = request.path(request.query.get("path") or ".")
    done = _done(request, ["git", "-C", path] + list(words), DEFAULT_TIMEOUT)
    if done.returncode != 0:
        raise Refusal(400, done.stderr.decode("utf-8", "replace").strip() or "git failed", "GitError")
    return done.stdout.decode("utf-8", "replace")


def _done(request, words, timeout):
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                              env=request.server.child_environment(), start_new_session=True)
    except subprocess.TimeoutExpired:
        raise Refusal(408, "timed out after %gs" % timeout, "TimeoutError")
    except OSError as error:
        raise Refusal(500, "%s: %s" % (words[0], error.strerror), type(error).__name__)
