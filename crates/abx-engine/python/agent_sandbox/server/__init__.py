"""The service of port 9000: named commands, processes, files, terminals, the system.

    from agent_sandbox.server import command, start

    @command("greet")
    def greet(name: str) -> str:
        "says hello"
        return "Hello, %s!" % name

    start(9000)

Where another `agent_sandbox.server` is installed, importing this one gives that one: it is what the template chose.
In reading order: `registry` and `signature` (what can be called and with what), `coercion`, `calls`; `endpoints`,
`policy`, `identity`, `rules` (what may be called by whom); `app` (requests and answers), `routes` (what each does).
"""

import importlib.util
import os
import sys


def _installed():
    """The `server` of another distribution, where there is one beside ours."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = sys.modules.get("agent_sandbox")
    for portion in list(getattr(package, "__path__", [])):
        file = os.path.join(portion, "server", "__init__.py")
        if os.path.abspath(portion) != own and os.path.isfile(file):
            return file
    return None


def _become(file):
    """Loads the package at `file` under our name; whoever imports us gets it."""
    spec = importlib.util.spec_from_file_location(
        __name__, file, submodule_search_locations=[os.path.dirname(file)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


_other = _installed()
if _other is not None:
    _become(_other)
else:
    from .app import SandboxServer, start
    from .calls import on_give_up
    from .policy import PolicyConfigError, ServerPolicy
    from .refusal import PolicyDenied
    from .registry import CommandArg, CommandRegistry, RegisteredCommand, command, default_registry

    __all__ = [
        "CommandArg",
        "CommandRegistry",
        "PolicyConfigError",
        "PolicyDenied",
        "RegisteredCommand",
        "SandboxServer",
        "ServerPolicy",
        "command",
        "default_registry",
        "on_give_up",
        "start",
    ]

__version__ = "1"
