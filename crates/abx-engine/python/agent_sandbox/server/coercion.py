"""Values of a request, and the types they are declared with → values a function is called with."""

import json

_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0")


def coerced(command, given):
    """The arguments `command` is called with.

    Raises ValueError for one that is missing, unknown or none of its choices, TypeError for one of another type."""
    if not isinstance(given, dict):
        raise ValueError("arguments are a JSON object")
    declared = {each.name for each in command.args}
    unknown = sorted(name for name in given if name not in declared)
    if unknown and not command.takes_any:
        known = ", ".join(sorted(declared)) or "none"
        raise ValueError("unexpected argument %s; it takes %s" % (", ".join(map(repr, unknown)), known))
    values = {name: given[name] for name in unknown}
    for argument in command.args:
        if argument.name in given:
            values[argument.name] = _checked(argument, given[argument.name])
        elif argument.required:
            raise ValueError("required argument %r is missing" % argument.name)
        elif argument.default is not None and not argument.is_own:
            values[argument.name] = _default(argument)
    return values


def _checked(argument, value):
    if value is None and argument.nullable:
        return None
    try:
        value = parsed(value, argument.type)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError("argument %r: %s" % (argument.name, error))
    if argument.choices is not None and value not in argument.choices:
        raise ValueError("argument %r is one of %s" % (argument.name, ", ".join(map(str, argument.choices))))
    return value


def _default(argument):
    text = argument.default
    try:
        return parsed(json.loads(text) if argument.type in ("string_array", "json") else text, argument.type)
    except (TypeError, ValueError):
        return text


def parsed(value, kind):
    """`value` as a `kind`. A boolean is no number, words for booleans are few, numbers may be written as text."""
    return _PARSERS[kind](value)


def _shown(value):
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _string(value):
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise TypeError("%s is not a string" % _shown(value))


def _integer(value):
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            pass
    raise TypeError("%s is not an integer" % _shown(value))


def _float(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value.strip())
        except ValueError:
            pass
    raise TypeError("%s is not a number" % _shown(value))


def _boolean(value):
    word = str(value).strip().lower()
    if isinstance(value, bool) or (isinstance(value, (str, int)) and word in _TRUE + _FALSE):
        return word in _TRUE
    raise TypeError("%s is not a boolean (true, false, yes, no, 1, 0)" % _shown(value))


def _string_array(value):
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise TypeError("%s is not a list of strings" % _shown(value))


_PARSERS = {
    "string": _string,
    "integer": _integer,
    "float": _float,
    "boolean": _boolean,
    "string_array": _string_array,
    "json": lambda value: value,
}
