"""A Python workflow that writes to an agent's memory and reads it back.

    python remember.py ada "likes tea"

runs it once against `notekeeper dev`, or the Temporal that TEMPORAL_ADDRESS names.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from dataclasses import dataclass

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from memory import Memory


@dataclass
class Fact:
    """Something to remember about a customer."""

    customer: str
    text: str
    # Task queue of Notekeeper's worker.
    memory_queue: str = "notekeeper"


@workflow.defn
class Remember:
    """Adds a line to the customer's notes and gives back the whole note."""

    @workflow.run
    async def run(self, fact: Fact) -> str:
        memory = Memory(f"customers/{fact.customer}", task_queue=fact.memory_queue)
        written = await memory.write(f"- {fact.text}")
        if written["outcome"] == "refused":
            return f"not remembered: {written['message']}"
        note = await memory.read()
        return note["content"] if note["outcome"] == "ok" else note["message"]


async def main(customer: str, text: str) -> None:
    """Runs a worker for as long as one workflow takes."""
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    fact = Fact(customer, text, os.environ.get("NOTEKEEPER_TASK_QUEUE", "notekeeper"))
    run = f"remember-{uuid.uuid4()}"
    async with Worker(client, task_queue=run, workflows=[Remember]):
        print(await client.execute_workflow(Remember.run, fact, id=run, task_queue=run), end="")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit('usage: python remember.py CUSTOMER "WHAT TO REMEMBER"')
    asyncio.run(main(*sys.argv[1:]))
