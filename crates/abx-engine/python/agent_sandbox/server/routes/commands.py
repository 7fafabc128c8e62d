"""/commands and /commands/{name}."""

import traceback

from ..calls import Call, GivenUp
from ..coercion import coerced
from ..refusal import Refusal
from ..rules import require
from .. import values


def listed(request):
    """The commands this caller may run."""
    commands = [
        {"name": name, "args": [each.listed() for each in command.args], "description": command.description}
        for name, command in sorted(request.server.registry.list_visible().items())
        if all(request.identity.can(scope) for scope in command.scopes)
    ]
    return {"commands": commands}


def run(request):
    """Calls one. What it raises is an error of its own type; what it prints goes to the log."""
    name, registry = request.parameters["name"], request.server.registry
    command = registry.get(name)
    if command is None:
        available = ", ".join(sorted(registry.list_visible())) or "(none)"
        raise Refusal(404, "Unknown command %r; available: %s" % (name, available))
    for scope in command.scopes:
        require(request.identity, scope, request.rule.endpoint)
    try:
        arguments = coerced(command, request.body)
    except (TypeError, ValueError) as error:
        raise Refusal(400, str(error), type(error).__name__)
    try:
        value = Call(command.fn, arguments).result(request.is_awaited)
        values.dumped(value)
    except GivenUp:
        raise BrokenPipeError()
    except BaseException as error:  # noqa: BLE001 - SystemExit of a command must not end the server
        traceback.print_exception(type(error), error, error.__traceback__)
        raise Refusal(500, str(error), type(error).__name__)
    return {"result": value}
