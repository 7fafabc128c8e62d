"""Registers what the templates of this sandbox's image keep: their `commands.py` and `commands/`.

Importing it does that: `python3 -m agent_sandbox.server serve --commands agent_sandbox.kept`, with this server or an
installed one. A parent's commands come first, so that a child's command of the same name stands.

    /usr/local/share/abx/00-base/commands.py
    /usr/local/share/abx/01-mine/commands.py
    /usr/local/share/abx/01-mine/commands/resize
"""

import contextlib
import importlib.util
import os
import sys
import traceback

from . import executables, server

FOLDER = os.environ.get("ABX_KEPT", "/usr/local/share/abx")


class Unloadable(SystemExit):
    """A `commands.py` fails. It ends the server, whose last words say where and why."""


def register_all(folder=FOLDER):
    """Registers everything below `folder`, in the order of the templates' names there."""
    for template in sorted(_names(folder)):
        path = os.path.join(folder, template)
        file = os.path.join(path, "commands.py")
        if os.path.isfile(file):
            load(file, "_abx_commands_%s" % "".join(c if c.isalnum() else "_" for c in template))
        executables.register_all(os.path.join(path, "commands"))


def load(file, name):
    """Executes a `commands.py` as the module `name`, with its folder at hand for imports."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module
    # Compiled files would lie in the sandbox's disk, and cannot where the user may not write.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with _serving_already():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        where = _line(error, file)
        what = "%s: %s" % (type(error).__name__, error) if str(error) else type(error).__name__
        raise Unloadable("%s%s does not load: %s" % (file, where, what))
    finally:
        sys.dont_write_bytecode = writes


@contextlib.contextmanager
def _serving_already():
    """A file that ends with `start(9000)` is served all the same, here."""
    start, serve = server.start, server.SandboxServer.serve
    server.start = server.SandboxServer.serve = lambda *arguments, **options: None
    try:
        yield
    finally:
        server.start, server.SandboxServer.serve = start, serve


def _line(error, file):
    if isinstance(error, SyntaxError) and error.filename == file:
        return ":%s" % error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return ":%s" % lines[-1] if lines else ""


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


register_all()
