"""A function in, the arguments it takes out: names, types, defaults, descriptions."""

import collections.abc
import dataclasses
import inspect
import json
import re
import typing
from typing import Any, Optional, Sequence

#: The types of arguments. `json` is any JSON value.
TYPES = ("string", "integer", "float", "boolean", "string_array", "json")

_OF_CLASS = {str: "string", int: "integer", float: "float", bool: "boolean"}
_WITH_ANY_PARTS = (list, dict, tuple, set, collections.abc.Sequence, collections.abc.Mapping)


@dataclasses.dataclass
class CommandArg:
    """One argument, as it is listed."""

    name: str
    type: str = "string"
    required: bool = False
    #: As text; None where there is none, or the function has it.
    default: Optional[str] = None
    description: str = ""
    #: The only values there are, where they are few.
    choices: Optional[Sequence[Any]] = None
    #: `null` is a value of it.
    nullable: bool = False
    #: Where the default is the function's own, it is left to it.
    is_own: bool = False

    def __post_init__(self):
        if self.type not in TYPES:
            raise ValueError("%r is no type of argument %r; there are %s" % (self.type, self.name, ", ".join(TYPES)))

    def listed(self):
        """What `GET /commands` says of it."""
        listed = {name: getattr(self, name) for name in ("name", "type", "required", "default", "description")}
        if self.choices is not None:
            listed["choices"] = list(self.choices)
        return listed


def arguments(fn):
    """What the function takes. Collecting parameters (`*rest`, `**options`) are none of its arguments."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    hints, described = _hints(fn), _described(fn)
    return [_argument(each, hints, described) for each in parameters if each.kind not in _COLLECTING]


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def takes_any(fn):
    """It has a `**options`."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)


def summary(fn):
    """The docstring up to its section of arguments."""
    doc = inspect.getdoc(fn) if inspect.isroutine(fn) else None
    return re.split(r"(?m)^\s*(?:Args|Arguments|Parameters|Returns|Raises):?\s*$", doc)[0].strip() if doc else ""


def _argument(parameter, hints, described):
    required = parameter.default is inspect.Parameter.empty
    default = None if required else parameter.default
    kind, choices, nullable, about = _type(hints.get(parameter.name, parameter.annotation), default)
    return CommandArg(
        name=parameter.name,
        type=kind,
        required=required,
        default=_text(default, kind),
        description=about or described.get(parameter.name, ""),
        choices=choices,
        nullable=nullable or (not required and default is None),
        is_own=not required,
    )


def _text(default, kind):
    if default is None:
        return None
    if kind in ("string_array", "json"):
        try:
            return json.dumps(default)
        except (TypeError, ValueError):
            return str(default)
    return str(default)


def _hints(fn):
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except TypeError:
        pass  # Python 3.8 knows no extras.
    except Exception:  # noqa: BLE001 - a name that means nothing here is no reason not to call the function
        return {}
    try:
        return typing.get_type_hints(fn)
    except Exception:  # noqa: BLE001
        return {}


def _type(annotation, default):
    """`(type, choices, nullable, description)` of an annotation; that of the default where there is none."""
    if annotation is inspect.Parameter.empty:
        known = type(default) if default is not None else str
        return _OF_CLASS.get(known, "json" if known in (list, dict) else "string"), None, False, ""
    about = next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, str)), "")
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if type(None) in parts and origin is not typing.Literal:
        rest = [part for part in parts if part is not type(None)]
        kind, choices, _, inner = _type(rest[0], default) if len(rest) == 1 else ("json", None, True, "")
        return kind, choices, True, about or inner
    if origin is typing.Literal:
        classes = {type(part) for part in parts}
        return _OF_CLASS.get(classes.pop() if len(classes) == 1 else None, "json"), parts, False, about
    if origin is list and parts == (str,):
        return "string_array", None, False, about
    if annotation is Any or annotation in _WITH_ANY_PARTS or origin in _WITH_ANY_PARTS or origin is typing.Union:
        return "json", None, False, about
    return _OF_CLASS.get(annotation, "string"), None, False, about


def _described(fn):
    """Descriptions of arguments in the docstring: `name: text` or `name (type): text`, below `Args:`."""
    doc = inspect.getdoc(fn) if inspect.isroutine(fn) else None
    section = re.split(r"(?m)^\s*(?:Args|Arguments|Parameters):?\s*$", doc, maxsplit=1)[1:] if doc else []
    found = {}
    for line in section[0].splitlines() if section else []:
        match = re.match(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s+(.+)$", line)
        if match:
            found[match.group(1)] = match.group(2).strip()
        elif line.strip() and not line.startswith((" ", "\t")):
            break
    return found
