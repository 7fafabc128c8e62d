"""What a request says about a program to run, checked against the policy."""

import fnmatch
import os
import shlex

from .refusal import PolicyDenied, Refusal

DEFAULT_TIMEOUT = 300.0


class Program:
    """Words, directory, variables and seconds of one program."""

    def __init__(self, request):
        body = request.body
        command = body.get("command")
        if not isinstance(command, str) or not command.strip():
            raise Refusal(400, "Missing or invalid 'command'")
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise Refusal(400, "Invalid command: %s" % error)
        self.command = command
        self.directory = _directory(request)
        self.environment = dict(request.server.child_environment(), **variables(request, "env"))
        self.timeout = _seconds(request)
        _allowed(request, self.words[0])


def variables(request, field):
    """An object of strings in the body, none of them a secret's name."""
    given = request.body.get(field)
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Refusal(400, "'%s' is not an object of strings" % field)
    for name in given:
        if not name or "=" in name or "\0" in name + given[name]:
            raise Refusal(400, "%r cannot be a variable" % name)
        if request.server.is_secret(name):
            raise PolicyDenied("env_var_not_allowed", "the variable %r is protected" % name)
    return given


def _directory(request):
    directory = request.body.get("cwd")
    if not directory:
        return None
    real = request.path(directory, "exec", field="cwd")
    if not os.path.isdir(real):
        raise Refusal(400, "'cwd' is not a directory: %s" % directory)
    return real


def _seconds(request):
    try:
        seconds = float(request.body.get("timeout") or DEFAULT_TIMEOUT)
    except (TypeError, ValueError):
        raise Refusal(400, "'timeout' is not a number")
    seconds = seconds if seconds > 0 else DEFAULT_TIMEOUT
    return min(seconds, request.limit("timeout_seconds", seconds))


def _allowed(request, program):
    names = (program, os.path.basename(program))
    allow = request.rule.params.get("allow_commands")
    deny = request.rule.params.get("deny_commands", [])
    matches = lambda patterns: any(fnmatch.fnmatchcase(name, each) for each in patterns for name in names)  # noqa: E731
    if matches(deny) or (allow is not None and not matches(allow)):
        raise PolicyDenied("command_not_allowed", "the policy does not allow %r" % program)
