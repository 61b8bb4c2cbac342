"""Activities without any workflow, from the Python client."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio.client import ActivityFailureError
from temporalio.common import ActivityIDReusePolicy
from temporalio.exceptions import ApplicationError

from calling import TASK_QUEUE, Calls


class Standalone(Calls):
    async def execute(self, activity: str, activity_id: str, **fields):
        return await self.client.execute_activity(
            activity,
            {"scope": self.scope, **fields},
            id=activity_id,
            task_queue=TASK_QUEUE,
            start_to_close_timeout=timedelta(seconds=30),
            schedule_to_close_timeout=timedelta(seconds=60),
            id_reuse_policy=ActivityIDReusePolicy.ALLOW_DUPLICATE,
        )

    async def test_calls_answer_as_those_of_workflows_do(self):
        written = await self.execute("write_memory", f"{self.unique}-1", content="- likes tea")
        self.assertEqual((written["outcome"], written["status"]), ("ok", "created"))
        note = await self.execute("read_memory", f"{self.unique}-2", file="MEMORY.md")
        self.assertEqual(note["content"], "- likes tea\n")

    async def test_calls_under_one_activity_id_are_each_a_call_of_its_own(self):
        for status in ["created", "appended"]:
            written = await self.execute("write_memory", self.unique, content="line")
            self.assertEqual((written["status"], written["replayed"]), (status, False))

    async def test_calls_with_an_operation_id_take_effect_once(self):
        calls = [
            self.execute("write_memory", f"{self.unique}-{n}", content="line", operation={"id": "order-17"})
            for n in range(4)
        ]
        answers = await asyncio.gather(*calls)
        self.assertEqual(sorted(answer["replayed"] for answer in answers), [False, True, True, True])
        note = await self.execute("read_memory", f"{self.unique}-read", file="MEMORY.md")
        self.assertEqual(note["content"], "line\n")

    async def test_calls_fail_with_the_same_types(self):
        with self.assertRaises(ActivityFailureError) as failed:
            await self.execute("write_memory", self.unique)
        cause = failed.exception.cause
        self.assertIsInstance(cause, ApplicationError)
        self.assertEqual((cause.type, cause.non_retryable), ("InvalidArgument", True))
        self.assertIn("missing field `content`", cause.message)
