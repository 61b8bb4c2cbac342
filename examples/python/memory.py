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


class Remembered(TypedDict):
    """A fact that is kept, now or when its operation was first called."""

    outcome: Literal["ok"]
    key: str
    status: Literal["created", "updated"]
    replayed: bool


class Forgotten(TypedDict):
    """A fact that is not kept any more."""

    outcome: Literal["ok"]
    key: str
    status: Literal["deleted", "not_found"]
    replayed: bool


class RecalledFact(TypedDict):
    """A fact that matches: how well, from 0 to 1, and how long ago it was remembered last."""

    key: str
    value: str
    score: float
    age_seconds: int


class RecalledFacts(TypedDict):
    """Facts that match, best first; `truncated` where one result can't carry all that were found."""

    facts: list[RecalledFact]
    truncated: bool


class ListedFact(TypedDict):
    """A fact, and how long ago it was remembered last."""

    key: str
    value: str
    age_seconds: int


class ListedFacts(TypedDict):
    """Facts by key; where there are `more`, they come after the last key."""

    facts: list[ListedFact]
    more: bool


class Added(TypedDict):
    """Where messages went: positions count all messages that were ever added before."""

    first: int
    next: int
    replayed: bool


class Cleared(TypedDict):
    """What was removed of a conversation."""

    cleared: int
    next: int
    replayed: bool


@dataclass(frozen=True)
class Memory:
    """The notes and facts of one tenant's agent. Make it from the workflow's input, where no model can reach."""

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

    async def remember(self, key: str, value: str, *, operation: str | None = None) -> Remembered | Refused:
        """Keeps a fact, in the place of the one that has its key. All conversations of the scope see it."""
        return await self._call(
            "remember", key=key, value=value, operation={"id": operation} if operation else None
        )

    async def recall(self, query: str = "", *, limit: int = 10) -> list[str]:
        """The values of facts that match, best first; of the latest ones where the query is empty.

        Those that one result can't carry are left out, which `recall_facts` tells.
        """
        answer = await self._call("recall", query=query, limit=limit)
        return answer["values"]

    async def recall_facts(self, query: str = "", *, limit: int = 10) -> RecalledFacts:
        """As `recall`, with keys, scores and ages, and whether some are left out."""
        answer = await self._call("recall", query=query, limit=limit, form="facts")
        return {"facts": answer.get("facts", []), "truncated": answer.get("truncated", False)}

    async def facts(self, *, after: str | None = None, limit: int = 1_000) -> ListedFacts:
        """The facts by key, of those after the key `after` the first `limit`, at most 1,000."""
        return await self._call("list_facts", after=after, limit=limit)

    async def forget(self, key: str, *, operation: str | None = None) -> Forgotten | Refused:
        """Removes the fact of a key, if there is one."""
        return await self._call("forget", key=key, operation={"id": operation} if operation else None)

    def conversation(self, conversation: str = "main") -> Conversation:
        """A transcript of the scope."""
        return Conversation(self, conversation)

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


@dataclass(frozen=True)
class Conversation:
    """The messages of one conversation: JSON objects with a `role`, in whatever form your model has them."""

    memory: Memory
    conversation: str = "main"

    async def messages(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The messages in their order, or the most recent `limit` of them."""
        messages: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self._call("get_messages", limit=limit, cursor=cursor)
            messages += page["messages"]
            # What one result can't carry comes with the next call.
            cursor = page.get("cursor")
            if cursor is None:
                return messages

    async def add(self, *messages: dict[str, Any], operation: str | None = None) -> Added:
        """Adds messages at the end, side by side. Add a model's calls and their results together."""
        return await self._call(
            "add_messages", messages=list(messages), operation={"id": operation} if operation else None
        )

    async def clear(self, *, operation: str | None = None) -> Cleared:
        """Removes all messages. A repetition with the same operation removes nothing that came later."""
        return await self._call("clear_messages", operation={"id": operation} if operation else None)

    async def _call(self, activity: str, **fields: Any) -> Any:
        return await self.memory._call(activity, conversation=self.conversation, **fields)
