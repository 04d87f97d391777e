"""The same methods for asyncio: each runs in a worker thread. One forwarding file, no second implementation.

home = await recollect.aio.open("memory.db")
mem = await home.agent("ana")
await mem.remember("We deploy on Tuesdays")
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from recollect.clock import Clock
from recollect.config import Settings
from recollect.home import Home
from recollect.memory import Memory
from recollect.providers.base import Embedder
from recollect.wiring import open_home

__all__ = ["AsyncHome", "AsyncMemory", "open"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def _forward(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """The method of the same name and parameters that runs in a worker thread."""

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._inner, *args, **kwargs)

    return call


class AsyncMemory:
    """`Memory`, awaitable."""

    def __init__(self, inner: Memory) -> None:
        self._inner = inner
        self.agent = inner.agent

    remember = _forward(Memory.remember)
    remember_many = _forward(Memory.remember_many)
    upsert = _forward(Memory.upsert)
    apply = _forward(Memory.apply)
    forget = _forward(Memory.forget)
    restore = _forward(Memory.restore)
    recall = _forward(Memory.recall)
    get = _forward(Memory.get)
    list = _forward(Memory.list)
    history = _forward(Memory.history)


class AsyncHome:
    """`Home`, awaitable."""

    def __init__(self, inner: Home) -> None:
        self._inner = inner

    workspaces = _forward(Home.workspaces)
    delete_workspace = _forward(Home.delete_workspace)
    check = _forward(Home.check)
    backup = _forward(Home.backup)
    backfill = _forward(Home.backfill)
    reembed = _forward(Home.reembed)
    flush = _forward(Home.flush)
    close = _forward(Home.close)

    async def agent(self, name: str, workspace: str = "default") -> AsyncMemory:
        """The memory of an agent in a workspace."""
        return AsyncMemory(await asyncio.to_thread(self._inner.agent, name, workspace))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def open(
    location: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> AsyncHome:
    """`recollect.open`, awaitable."""
    return AsyncHome(await asyncio.to_thread(open_home, location, settings=settings, embedder=embedder, clock=clock))
