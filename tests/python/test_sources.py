"""Sources, called by name with plain dicts: what is found, what is kept, and what repetitions do.

The worker under test has the sources that `tests/e2e/python.rs` gives it: `handbook` (vectors), `facts`, `pad`
(scratchpad), `kb` (a composition of them, `facts` read-only), `strict` (`facts`, read-only) and `guarded` (`kb` behind
a guard).
"""

from __future__ import annotations

import asyncio
import json

from calling import Calls

REFUNDS = "Refunds are issued within 5 business days."
CREDIT = "Store credit never expires."


class Sources(Calls):
    async def found(self, source: str, query: str = "", **fields) -> list[dict]:
        return (await self.answer("query_source", source=source, query=query, **fields))["items"]

    async def write(self, source: str, *items: dict, **fields) -> dict:
        return await self.answer("write_source", source=source, items=list(items), **fields)

    async def test_find_what_was_written_and_stamp_their_name_on_it(self):
        written = await self.write("handbook", {"content": REFUNDS, "source": "policy"}, {"content": CREDIT})
        self.assertEqual(written, {"accepted": ["handbook"]})
        found = await self.found("handbook", "how long do refunds take", k=1)
        [item] = found
        self.assertEqual((item["content"], item["source"]), (REFUNDS, "handbook"))
        self.assertTrue(0 < item["score"] <= 1, item)
        self.assertTrue(item["id"])
        self.assertNotIn("metadata", item)

    async def test_take_the_id_out_of_metadata_and_replace_what_has_it(self):
        for content in ["old", "new"]:
            await self.write("handbook", {"content": content, "metadata": {"id": "a", "tier": "public"}})
        [item] = await self.found("handbook", "new")
        self.assertEqual((item["content"], item["id"], item["metadata"]), ("new", "a", {"tier": "public"}))

    async def test_filter_by_equal_values_and_lists_that_have_all(self):
        for tier, tags in [("public", ["a", "b"]), ("internal", ["b"])]:
            await self.write("handbook", {"content": f"for {tier}", "metadata": {"tier": tier, "tags": tags}})
        for where, expected in [
            ({"tier": "public"}, ["for public"]),
            ({"tags": ["b"]}, ["for internal", "for public"]),
            ({"tags": ["b", "a"]}, ["for public"]),
            ({"tier": "pub%"}, []),
            ({"unknown": None}, []),
        ]:
            found = await self.found("handbook", "for", where=where)
            self.assertEqual(sorted(item["content"] for item in found), expected, where)

    async def test_ask_all_legs_of_a_composition_with_the_scratchpad_of_the_call(self):
        await self.write("handbook", {"content": REFUNDS})
        await self.answer("remember", key="refunds", value="ask finance about refunds")
        found = await self.found("kb", "refunds", scratchpad={"draft": "refunds are due"})
        self.assertEqual({item["source"] for item in found}, {"handbook", "facts", "pad"})
        self.assertEqual(found[-1]["source"], "pad", "what has no score comes last")

    async def test_tell_of_a_broadcast_who_accepted_and_who_refused(self):
        written = await self.write("guarded", {"content": REFUNDS, "metadata": {"id": "r"}})
        self.assertEqual(written["accepted"], ["handbook", "pad"])
        self.assertEqual(written["refused"], ["facts"])
        self.assertEqual(list(written["scratchpad"]), ["r"])
        events = {(event["event"], event["source"], event["items"]) for event in written["events"]}
        self.assertIn(("memory.written", "kb", 1), events)
        self.assertIn(("memory.write_refused", "facts", 1), events)
        self.assertNotIn("Refunds", json.dumps(written["events"]))

    async def test_keep_what_is_written_once_under_an_operation(self):
        write = {"operation": {"id": "order-17"}}
        answers = await asyncio.gather(*[self.write("handbook", {"content": REFUNDS}, **write) for _ in range(4)])
        self.assertEqual(answers, [{"accepted": ["handbook"]}] * 4)
        self.assertEqual(len(await self.found("handbook", "refunds")), 1)
        other = {"scope": self.scope, "source": "handbook", "items": [{"content": CREDIT}], **write}
        self.assert_failed(await self.call("write_source", other), "OperationConflict")

    async def test_that_are_read_only_refuse_writes_even_of_nothing(self):
        for items in [[{"content": REFUNDS}], []]:
            call = {"scope": self.scope, "source": "strict", "items": items}
            self.assert_failed(await self.call("write_source", call), "ReadOnly", "read-only")

    async def test_of_another_scope_are_others(self):
        await self.write("handbook", {"content": REFUNDS})
        elsewhere = {"scope": {"namespace": f"{self.scope['namespace']}/x"}, "source": "handbook", "query": "refunds"}
        self.assertEqual((await self.call("query_source", elsewhere)).result, {"items": []})

    async def test_refuse_a_scope_that_is_missing_or_empty_in_the_same_words(self):
        for scope, part in [({}, "scope"), ({"scope": {}}, "names nothing"), ({"scope": None}, "scope")]:
            messages = set()
            for source in ["handbook", "facts", "pad", "kb", "strict", "guarded", "nowhere"]:
                for activity in ["query_source", "write_source"]:
                    outcome = await self.call(activity, {**scope, "source": source, "items": []})
                    self.assert_failed(outcome, "InvalidArgument", part)
                    messages.add(outcome.message)
            self.assertEqual(len(messages), 1, messages)

    async def test_behind_a_guard_refuse_a_scope_without_a_namespace(self):
        outcome = await self.call("query_source", {"scope": {"namespace": ""}, "source": "guarded"})
        self.assert_failed(outcome, "ScopeRefused")

    async def test_that_make_no_sense_fail_at_the_first_attempt_with_what_to_change(self):
        for activity, fields, failure_type, part in [
            ("query_source", {"source": "nowhere"}, "InvalidArgument", "configured: `facts`"),
            ("query_source", {"source": "kb", "k": 0}, "InvalidArgument", "1 to 100"),
            ("query_source", {"source": "kb", "k": 101}, "InvalidArgument", "1 to 100"),
            ("query_source", {"source": "kb", "where": []}, "InvalidArgument", "where"),
            ("write_source", {"source": "kb", "items": [{"content": "a"}, {"content": " "}]}, "InvalidArgument", "items[1]"),
            ("write_source", {"source": "kb", "items": [{"content": "a"}] * 101}, "TooLarge", "101 items"),
            ("write_source", {"source": "kb"}, "InvalidArgument", "items"),
        ]:
            outcome = await self.call(activity, {"scope": self.scope, **fields})
            self.assert_failed(outcome, failure_type, part)
