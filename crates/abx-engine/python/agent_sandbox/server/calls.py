"""One call of a command: in a thread of its own, so that it can be given up when nobody waits any more.

A coroutine runs in one loop that all of them share. A plain function that is given up has `GivenUp` raised in it,
as soon as it is back in Python; one that sits in C (a long computation, a blocking read) goes on to its end there.
"""

import asyncio
import ctypes
import inspect
import threading

#: How often to look whether somebody still waits.
LOOK = 0.2


class GivenUp(BaseException):
    """The caller is gone, or its time is up."""


_here = threading.local()


def on_give_up(undo):
    """Calls `undo()` should the call this thread works for be given up."""
    call = getattr(_here, "call", None)
    if call is not None:
        call.undo.append(undo)


class Call:
    """A function and its arguments, called once."""

    def __init__(self, fn, arguments):
        self.fn = fn
        self.arguments = arguments
        self.undo = []
        self.value = None
        self.error = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="command")

    def result(self, is_awaited):
        """What it returns; raises what it raises, `GivenUp` once `is_awaited()` is false."""
        self._thread.start()
        while not self._done.wait(LOOK):
            if not is_awaited():
                self._give_up()
                raise GivenUp()
        if self.error is not None:
            raise self.error
        return self.value

    def _run(self):
        _here.call = self
        try:
            self.value = self.fn(**self.arguments)
            if inspect.isawaitable(self.value):
                self.value = self._wait_for(self.value)
        except (Exception, SystemExit, KeyboardInterrupt, GivenUp) as error:
            self.error = error
        finally:
            self._done.set()

    def _wait_for(self, awaitable):
        async def awaited():
            return await awaitable

        future = asyncio.run_coroutine_threadsafe(awaited(), _loop())
        self.undo.append(future.cancel)
        return future.result()

    def _give_up(self):
        for undo in self.undo:
            undo()
        if not self._done.is_set():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(GivenUp)
            )


_shared_loop = None
_making = threading.Lock()


def _loop():
    global _shared_loop
    with _making:
        if _shared_loop is None:
            _shared_loop = asyncio.new_event_loop()
            threading.Thread(target=_shared_loop.run_forever, daemon=True, name="coroutines").start()
        return _shared_loop
