"""The peer's memories, in a process of their own: a line of JSON asks, a line answers.

`{"memory": NAME, "kind": "Memory" | "MemorySQLite", "path": …, "step": …}` runs one step on the memory of that
name, which is made at its first step. See `peer.py`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentroute import Memory, MemorySQLite
from agentroute.models import Message


class Kept:
    """One memory and what its steps need."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.added: list[Message] = []

    async def run(self, step: dict[str, Any]) -> Any:
        """Runs one step; gives what it answers."""
        memory = self.memory
        do = step["do"]
        if do == "add":
            self.added = [Message(**message) for message in step["messages"]]
            return await memory.add_messages(self.added)
        if do == "get":
            messages = await (memory.get_messages(step["limit"]) if "limit" in step else memory.get_messages())
            return [dataclasses.asdict(message) for message in messages]
        if do == "clear":
            return await memory.clear_messages()
        if do == "remember":
            return await memory.remember(step["key"], step["value"])
        if do == "recall":
            limit = {"limit": step["limit"]} if "limit" in step else {}
            return await memory.recall(step["query"], **limit)
        if do == "forget":
            return await memory.forget(step["key"])
        if do == "change_added":
            for message in self.added:
                message.content = "changed"
            return None
        if do == "tasks":
            tasks = [self._each(steps) for steps in step["tasks"]]
            return [answer for answers in await asyncio.gather(*tasks) for answer in answers]
        if do == "while_busy":
            return await _while_busy(lambda: self.run(step["step"]))
        raise ValueError(f"unknown step {do}")

    async def _each(self, steps: list[dict[str, Any]]) -> list[Any]:
        return [await self.run(step) for step in steps]


async def _while_busy(run: Any) -> Any:
    """Runs it while each thread of asyncio's pool that is there does work of the application."""
    loop = asyncio.get_running_loop()
    pool = loop._default_executor
    done = threading.Event()
    blocked = []
    while len(blocked) < len(pool._threads):
        runs = asyncio.Event()

        def block(runs: asyncio.Event = runs) -> None:
            loop.call_soon_threadsafe(runs.set)
            done.wait()

        blocked.append(asyncio.ensure_future(asyncio.to_thread(block)))
        await runs.wait()
    try:
        return await run()
    finally:
        done.set()
        await asyncio.gather(*blocked)


async def _answer(kept: dict[str, Kept], asked: dict[str, Any]) -> dict[str, Any]:
    name = asked["memory"]
    if name not in kept:
        kept[name] = Kept(Memory() if asked["kind"] == "Memory" else MemorySQLite(asked["path"]))
    try:
        return {"answer": await kept[name].run(asked["step"])}
    except Exception as error:  # noqa: BLE001 - whatever it raises is what it answers
        return {"error": type(error).__name__}


async def main() -> None:
    """Answers until the input ends."""
    loop = asyncio.get_running_loop()
    # Its connection belongs to the thread that opened it, and asyncio's pool has several: with one thread its
    # calls work, which is how all cases but one are run.
    loop.set_default_executor(ThreadPoolExecutor(max_workers=1 if "--one-thread" in sys.argv else None))
    kept: dict[str, Kept] = {}
    reading = ThreadPoolExecutor(max_workers=1)
    while line := await loop.run_in_executor(reading, sys.stdin.readline):
        print(json.dumps(await _answer(kept, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
