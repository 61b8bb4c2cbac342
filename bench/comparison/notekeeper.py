"""Notekeeper as a side of the comparison: the activities of a real worker, called by name."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import ActivityFailureError, ActivityHandle, Client
from temporalio.exceptions import ApplicationError

from .sides import Failed, Shown, Step

SQLITE = "sqlite"
POSTGRES = "postgres"
IN_MEMORY = "in_memory"
#: Longest time until a worker is up.
_UP_TIMEOUT_SECONDS = 60
#: Calls at a time. More would only wait for one another.
_CALLS_AT_A_TIME = 8
#: What callers are advised to say; it is also how long a call of a killed worker waits for the next.
_START_TO_CLOSE = timedelta(seconds=10)
_SCHEDULE_TO_CLOSE = timedelta(minutes=5)


class Servers:
    """Where Temporal and, if there is one, PostgreSQL are, and which program is compared."""

    def __init__(self, binary: Path, client: Client, directory: Path, only: str | None = None) -> None:
        self.only = only
        self.binary = binary
        self.client = client
        self.directory = directory
        self.database_url = os.environ.get("DATABASE_URL")
        self.schema = f"compare_{uuid.uuid4().hex[:8]}"
        self.calls = asyncio.Semaphore(_CALLS_AT_A_TIME)

    def stores(self) -> list[str]:
        """The kinds of store that can be compared here."""
        there = [IN_MEMORY, SQLITE] + ([POSTGRES] if self.database_url else [])
        return [store for store in there if self.only is None or store in self.only.split(",")]

    def environment(self) -> dict[str, str]:
        """Without settings of whoever started this."""
        ours = ("NOTEKEEPER_", "DATABASE_URL", "RUST_LOG", "OTEL_", "OPENAI_")
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    async def migrate(self) -> None:
        """Makes the tables in PostgreSQL, if there is one."""
        if self.database_url:
            config = self.config("migrate", "unused")
            await asyncio.to_thread(
                subprocess.run, [self.binary, "migrate", "--config", config], env=self.environment(), check=True,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip

    async def clear(self, packages: str) -> None:
        """Drops what `migrate` made. The driver is among the packages of the peers."""
        if self.database_url:
            drop = (
                "import asyncio, asyncpg, os\n"
                "async def main():\n"
                "    connection = await asyncpg.connect(os.environ['DATABASE_URL'])\n"
                f"    await connection.execute('drop schema if exists {self.schema} cascade')\n"
                "    await connection.close()\n"
                "asyncio.run(main())\n"
            )
            environment = {**os.environ, "PYTHONPATH": packages}
            await asyncio.to_thread(subprocess.run, [sys.executable, "-c", drop], env=environment, check=True)

    def config(self, name: str, queue: str) -> Path:
        """A file with one store of each kind, for workers on a queue."""
        stores = {
            "default": {"kind": "sqlite", "path": str(self.directory / f"{name}.db")},
            "in_memory": {"kind": "in_memory"},
        }
        if self.database_url:
            stores["postgres"] = {"kind": "postgres", "url": self.database_url, "schema": self.schema}
        lines = ["[worker]", 'queues = ["memory"]', f"task_queue = {json.dumps(queue)}"]
        for store, settings in stores.items():
            lines += [f"[stores.{store}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
        path = self.directory / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


class Workers:
    """Worker processes on one queue and one SQLite file."""

    _names = itertools.count()

    def __init__(self, servers: Servers) -> None:
        name = f"workers{next(self._names)}"
        self.servers = servers
        self.queue = f"{servers.schema}-{name}"
        self._config = servers.config(name, self.queue)
        self._running: list[asyncio.subprocess.Process] = []
        self._watches: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts one more and waits until it is up."""
        process = await asyncio.create_subprocess_exec(
            self.servers.binary, "worker", "--config", self._config, "--log", "info",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=self.servers.environment(),
        )  # fmt: skip
        self._running.append(process)
        up = asyncio.Event()
        self._watches.append(asyncio.create_task(_watch(process, up)))
        await asyncio.wait_for(up.wait(), _UP_TIMEOUT_SECONDS)

    async def kill(self) -> None:
        """Ends them as a crash would."""
        for process in self._running:
            if process.returncode is None:
                process.kill()
            await process.wait()
        self._running.clear()
        for watch in self._watches:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        self._watches.clear()


