"""The Python peer's load: its PostgreSQL store, called in the order in which its own tools call it.

A line of JSON on standard input asks for something, a line on standard output answers. `make bench-quick`
starts this with the peer's packages on PYTHONPATH; see `src/peer.rs`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import sys
import time
from typing import Any, Awaitable, Callable

import asyncpg
from pydantic_ai_harness.memory import (
    Memory,
    MemoryConflictError,
    MemoryOperation,
    PostgresMemoryStore,
)
from pydantic_ai_harness.memory._render import injection_listing_limit, list_subfiles

_MAIN = "MEMORY.md"
_NOTE_CHARS = 65_536
#: As in its tool: after so many conflicts a write is given up.
_ATTEMPTS_MAX = 16
_NAMES_MAX = 1_000
_LINE = "- one more line"
_FINGERPRINT = hashlib.sha256(b"bench").hexdigest()

Operation = Callable[[int], Awaitable[bool]]


class Peer:
    """Stores over one pool; what is written and what is searched have tables of their own."""

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema
        self._memory: Memory = Memory()
        self._rest = ""
        self._texts: dict[int, int] = {}

    async def connect(self, clients: int) -> None:
        """A pool with as many connections as clients, all of them open."""
        await self.close()
        self._pool = await asyncpg.create_pool(
            self._url, min_size=clients, max_size=clients, server_settings={"search_path": self._schema}
        )
        self._written = PostgresMemoryStore(self._pool, table="written")
        self._read = PostgresMemoryStore(self._pool, table="read")
        self._searched = PostgresMemoryStore(self._pool, table="searched")

    async def close(self) -> None:
        """Closes the pool, if there is one."""
        if hasattr(self, "_pool"):
            await self._pool.close()

    async def fill(self, path: str) -> None:
        """Puts the notes of a JSON file into the tables."""
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        self._rest = data["rest"]
        for note in data["notes"]:
            store = self._searched if note["scope"] == data["searched_scope"] else self._read
            await store.write(f"{note['scope']}/{note['name']}", note["text"], expected_version=None)
        self._searched_scope = data["searched_scope"]
        self._first_scope = data["first_scope"]
        self._scopes = data["scopes"]
        self._words = data["words"]
        # As the product's tables are after their first vacuum.
        async with self._pool.acquire() as connection:
            for table in ("read", "searched"):
                await connection.execute(f"vacuum analyze {table}")

    def _scope(self, turn: int) -> str:
        return str(self._first_scope + turn % self._scopes)

    async def prepare(self, work: str, clients: int) -> None:
        """Connects, and makes the notes that are written."""
        await self.connect(clients)
        self._turns = list(range(clients))
        if work == "write":
            for client in range(clients):
                self._texts[client] = 0
                await self._put(f"w{client}/{_MAIN}", self._counted(0))

    def _counted(self, writes: int) -> str:
        return f"{_line(writes)}\n{self._rest}"

    async def _put(self, path: str, text: str) -> None:
        current = await self._written.read(path, max_chars=1)
        await self._written.write(path, text, expected_version=current.version if current else None)

    async def reset(self, work: str) -> None:
        """Takes the contended note away before each run."""
        if work == "append":
            current = await self._written.read(f"hot/{_MAIN}", max_chars=1)
            if current is not None:
                await self._written.delete(f"hot/{_MAIN}", expected_version=current.version)

    def operation(self, work: str) -> Operation:
        """What one client repeats; False says that it was given up."""
        return {
            "write": self._write,
            "append": self._append,
            "read": self._read_note,
            "snapshot": self._snapshot,
            "list": self._list,
            "search_rare": lambda _: self._search(self._words["search_rare"]),
            "search_common": lambda _: self._search(self._words["search_common"]),
        }[work]

    async def _write(self, client: int) -> bool:
        writes = self._texts[client]
        self._texts[client] = writes + 1
        old, new = _line(writes), _line(writes + 1)

        def replace(text: str | None) -> str:
            assert text is not None and text.count(old) == 1
            return text.replace(old, new, 1)

        return await self._edit(f"w{client}/{_MAIN}", replace)

    async def _append(self, _: int) -> bool:
        def append(text: str | None) -> str:
            return f"{text.rstrip()}\n{_LINE}\n" if text else f"{_LINE}\n"

        return await self._edit(f"hot/{_MAIN}", append)

    async def _edit(self, path: str, change: Callable[[str | None], str]) -> bool:
        """The store calls of its tool `write_memory`, without the tool's own work around them."""
        identity = str(random.randrange(10**18, 2**63))
        operation = MemoryOperation(id=identity, fingerprint=_FINGERPRINT)
        if await self._written.get_operation(operation) is not None:
            return True
        for _ in range(_ATTEMPTS_MAX):
            current = await self._written.read(path, max_chars=_NOTE_CHARS)
            text = change(current.content if current else None)
            version = current.version if current else None
            with contextlib.suppress(MemoryConflictError):
                await self._written.write(path, text, expected_version=version, operation=operation)
                return True
        return False

    async def _read_note(self, client: int) -> bool:
        self._turns[client] += 1
        note = await self._read.read(f"{self._scope(self._turns[client])}/{_MAIN}", max_chars=_NOTE_CHARS)
        assert note is not None
        return True

    async def _snapshot(self, client: int) -> bool:
        """What its `load_snapshot` does, and the rendering that follows it."""
        self._turns[client] += 1
        scope = self._scope(self._turns[client])
        main = await self._read.read(f"{scope}/{_MAIN}", max_chars=_NOTE_CHARS)
        names, more = await list_subfiles(
            self._read, scope, limit=injection_listing_limit(self._memory.max_tokens)
        )
        rendered = self._memory._render_snapshot(main, names, more, None)
        assert rendered is not None and len(names) == 19
        return True

    async def _list(self, client: int) -> bool:
        self._turns[client] += 1
        paths = await self._read.list_paths(f"{self._scope(self._turns[client])}/", limit=_NAMES_MAX + 1)
        assert len(paths) == 20
        return True

    async def _search(self, word: str) -> bool:
        assert (await self.search(word)).scanned == 1_000
        return True

    async def search(self, word: str) -> Any:
        """One search with the default limits."""
        return await self._searched.search(
            f"{self._searched_scope}/", word, limit=10, max_files=1_000, max_chars=4_000, max_file_chars=_NOTE_CHARS
        )


