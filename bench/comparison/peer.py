"""The peer as a side of the comparison: `Memory` and `MemorySQLite`, each with a process and a file."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from .sides import Failed, Shown, Step

_HERE = Path(__file__).resolve().parent
#: Longest line of an answer: some tens of megabytes of text.
_LINE_BYTES_MAX = 2**28
MEMORY = "Memory"
SQLITE = "MemorySQLite"


class Process:
    """A process that holds memories."""

    def __init__(self, packages: str, one_thread: bool = True) -> None:
        self._packages = packages
        self._one_thread = one_thread
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Process:
        """Starts it; what it says on standard error is shown."""
        arguments = ["--one-thread"] if self._one_thread else []
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-B", _HERE / "peer_process.py", *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_BYTES_MAX,
            env={**os.environ, "PYTHONPATH": self._packages},
        )  # fmt: skip
        return self

    async def ask(self, question: dict[str, Any]) -> Any:
        """Its answer to one question."""
        async with self._turn:
            await self.say(question)
            return await self.hear()

    async def say(self, question: dict[str, Any]) -> None:
        """Asks, and doesn't wait for the answer."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        await self._process.stdin.drain()

    async def hear(self) -> Any:
        """The next answer."""
        assert self._process is not None and self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the peer's process ended; its errors stand above")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["answer"]

    async def kill(self) -> None:
        """Ends it as a crash would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


class PeerMemory:
    """One memory of the peer, for one case."""

    _names = itertools.count()

    def __init__(self, kind: str, packages: str, directory: Path, shared: Process | None) -> None:
        self._kind = kind
        self._packages = packages
        self._name = f"m{next(self._names)}"
        self._path = str(directory / f"{self._name}.db")
        self._own = shared is None
        self._process = shared

    async def run(self, step: Step) -> Any:
        """Runs one step; gives what it answers."""
        do = step["do"]
        if do == "restart":
            await self._again(one_thread=True)
            return None
        if do == "processes":
            return await self._processes(step["tasks"])
        if do == "kill_during":
            return await self._kill_during(step)
        if do == "while_busy":
            # The pool that asyncio has by itself.
            await self._again(one_thread=False)
            await self._ask(step["first"])
        return await self._ask(step)

    async def close(self) -> None:
        """Ends its process, if it has one of its own."""
        if self._own and self._process is not None:
            await self._process.kill()

    async def _again(self, one_thread: bool) -> None:
        if self._process is not None:
            await self._process.kill()
        self._process = await Process(self._packages, one_thread).start()

    def _question(self, step: Step) -> dict[str, Any]:
        return {"memory": self._name, "kind": self._kind, "path": self._path, "step": step}

    async def _ask(self, step: Step) -> Any:
        if self._process is None:
            await self._again(one_thread=True)
        assert self._process is not None
        return await self._process.ask(self._question(step))

    async def _processes(self, tasks: list[list[Step]]) -> Any:
        """Each list of steps in a process of its own, all at once."""
        if self._kind == MEMORY:
            raise Shown("each process has its own")

        async def work(steps: list[Step]) -> Any:
            process = await Process(self._packages).start()
            try:
                return await process.ask(self._question({"do": "tasks", "tasks": [steps]}))
            finally:
                await process.kill()

        return [answer for answers in await asyncio.gather(*map(work, tasks)) for answer in answers]

    async def _kill_during(self, step: Step) -> None:
        """Asks for one step after the other and kills the process while the last is under way."""
        for one in step["steps"]:
            await self._ask(one)
        assert self._process is not None
        await self._process.say(self._question(step["last"]))
        await self._again(one_thread=True)
        # It may or may not have taken effect.
        raise Failed("killed")
