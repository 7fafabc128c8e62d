"""/commands and /commands/{name}."""

import os
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
        traceback.print_exception(type(error), error, _of_the_command(error.__traceback__))
        raise Refusal(500, str(error), type(error).__name__)
    return {"result": value}


def _of_the_command(frames):
    """The way through this package is no news to who reads the log."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while frames and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith(own):
        frames = frames.tb_next
    return frames
