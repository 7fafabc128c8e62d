"""The functions that can be called by name."""

import dataclasses
import inspect
from typing import Any, List, Optional, Sequence

from . import signature
from .signature import CommandArg

__all__ = ["CommandArg", "CommandRegistry", "RegisteredCommand", "command", "default_registry"]


@dataclasses.dataclass
class RegisteredCommand:
    """One command: what is called, and what is said about it."""

    name: str
    fn: Any
    args: List[CommandArg] = dataclasses.field(default_factory=list)
    description: str = ""
    #: Can be called but is not listed.
    hidden: bool = False
    #: What a caller needs beside `commands:run`.
    scopes: Sequence[str] = ()
    #: The function takes arguments that are not declared (`**options`).
    takes_any: bool = False


class CommandRegistry:
    """Commands by name. Once frozen (when a server begins) it takes no more."""

    def __init__(self):
        self._commands = {}
        self._frozen = False

    def register(self, name, fn, *, args=None, description="", hidden=False, scopes=()):
        """Registers `fn`. Its parameters are the arguments, unless `args` says otherwise; its docstring is the
        description where there is no other."""
        if self._frozen:
            raise RuntimeError("command %r comes too late: the server runs already" % name)
        if not name or not isinstance(name, str) or "/" in name:
            raise ValueError("%r cannot be the name of a command" % (name,))
        self._commands[name] = RegisteredCommand(
            name=name,
            fn=fn,
            args=signature.arguments(fn) if args is None else list(args),
            description=description or signature.summary(fn),
            hidden=hidden,
            scopes=tuple(scopes),
            takes_any=args is None and signature.takes_any(fn),
        )

    def command(self, name=None, *, hidden=False, description="", args=None, scopes=()):
        """The decorator: `@registry.command("greet")`, `@registry.command()` or `@registry.command`."""
        if inspect.isfunction(name):
            return self.command()(name)

        def decorate(fn):
            self.register(
                name or fn.__name__, fn, args=args, description=description, hidden=hidden, scopes=scopes
            )
            return fn

        return decorate

    def freeze(self):
        """No more commands from here on."""
        self._frozen = True

    def get(self, name) -> Optional[RegisteredCommand]:
        """The command, or None."""
        return self._commands.get(name)

    def list_all(self):
        """All of them by name, hidden ones too."""
        return dict(self._commands)

    def list_visible(self):
        """Those that are listed, by name."""
        return {name: each for name, each in self._commands.items() if not each.hidden}

    def __contains__(self, name):
        return name in self._commands

    def __len__(self):
        return len(self._commands)


_default = CommandRegistry()


def default_registry() -> CommandRegistry:
    """The registry that `command` and `@sandbox.register` fill and a server serves."""
    return _default


def command(name=None, *, hidden=False, description="", args=None, scopes=()):
    """Registers the decorated function as a named command and returns it as it is."""
    return _default.command(name, hidden=hidden, description=description, args=args, scopes=scopes)
