"""Executables in a template's `commands/`, each a command.

A comment of JSON describes it, in its first lines after `#`, `//` or `--`; it may go over several such lines:

    #!/bin/sh
    # abx: {"description": "resizes a picture",
    #       "args": [{"name": "width", "type": "integer", "required": true}]}

or a file `NAME.json` beside it, for a program that is not text. It gets the arguments as one JSON object on its
standard input and, each by itself, as variables `ARG_<NAME>`: strings as they are, anything else as JSON. What it
prints is the value, parsed where it is JSON. A status other than 0 is an error, in the words of its last line on
standard error; that line may be `{"error": …, "type": …}`.
"""

import json
import os
import re
import subprocess
import sys
import threading

from . import server

HEADER = re.compile(rb"^\s*(?:#|//|--)\s?(.*)$")
HEAD_BYTES = 16 << 10
#: The kernel takes no longer variable.
LONGEST_VARIABLE = 100 << 10
KEPT_LINES = 20


class CommandFailed(Exception):
    """An executable ended with a status other than 0."""


def register_all(folder):
    """Registers every executable file in `folder`, in the order of names. Hidden files are none."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if not name.startswith(".") and os.path.isfile(path) and os.access(path, os.X_OK):
            register(path)


def register(path):
    """Registers one executable under the name of its header, else of its file without the ending."""
    described = description(path)
    try:
        arguments = [_argument(each) for each in described.get("args", [])]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError("the description of %s is wrong: %s %s" % (path, type(error).__name__, error))
    server.default_registry().register(
        described.get("name") or os.path.basename(path).split(".")[0],
        Executable(path),
        args=arguments,
        description=described.get("description", ""),
    )


def description(path):
    """The JSON that describes the executable; `{}` where nothing does.

    Raises ValueError, naming the file, where it is not an object as it should be."""
    beside = os.path.splitext(path)[0] + ".json"
    if os.path.isfile(beside) and beside != path:
        with open(beside, "rb") as file:
            return _object(file.read(), beside)
    with open(path, "rb") as file:
        lines = file.read(HEAD_BYTES).splitlines()
    comments = [match.group(1) if match else None for match in map(HEADER.match, lines)]
    for start, comment in enumerate(comments):
        if comment is not None and comment.lstrip().startswith(b"abx:"):
            block = [comment.lstrip()[len(b"abx:"):]]
            for following in comments[start + 1:]:
                if following is None or _is_json(b"\n".join(block)):
                    break
                block.append(following)
            return _object(b"\n".join(block), path)
    return {}


def _is_json(text):
    try:
        json.loads(text.decode("utf-8", "replace"))
        return True
    except ValueError:
        return False


def _object(text, path):
    try:
        value = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise ValueError("the description of %s is not JSON: %s" % (path, error))
    if not isinstance(value, dict):
        raise ValueError("the description of %s is not a JSON object" % path)
    return value


def _argument(described):
    default = described.get("default")
    if default is not None and not isinstance(default, str):
        default = json.dumps(default)
    return server.CommandArg(
        name=described["name"],
        type=described.get("type", "string"),
        required=bool(described.get("required", False)),
        default=default,
        description=described.get("description", ""),
    )


class Executable:
    """Calling it runs the file at `path`."""

    def __init__(self, path):
        self.path = path
        self.__name__ = os.path.basename(path)

    def __call__(self, **arguments):
        process = subprocess.Popen(
            [self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, **_variables(arguments)),
            start_new_session=True,
        )
        given_up = getattr(server, "on_give_up", lambda undo: None)
        given_up(lambda: _kill(process))
        complaint = []
        listener = threading.Thread(target=_relay, args=(process.stderr, complaint), daemon=True)
        listener.start()
        feeder = threading.Thread(target=_feed, args=(process.stdin, arguments), daemon=True)
        feeder.start()
        with process.stdout:
            output = process.stdout.read()
        status = process.wait()
        # Whoever it left behind may hold on to standard error.
        listener.join(1)
        if status != 0:
            raise _failure(status, complaint)
        return _value(output)


def _variables(arguments):
    variables = {}
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if len(text.encode()) <= LONGEST_VARIABLE and "\0" not in text:
            variables["ARG_" + re.sub(r"\W", "_", name).upper()] = text
    return variables


def _feed(stdin, arguments):
    try:
        with stdin:
            stdin.write(json.dumps(arguments).encode())
    except OSError:
        pass  # It does not read its input, which is its own affair.


def _relay(stderr, complaint):
    """What it says on standard error goes to the log; the last lines are kept for its error."""
    with stderr:
        for line in stderr:
            sys.stderr.write(line.decode("utf-8", "replace"))
            sys.stderr.flush()
            complaint.append(line.decode("utf-8", "replace").rstrip())
            del complaint[:-KEPT_LINES]


def _kill(process):
    try:
        os.killpg(process.pid, 9)
    except OSError:
        pass


def _failure(status, complaint):
    said = [line for line in complaint if line.strip()]
    ended = "ended with status %d" % status if status > 0 else "ended by signal %d" % -status
    if said:
        try:
            typed = json.loads(said[-1])
            name = re.sub(r"\W", "_", str(typed["type"])) if "type" in typed else "CommandFailed"
            return type(name, (CommandFailed,), {})(str(typed["error"]))
        except (ValueError, TypeError, KeyError):
            return CommandFailed("%s (%s)" % (said[-1], ended))
    return CommandFailed(ended)


def _value(output):
    text = output.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        return text[:-1] if text.endswith("\n") else text
