"""Snapshots and model requests, called by name with plain dicts."""

from __future__ import annotations

import hashlib

from calling import Calls


class Snapshots(Calls):
    async def test_come_in_the_order_of_the_request_each_as_it_is_asked_for(self):
        await self.answer("write_memory", content="- likes tea")
        await self.answer("write_memory", content="sugar", file="shopping")
        empty = {"namespace": f"empty/{self.unique}"}
        whole = await self.call("load_snapshot", {"memories": [{"scope": self.scope}]})
        digest = whole.result["snapshots"][0]["digest"]

        outcome = await self.call(
            "load_snapshot",
            {
                "memories": [
                    {"scope": self.scope, "delivery": "inline", "held_digest": None},
                    {"scope": self.scope, "delivery": "reference"},
                    {"scope": self.scope, "held_digest": digest},
                    {"scope": empty},
                    {"scope": self.scope, "render": {"max_lines": 50, "heading": "Ada"}},
                ]
            },
        )

        inline, reference, unchanged, nothing, headed = outcome.result["snapshots"]
        self.assertEqual(hashlib.sha256(inline["text"].encode()).hexdigest(), inline["digest"])
        self.assertIn("- likes tea", inline["text"])
        self.assertIn("shopping.md", inline["text"])
        self.assertEqual(
            inline["stats"],
            {"chars": len(inline["text"]), "lines": 1, "lines_dropped": 0, "files": 1, "truncated": False},
        )
        self.assertEqual(inline["outcome"], "block")
        self.assertEqual(reference, {key: value for key, value in inline.items() if key != "text"})
        self.assertEqual(unchanged, {"outcome": "unchanged", "digest": digest})
        self.assertEqual(nothing, {"outcome": "empty"})
        self.assertIn("Ada", headed["text"])

    async def test_say_where_guidance_leaves_no_room(self):
        await self.answer("write_memory", content="- likes tea")
        render = {"max_tokens": 10, "guidance_chars": 100}
        outcome = await self.call("load_snapshot", {"memories": [{"scope": self.scope, "render": render}]})
        self.assertEqual(outcome.result["snapshots"], [{"outcome": "empty", "budget_exhausted": True}])

    async def test_may_be_none_at_all(self):
        self.assertEqual((await self.call("load_snapshot", {"memories": []})).result, {"snapshots": []})


class ModelRequests(Calls):
    async def ask(self, prompt: str, **fields):
        return await self.call("call_model", {"messages": [{"role": "user", "content": prompt}], **fields})

    async def test_show_the_model_the_blocks_inline_and_by_reference(self):
        await self.answer("write_memory", content="- likes tea")
        loaded = await self.call("load_snapshot", {"memories": [{"scope": self.scope, "delivery": "reference"}]})
        digest = loaded.result["snapshots"][0]["digest"]
        reference = {"delivery": "reference", "store": "default", "scope": self.scope, "digest": digest}
        inline = {"delivery": "inline", "scope": {"namespace": "acme"}, "text": "<memory>- eats cake</memory>"}

        answer = await self.ask("show", memories=[reference, inline], tools=[], instructions="Be brief.")

        self.assertEqual(set(answer.result), {"text"})
        self.assertIn("- likes tea", answer.result["text"])
        self.assertIn("- eats cake", answer.result["text"])

    async def test_bring_tool_calls_and_take_their_results(self):
        prompt = {"role": "user", "content": "remember"}
        asked = await self.call("call_model", {"messages": [prompt]})
        calls = asked.result["tool_calls"]
        self.assertEqual(calls, [{"id": "call_0", "name": "write_memory", "arguments": {"content": "- likes tea"}}])

        written = await self.answer(calls[0]["name"], **calls[0]["arguments"])
        messages = [
            prompt,
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_0", "content": written["status"]},
        ]
        answer = await self.call("call_model", {"model": "default", "messages": messages})
        self.assertEqual(answer.result, {"text": "Done: created"})

    async def test_that_are_refused_fail_for_good(self):
        self.assert_failed(await self.ask("refuse"), "ModelRefused")

    async def test_that_meet_a_model_that_is_away_are_made_again(self):
        answer = await self.ask("flaky")
        self.assertEqual((answer.result, answer.attempts), ({"text": "here"}, 2))

    async def test_with_a_block_that_is_not_kept_fail_for_good(self):
        block = {"delivery": "reference", "store": "default", "scope": self.scope, "digest": "0" * 64}
        self.assert_failed(await self.ask("show", memories=[block]), "SnapshotMissing", "memories[0]")