async def _watch(process: asyncio.subprocess.Process, up: asyncio.Event) -> None:
    """Reads what a worker logs."""
    assert process.stderr is not None
    while line := await process.stderr.readline():
        if b"worker is up" in line:
            up.set()
        elif b" ERROR " in line and b"failure.kind" not in line:
            print(f"  {line.decode(errors='replace').rstrip()}")


class Notekeeper:
    """A scope of its own in a store, for one case."""

    def __init__(self, store: str, servers: Servers, shared: Workers | None) -> None:
        self._store = store
        self._servers = servers
        self._own = shared is None
        self._workers = shared or Workers(servers)
        self._scope = {"namespace": f"cases/{uuid.uuid4().hex}"}
        self._up = shared is not None

    async def run(self, step: Step) -> Any:
        """Runs one step; gives what it answers."""
        if not self._up:
            await self._workers.start()
            self._up = True
        do = step["do"]
        if do == "restart":
            await self._again()
            return None
        if do == "processes":
            return await self._processes(step["tasks"])
        if do == "kill_during":
            return await self._kill_during(step)
        if do == "while_busy":
            await self.run(step["first"])
            return await self.run(step["step"])
        if do == "tasks":
            answers = await asyncio.gather(*(self._each(steps) for steps in step["tasks"]))
            return [answer for each in answers for answer in each]
        if do == "change_added":
            # What was added was sent; the caller's own objects are no longer of interest.
            return None
        if do == "get":
            return await self._get(step)
        if do == "recall":
            answer = await self._call("recall", **_fields(step))
            assert not answer.get("truncated"), "a case asks for more than one answer carries"
            return answer["values"]
        name = {"add": "add_messages", "clear": "clear_messages"}.get(do, do)
        await self._call(name, **_fields(step))
        return None

    async def close(self) -> None:
        """Ends its workers, if it has some of its own."""
        if self._own:
            await self._workers.kill()

    async def _each(self, steps: list[Step]) -> list[Any]:
        return [await self.run(step) for step in steps]

    async def _again(self) -> None:
        await self._workers.kill()
        await self._workers.start()

    async def _processes(self, tasks: list[list[Step]]) -> Any:
        """All at once, by two worker processes."""
        if self._store == IN_MEMORY:
            raise Shown("each process has its own")
        await self._workers.start()
        return await self.run({"do": "tasks", "tasks": tasks})

    async def _kill_during(self, step: Step) -> None:
        for one in step["steps"]:
            await self.run(one)
        last = step["last"]
        assert last["do"] == "add"
        handle = await self._start("add_messages", **_fields(last))
        await self._again()
        await handle.result()

    async def _get(self, step: Step) -> list[Any]:
        """All pages of it."""
        answer = await self._call("get_messages", **_fields(step))
        messages = answer["messages"]
        while cursor := answer.get("cursor"):
            answer = await self._call("get_messages", cursor=cursor)
            messages += answer["messages"]
        return messages

    async def _start(self, activity: str, **fields: Any) -> ActivityHandle[Any]:
        store = "default" if self._store == SQLITE else self._store
        return await self._servers.client.start_activity(
            activity,
            {"store": store, "scope": self._scope, **fields},
            id=uuid.uuid4().hex,
            task_queue=self._workers.queue,
            start_to_close_timeout=_START_TO_CLOSE,
            schedule_to_close_timeout=_SCHEDULE_TO_CLOSE,
        )

    async def _call(self, activity: str, **fields: Any) -> Any:
        async with self._servers.calls:
            try:
                answer = await (await self._start(activity, **fields)).result()
            except ActivityFailureError as error:
                cause = error.cause
                if isinstance(cause, ApplicationError) and cause.non_retryable:
                    raise Failed(str(cause.type)) from None
                raise
        if answer.get("outcome") == "refused":
            raise Failed(answer["reason"])
        return answer


def _fields(step: Step) -> dict[str, Any]:
    """What a step says to the activity."""
    fields = {key: value for key, value in step.items() if key != "do"}
    if "operation" in fields:
        fields["operation"] = {"id": fields["operation"]}
    return fields
