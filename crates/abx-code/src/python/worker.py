"""Runs cells in one namespace and tells what comes of them. `channel` and `helper` are given."""

import ast
import builtins
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import textwrap
import traceback
import types

_FILE = re.compile(r"<abx |<cell helper>")


class _Worker:
    def __init__(self, channel):
        self.channel = channel
        self.module = types.ModuleType("__main__")
        self.module.__builtins__ = builtins
        self.names = self.module.__dict__
        sys.modules["__main__"] = self.module
        self.count = 0
        self.loop = None
        self.pid = os.getpid()
        self.interruptible = False
        self.interrupted = False

    def receive(self):
        head = self.channel.read(4)
        if len(head) < 4:
            return None
        return json.loads(self.channel.read(int.from_bytes(head, "big")))

    def tell(self, kind, **fields):
        """Writes a whole frame, whatever signal comes."""
        body = json.dumps({"kind": kind, **fields}).encode()
        interruptible, self.interruptible = self.interruptible, False
        self.channel.write(len(body).to_bytes(4, "big") + body)
        self.channel.flush()
        self.interruptible = interruptible
        if interruptible and self.interrupted:
            self.on_interrupt()

    def on_interrupt(self, *_):
        self.interrupted = not self.interruptible
        if self.interruptible:
            raise KeyboardInterrupt

    def show(self, forms, main=False):
        self.tell("shown", main=main, forms=forms)

    def serve(self):
        while True:
            request = self.receive()
            if request is None:
                return
            self.interrupted = False
            try:
                self.interruptible = True
                self.run(request["code"], request["hidden"])
                self.interruptible = False
            except KeyboardInterrupt as interrupt:  # it came when the cell was all but done
                self.interruptible = False
                self.tell_error(interrupt)
            if os.getpid() != self.pid:
                os._exit(0)  # a child that the cell forked and let run on
            self.flush()
            self.tell("done")

    def run(self, code, hidden):
        name = "<cell helper>"
        if not hidden:
            self.count += 1
            name = f"<cell {self.count}>"
            self.tell("count", count=self.count)
        try:
            self.execute(code, name, hidden)
        except BaseException as error:  # noqa: BLE001 - a cell may raise anything, its end included
            self.tell_error(error)

    def execute(self, code, name, hidden):
        tree, source = _parse(code, name)
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        self.evaluate(compile(tree, name, "exec", _AWAIT, True))
        if last is None:
            return
        value = self.evaluate(compile(last, name, "eval", _AWAIT, True))
        if value is not None and not hidden:
            builtins._ = value
            self.show({"text/plain": _text(value)}, main=True)

    def evaluate(self, compiled):
        value = eval(compiled, self.names)
        if compiled.co_flags & 0x80:  # a coroutine: the cell awaits something at its top level
            import asyncio

            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            value = self.loop.run_until_complete(value)
        return value

    def tell_error(self, error):
        frames = error.__traceback__
        while frames is not None and _FILE.match(frames.tb_frame.f_code.co_filename):
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames)
        try:
            value = str(error)
        except Exception:  # noqa: BLE001
            value = "<its text cannot be had>"
        self.tell("raised", name=type(error).__name__, value=value, traceback="".join(lines).rstrip("\n"))

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001 - the cell may have put anything there
                pass


def _text(value):
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _parse(code, name):
    """The cell's tree; one that is indented as a whole, or that has shell lines, is put straight first."""
    first = None
    for attempt in (lambda code: code, textwrap.dedent, lambda code: _shell_lines(textwrap.dedent(code))):
        source = attempt(code)
        try:
            return compile(source, name, "exec", ast.PyCF_ONLY_AST | _AWAIT, True), source
        except SyntaxError as error:
            first = first or error
    raise first


def _shell_lines(code):
    def replace(match):
        indent, mark, rest = match.groups()
        command = rest if mark == "!" else f"{sys.executable} -m pip {rest}"
        return f"{indent}__import__('_abx').shell({command!r})"

    return re.sub(r"^([ \t]*)(!|%pip[ \t])(.*)$", replace, code, flags=re.M)


def _shell(command):
    status = subprocess.call(command, shell=True, executable="/bin/bash" if _has_bash() else None)
    if status:
        print(f"exit status {status}", file=sys.stderr)


def _has_bash():
    return os.access("/bin/bash", os.X_OK)


def _main():
    worker = _Worker(channel)  # noqa: F821 - given
    signal.signal(signal.SIGINT, worker.on_interrupt)
    sys.argv = [""]
    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    sys.path.insert(0, "")
    exec(compile(helper, "<abx helper>", "exec"), {"__name__": "_abx", "show": worker.show})  # noqa: F821
    sys.modules["_abx"].shell = _shell
    builtins.display = lambda *values: [worker.show({"text/plain": _text(value)}) for value in values] and None
    worker.serve()


_main()
