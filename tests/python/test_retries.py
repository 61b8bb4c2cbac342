"""A worker that fails once after each kind of change: Temporal repeats the call, and it takes effect once.

The worker under test has the fault points `after_commit=fail:1` of the activities armed.
"""

from __future__ import annotations

from calling import Calls


class Retries(Calls):
    async def test_of_a_write_that_had_been_done_are_answered_by_its_receipt(self):
        retried = await self.call("write_memory", {"scope": self.scope, "content": "line"})
        self.assertEqual(retried.attempts, 2)
        self.assertEqual((retried.result["status"], retried.result["replayed"]), ("created", True))

        another = await self.answer("write_memory", content="line")
        self.assertEqual((another["status"], another["replayed"]), ("appended", False))
        self.assertEqual((await self.answer("read_memory", file="MEMORY.md"))["content"], "line\nline\n")

    async def test_of_messages_and_facts_are_answered_too(self):
        said = [{"role": "user", "content": "tea?"}]
        changes = [
            ("add_messages", {"messages": said}, {"first": 0, "next": 1}),
            ("clear_messages", {}, {"cleared": 1, "next": 1}),
            ("remember", {"key": "tea", "value": "green"}, {"outcome": "ok", "key": "tea", "status": "created"}),
            ("forget", {"key": "tea"}, {"outcome": "ok", "key": "tea", "status": "deleted"}),
        ]
        for activity, fields, answer in changes:
            retried = await self.call(activity, {"scope": self.scope, **fields})
            self.assertEqual(retried.attempts, 2, activity)
            self.assertEqual(retried.result, {**answer, "replayed": True})
        added = await self.answer("add_messages", messages=said)
        self.assertEqual((added["first"], added["replayed"]), (1, False))
