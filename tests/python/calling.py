"""Calls of single activities out of Python workflows, and what the tests have in common.

The worker that answers is a process beside these; TEMPORAL_ADDRESS and NOTEKEEPER_TASK_QUEUE say where.
"""

from __future__ import annotations

import asyncio
import json
import os
import unittest
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

#: Where the worker under test listens.
TASK_QUEUE = os.environ.get("NOTEKEEPER_TASK_QUEUE", "notekeeper")
#: Calls at a time. More would only wait for one another, and on a busy machine until a time-out, which
#: would make a second attempt of the first.
CALLS_AT_A_TIME = 8


@dataclass
class Call:
    """An activity and what is sent to it."""

    activity: str
    arguments: list[Any]
    #: Sent instead of `json/plain`, with the same bytes.
    encoding: str | None = None
    task_queue: str = TASK_QUEUE


@dataclass
class Outcome:
    """What a workflow sees of a call: a result, or a failure with its type."""

    result: Any = None
    failure_type: str | None = None
    message: str = ""
    non_retryable: bool = False
    #: Attempts that Temporal made, from the history.
    attempts: int = field(default=0)


@workflow.defn
class CallActivity:
    """Calls one activity by name, as any workflow would."""

    @workflow.run
    async def run(self, call: Call) -> Outcome:
        arguments = call.arguments
        if call.encoding is not None:
            metadata = {"encoding": call.encoding.encode()}
            arguments = [RawValue(Payload(metadata=metadata, data=json.dumps(one).encode())) for one in arguments]
        try:
            result = await workflow.execute_activity(
                call.activity,
                args=arguments,
                task_queue=call.task_queue,
                start_to_close_timeout=timedelta(seconds=30),
                schedule_to_close_timeout=timedelta(seconds=60),
                # Nothing is excluded from retries: what isn't retried says so itself.
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100)),
            )
        except ActivityError as error:
            cause = error.cause
            if not isinstance(cause, ApplicationError):
                raise
            return Outcome(failure_type=cause.type, message=cause.message, non_retryable=cause.non_retryable)
        return Outcome(result=result)


async def connect() -> Client:
    """A client of the Temporal under test."""
    return await Client.connect(
        os.environ["TEMPORAL_ADDRESS"], namespace=os.environ.get("TEMPORAL_NAMESPACE", "default")
    )


class Calls(unittest.IsolatedAsyncioTestCase):
    """A test with a tenant and a workflow worker of its own."""

    workflows: list[type] = [CallActivity]

    async def asyncSetUp(self) -> None:
        # unittest has asyncio record where each task comes from, which takes longer than the calls.
        asyncio.get_running_loop().set_debug(False)
        self.client = await connect()
        self.calls = asyncio.Semaphore(CALLS_AT_A_TIME)
        self.unique = f"python-{uuid.uuid4()}"
        self.scope = {"namespace": f"tests/{self.unique}"}
        # The sandbox imports everything anew for each workflow; a workflow of three lines needs none.
        worker = Worker(
            self.client,
            task_queue=self.unique,
            workflows=self.workflows,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        await worker.__aenter__()
        self.addAsyncCleanup(worker.__aexit__, None, None, None)

    async def call(self, activity: str, *arguments: Any, encoding: str | None = None) -> Outcome:
        """Calls an activity in a workflow of its own."""
        call = Call(activity, list(arguments), encoding)
        async with self.calls:
            handle = await self.client.start_workflow(
                CallActivity.run, call, id=f"{self.unique}-{uuid.uuid4()}", task_queue=self.unique
            )
            outcome = await handle.result()
            async for event in handle.fetch_history_events():
                if event.HasField("activity_task_started_event_attributes"):
                    outcome.attempts = event.activity_task_started_event_attributes.attempt
        return outcome

    async def answer(self, activity: str, **fields: Any) -> Any:
        """Calls an activity in this test's scope; gives the result of its only attempt."""
        outcome = await self.call(activity, {"scope": self.scope, **fields})
        self.assertIsNone(outcome.failure_type, outcome)
        self.assertEqual(outcome.attempts, 1)
        return outcome.result

    async def refused(self, activity: str, **fields: Any) -> str:
        """Calls an activity that refuses; gives the reason."""
        result = await self.answer(activity, **fields)
        self.assertEqual(result["outcome"], "refused", result)
        self.assertEqual(set(result), {"outcome", "reason", "message"})
        self.assertTrue(result["message"])
        return result["reason"]

    def assert_failed(self, outcome: Outcome, failure_type: str, part: str = "") -> None:
        """Checks that a call failed for good, at its first attempt, with this type."""
        self.assertEqual(outcome.failure_type, failure_type, outcome)
        self.assertTrue(outcome.non_retryable, outcome)
        self.assertEqual(outcome.attempts, 1, outcome)
        self.assertIn(part, outcome.message)
