"""Tools of an application that keep what a user prefers, as facts of the conversation's scope.

    python profile_tool.py

serves `save_preference` and `lookup` on the task queue `profile`. `AgentWorkflow` calls them with the
model's arguments, the scope that workflow code decided on, and the identity of the call; they call
Notekeeper's activities `remember` and `recall` by name, as standalone activities.
"""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.common import ActivityIDConflictPolicy, ActivityIDReusePolicy
from temporalio.worker import Worker


class ProfileTools:
    """The tools. All that they know of a tenant is the scope that they receive."""

    def __init__(self, client: Client, task_queue: str = "notekeeper") -> None:
        self.client = client
        self.task_queue = task_queue

    @activity.defn
    async def save_preference(self, tool: dict[str, Any]) -> str:
        """Persists a user preference for future conversations."""
        arguments = tool["arguments"]
        if not has_texts(arguments, "key", "value"):
            return "The arguments don't fit the tool: give `key` and `value`, each a text."
        # The same for every attempt at this call, and for no other call.
        operation = f"{tool['operation']['id']}/save"
        answer = await self.call(
            "remember",
            operation,
            store=facts_store(tool),
            scope=tool["scope"],
            key=arguments["key"],
            value=arguments["value"],
            operation={"id": operation},
        )
        if answer["outcome"] == "refused":
            return f"Not saved: {answer['message']}."
        return f"Saved {answer['key']}."

    @activity.defn
    async def lookup(self, tool: dict[str, Any]) -> list[str] | str:
        """Searches stored preferences by free text."""
        arguments = tool["arguments"]
        if not has_texts(arguments, "query"):
            return "The arguments don't fit the tool: give `query`, a text."
        call = f"{tool['operation']['id']}/lookup"
        place = {"store": facts_store(tool), "scope": tool["scope"]}
        answer = await self.call("recall", call, **place, query=arguments["query"], limit=5)
        return answer["values"]

    async def call(self, name: str, activity_id: str, **fields: Any) -> Any:
        """Calls one of Notekeeper's activities; a second attempt waits for what the first one began."""
        return await self.client.execute_activity(
            name,
            fields,
            id=activity_id,
            task_queue=self.task_queue,
            start_to_close_timeout=timedelta(seconds=10),
            schedule_to_close_timeout=timedelta(minutes=1),
            id_reuse_policy=ActivityIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
        )


def facts_store(tool: dict[str, Any]) -> str:
    """Which of the worker's stores keeps the facts of the scope that a tool receives."""
    return tool.get("facts_store") or tool.get("store") or "default"


def has_texts(arguments: Any, *names: str) -> bool:
    """Whether the model gave these arguments as texts. What it gets wrong it can correct."""
    return isinstance(arguments, dict) and all(isinstance(arguments.get(name), str) for name in names)


async def main(make: type[ProfileTools] = ProfileTools) -> None:
    """Serves the tools until it is stopped."""
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    tools = make(client, os.environ.get("NOTEKEEPER_TASK_QUEUE", "notekeeper"))
    worker = Worker(
        client,
        task_queue=os.environ.get("PROFILE_TASK_QUEUE", "profile"),
        activities=[tools.save_preference, tools.lookup],
    )
    await worker.run()


if __name__ == "__main__":
    asyncio.run(main())
