"""A worker that fails once after it has written: Temporal repeats the call, and it takes effect once.

The worker under test has the fault point `write_memory.after_commit=fail:1` armed.
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
