"""What a template's `commands.py` says `@sandbox.register` with.

This folder has no `__init__.py` on purpose: an installed `agent_sandbox` that is a package of its own is taken by
Python instead of this one, wherever it stands on the path.
"""

from . import server

__all__ = ["register", "run", "server"]


def register(function=None, **options):
    """Makes a function a named command: `@sandbox.register`, or `@sandbox.register(name="other")`.

    Its name, parameters, their types and defaults, and its docstring are those of the command.
    """
    if function is not None:
        return server.command(**options)(function)
    return server.command(**options)


def run(name, **arguments):
    """Calls a command of this sandbox from inside it, with values as they are, and returns its value."""
    registered = server.default_registry().get(name)
    if registered is None:
        raise LookupError("no command %r is registered here" % name)
    return registered.fn(**arguments)
