"""An agent's memory for Python workflow code: Notekeeper's activities, called by name with plain JSON.

Copy this file into your application. It needs `temporalio` and a Notekeeper worker on the same Temporal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from temporalio import workflow


class Refused(TypedDict):
    """What the model can correct: hand it the message. Nothing was changed."""

    outcome: Literal["refused"]
    reason: str
    message: str


class Written(TypedDict):
    """A write that took effect, now or when its operation was first called."""

    outcome: Literal["ok"]
    file: str
    version: str
    replayed: bool
    status: Literal["created", "appended", "updated"]


class Note(TypedDict):
    """A note, or its first characters."""

    outcome: Literal["ok"]
    file: str
    content: str
    truncated: bool
    version: str


class Deleted(TypedDict):
    """A deletion that took effect."""

    outcome: Literal["ok"]
    file: str
    version: None
    replayed: bool
    status: Literal["deleted", "not_found"]


class Match(TypedDict):
    """One hit of a search, best first."""

    file: str
    snippet: str
    score: float


class Found(TypedDict):
    """The answer to a search."""

    outcome: Literal["ok"]
    matches: list[Match]
    scanned: int
    truncated: bool


class ListedFile(TypedDict):
    """What every store knows of a note without its text."""

    file: str
    version: str
    chars: int


class File(ListedFile, total=False):
    """A note without its text, and in UTC when it was last changed, where the store keeps times."""

    updated_at: str


class Listed(TypedDict):
    """The notes of a scope, by name."""

    files: list[File]
    truncated: bool


@dataclass(frozen=True)
class Memory:
    """The notes of one tenant's agent. Make it from the workflow's input, where no model can reach."""

    namespace: str
    agent_name: str = "main"
    store: str = "default"
    task_queue: str = "notekeeper"

    async def write(
        self,
        content: str,
        *,
        file: str = "MEMORY.md",
        old_text: str | None = None,
        expected_version: str | None = None,
        operation: str | None = None,
    ) -> Written | Refused:
        """Appends to a note, or puts `content` in place of `old_text`.

        An `operation` of your own makes the write take effect once wherever it is repeated from; without
        one that holds for this activity and its retries.
        """
        return await self._call(
            "write_memory",
            content=content,
            file=file,
            old_text=old_text,
            expected_version=expected_version,
            operation={"id": operation} if operation else None,
        )

    async def read(self, file: str = "MEMORY.md") -> Note | Refused:
        """Reads a note."""
        return await self._call("read_memory", file=file)

    async def delete(self, file: str) -> Deleted | Refused:
        """Deletes a note other than `MEMORY.md`."""
        return await self._call("delete_memory", file=file)

    async def search(self, query: str) -> Found | Refused:
        """Looks for words in the notes and their names."""
        return await self._call("search_memory", query=query)

    async def files(self) -> Listed:
        """Lists the notes."""
        return await self._call("list_memory")

    async def _call(self, activity: str, **fields: Any) -> Any:
        scope = {"namespace": self.namespace, "agent_name": self.agent_name}
        return await workflow.execute_activity(
            activity,
            {"store": self.store, "scope": scope, **fields},
            task_queue=self.task_queue,
            # Temporal retries without end unless told otherwise.
            start_to_close_timeout=timedelta(seconds=10),
            schedule_to_close_timeout=timedelta(minutes=5),
        )
