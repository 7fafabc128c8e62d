"""Commands of every kind that tests call."""

import asyncio
import dataclasses
import os
import sys
import time
from typing import Dict, List, Literal, Optional

from agent_sandbox import sandbox
from agent_sandbox.server import command, start

CALLS = 0


@sandbox.register
def greet(name: str, times: int = 1, loud: bool = False) -> str:
    """Says hello.

    It says so on standard output too.

    Args:
        name: whom to greet
        times (int): how often
    """
    print("greeting", name)
    text = " ".join(["hello " + name] * times)
    return text.upper() if loud else text


@command("types", description="gives back what it gets")
def kinds(
    a: int,
    b: float = 0.5,
    c: Optional[str] = None,
    d: List[str] = [],
    e: Dict[str, int] = {},
    f=3,
    g: bool = True,
    h: Literal["x", "y"] = "x",
):
    return [a, b, c, d, e, f, g, h]


@command()
async def later(seconds: float):
    await asyncio.sleep(seconds)
    return {"slept": seconds}


@dataclasses.dataclass
class Point:
    x: int
    y: float


@command()
def point():
    return Point(1, float("nan"))


@command()
def nothing():
    pass


@command()
def unsayable():
    return object()


class OutOfPaper(Exception):
    pass


@command()
def fail(how: str):
    if how == "exit":
        sys.exit(3)
    if how == "crash":
        os._exit(9)
    raise OutOfPaper("tray %s" % how)


@command()
def spin(seconds: float, mark: str):
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
    finally:
        open(mark, "w").close()


@command()
def big(length: int):
    return "x" * length


@command()
def count():
    global CALLS
    CALLS += 1
    return CALLS


@command()
def surroundings():
    return {"user": os.getuid(), "directory": os.getcwd(), "word": os.environ.get("WORD")}


@command("any")
def takes_any(**options):
    return options


@command(hidden=True)
def hidden():
    return "found"


start(9000)
