"""Which paths an endpoint may touch.

Everything is judged by where it leads, links followed. Without a policy these are the home, the workdir and /tmp;
what the kernel shows of itself is nobody's, ever.
"""

import fnmatch
import os

from .refusal import PolicyDenied

LONGEST = 4096
KERNEL = ("/proc", "/sys", "/dev")


class Paths:
    """The paths of one rule."""

    def __init__(self, rule, base_dir=None):
        self.rule = rule
        own = (base_dir or os.environ.get("ABX_SERVER_BASE_DIR") or os.path.expanduser("~"),)
        own += () if base_dir else (os.getcwd(), "/tmp")
        self.roots = [os.path.realpath(root) for root in rule.allow or own]

    def resolve(self, path, use="read", field=""):
        """The real path, for `use` (read, write, delete, exec).

        Raises 400 for what is no path, 403 for one that is not allowed."""
        named = field + ": " if field else ""
        if not isinstance(path, str) or not path or "\0" in path or len(path) > LONGEST:
            raise PolicyDenied("invalid_path", named + "missing or invalid path", status=400, type="ValueError")
        start = self.roots[0] if self.rule.allow else os.getcwd()
        written = os.path.normpath(os.path.join(start, path))
        real = os.path.realpath(written)
        root = next((root for root in self.roots if _is_within(real, root)), None)
        if root is None:
            raise PolicyDenied("path_not_allowed", named + "the path is outside of the allowed directories")
        if self.rule.symlinks == "never" and written != real:
            raise PolicyDenied("symlink_denied", named + "links are not allowed here")
        if any(_is_denied(each, pattern) for each in (real, written) for pattern in self.rule.deny + KERNEL):
            raise PolicyDenied("path_denied", named + "the policy denies this path")
        if self.rule.read_only and use in ("write", "delete"):
            raise PolicyDenied("read_only", named + "this endpoint only reads")
        return real

    def permits(self, path, use="read"):
        """Whether `resolve` would give it."""
        try:
            self.resolve(path, use)
            return True
        except PolicyDenied:
            return False

    def open(self, path, flags, use="read"):
        """Opens a resolved path, and looks once more where it has led: links may have changed meanwhile."""
        try:
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if os.path.islink(path):
                raise PolicyDenied("symlink_denied", "links are not allowed here")
            raise error
        try:
            self.resolve(os.readlink("/proc/self/fd/%d" % descriptor), use)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def _is_within(path, root):
    return root == "/" or path == root or path.startswith(root + "/")


def _is_denied(path, pattern):
    """A pattern without `/` is about every part; an absolute one about a directory and all below; any other about
    the end of the path or of one of its parents."""
    parts = path.split("/")
    if "/" not in pattern:
        return any(fnmatch.fnmatchcase(part, pattern) for part in parts if part)
    parents = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    pattern = pattern.rstrip("/")
    if pattern.startswith("/"):
        return any(fnmatch.fnmatchcase(parent, pattern) for parent in parents)
    tail = pattern[3:] if pattern.startswith("**/") else pattern
    return any(fnmatch.fnmatchcase(parent, "*/" + tail) for parent in parents)