def _line(writes: int) -> str:
    return f"writes: {writes:012}"


async def _drive(operation: Operation, clients: int, seconds: float | None, each: int | None) -> dict[str, Any]:
    """All clients at once, until the time is over or each has done its operations."""
    times: list[float] = []
    given_up = 0
    begin = time.perf_counter()

    async def work(client: int) -> None:
        nonlocal given_up
        done = 0
        started = time.perf_counter()
        while (started - begin < seconds) if seconds is not None else (done < each):
            succeeded = await operation(client)
            now = time.perf_counter()
            if succeeded:
                times.append(now - started)
            else:
                given_up += 1
            started = now
            done += 1

    await asyncio.gather(*(work(client) for client in range(clients)))
    return {"elapsed": time.perf_counter() - begin, "given_up": given_up, "times_us": [round(t * 1e6) for t in times]}


async def _answer(peer: Peer, asked: dict[str, Any]) -> dict[str, Any]:
    verb = asked["verb"]
    if verb == "fill":
        await peer.connect(1)
        await peer.fill(asked["path"])
        return {"python": sys.version.split()[0]}
    if verb == "prepare":
        await peer.prepare(asked["work"], asked["clients"])
        return {}
    if verb == "search":
        found = await peer.search(asked["word"])
        prefix = f"{peer._searched_scope}/"
        return {
            "matches": [[m.path.removeprefix(prefix), m.snippet, m.score] for m in found.matches],
            "scanned": found.scanned,
            "truncated": found.truncated,
        }
    await peer.reset(asked["work"])
    return await _drive(peer.operation(asked["work"]), asked["clients"], asked.get("seconds"), asked.get("each"))


async def main() -> None:
    """Answers until the input ends."""
    peer = Peer(*sys.argv[1:3])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answer = await _answer(peer, json.loads(line))
        print(json.dumps(answer), flush=True)
    await peer.close()


if __name__ == "__main__":
    asyncio.run(main())
