"""Messages and facts, called by name with plain dicts: what comes back, and what repetitions do."""

from __future__ import annotations

import asyncio
import json

from calling import Calls

OPENAI = [
    {"role": "system", "content": "You are a travel agent."},
    {"role": "user", "content": [{"type": "text", "text": "To Kiel?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]},
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "trains", "arguments": '{"to": "Kiel"}'}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '["RE 7"]'},
    {"role": "assistant", "content": "Take the RE 7.", "annotations": [], "logprob": -0.25},
]

ANTHROPIC = [
    {"role": "user", "content": "To Kiel?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "A train.", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_1", "name": "trains", "input": {"to": "Kiel", "changes": None, "limit": 3.5}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "RE 7"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Take the RE 7."}]},
]


def said(text: str) -> dict:
    return {"role": "user", "content": text}


class Messages(Calls):
    async def contents(self, **fields) -> list:
        got = await self.answer("get_messages", **fields)
        return [message["content"] for message in got["messages"]]

    async def test_come_back_as_they_were_in_whatever_form(self):
        for conversation, messages in [("openai", OPENAI), ("anthropic", ANTHROPIC)]:
            added = await self.answer("add_messages", conversation=conversation, messages=messages)
            self.assertEqual(added, {"first": 0, "next": len(messages), "replayed": False})
            got = await self.answer("get_messages", conversation=conversation)
            self.assertEqual(got, {"messages": messages, "first": 0, "next": len(messages), "oldest": 0})

    async def test_are_told_in_outline(self):
        for conversation, messages in [("openai", OPENAI), ("anthropic", ANTHROPIC)]:
            await self.answer("add_messages", conversation=conversation, messages=messages)
            got = await self.answer("get_messages", conversation=conversation, form="outline")
            self.assertEqual([outline["role"] for outline in got["outlines"]], [message["role"] for message in messages])
            called = [call for outline in got["outlines"] for call in outline.get("calls", [])]
            answered = [call for outline in got["outlines"] for call in outline.get("results", [])]
            self.assertEqual((len(called), called), (1, answered))
            self.assertEqual(sum(outline.get("prompt", False) for outline in got["outlines"]), 1)
            self.assertNotIn("Kiel", json.dumps(got))

    async def test_are_limited_to_the_most_recent(self):
        await self.answer("add_messages", messages=[said(str(n)) for n in range(5)])
        self.assertEqual(await self.contents(limit=2), ["3", "4"])
        self.assertEqual(await self.contents(limit=9), ["0", "1", "2", "3", "4"])
        self.assertEqual(await self.contents(**{"from": 3}), ["3", "4"])
        nothing = await self.answer("get_messages", limit=0)
        self.assertEqual(nothing, {"messages": [], "first": 5, "next": 5, "oldest": 0})

    async def test_go_on_behind_a_cursor_as_they_were_at_the_first_answer(self):
        text = "固" * 50_000
        for batch in range(3):
            messages = [said(f"{batch * 5 + n} {text}") for n in range(5)]
            await self.answer("add_messages", messages=messages)
        numbers, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = await self.answer("get_messages", cursor=cursor)
            self.assertLessEqual(len(json.dumps(page, ensure_ascii=False).encode()), 1024 * 1024)
            self.assertEqual((page["first"], page["next"]), (len(numbers), 15))
            numbers += [int(message["content"].split()[0]) for message in page["messages"]]
            cursor = page.get("cursor")
            pages += 1
            await self.answer("add_messages", messages=[said("later")])
        self.assertEqual(numbers, list(range(15)))
        self.assertGreater(pages, 2)

    async def test_of_concurrent_writers_keep_together_what_was_added_together(self):
        adds = [
            self.answer("add_messages", messages=[said(f"{writer}/{n}") for n in range(3)]) for writer in range(8)
        ]
        places = await asyncio.gather(*adds)
        contents = await self.contents()
        self.assertEqual(len(contents), 24)
        for writer, place in enumerate(places):
            self.assertEqual(contents[place["first"] : place["next"]], [f"{writer}/{n}" for n in range(3)])

    async def test_are_added_once_under_an_operation(self):
        add = {"messages": [said("one"), said("two")], "operation": {"id": "order-17"}}
        answers = await asyncio.gather(*[self.answer("add_messages", **add) for _ in range(4)])
        self.assertEqual(sorted(answer["replayed"] for answer in answers), [False, True, True, True])
        self.assertEqual({(answer["first"], answer["next"]) for answer in answers}, {(0, 2)})
        self.assertEqual(await self.contents(), ["one", "two"])
        other = {"scope": self.scope, "messages": [said("three")], "operation": {"id": "order-17"}}
        self.assert_failed(await self.call("add_messages", other), "OperationConflict")

    async def test_are_cleared_once_and_positions_go_on(self):
        await self.answer("add_messages", messages=[said("one"), said("two")])
        clear = {"operation": {"id": "clear"}}
        self.assertEqual(await self.answer("clear_messages", **clear), {"cleared": 2, "next": 2, "replayed": False})
        self.assertEqual((await self.answer("add_messages", messages=[said("three")]))["first"], 2)
        self.assertEqual(await self.answer("clear_messages", **clear), {"cleared": 2, "next": 2, "replayed": True})
        self.assertEqual(await self.contents(), ["three"])

    async def test_of_other_conversations_and_scopes_are_others(self):
        await self.answer("add_messages", messages=[said("here")])
        self.assertEqual(await self.contents(conversation="other"), [])
        elsewhere = await self.call("get_messages", {"scope": {"namespace": f"{self.scope['namespace']}/x"}})
        self.assertEqual(elsewhere.result["messages"], [])

    async def test_are_sent_to_a_model_by_their_positions(self):
        await self.answer("add_messages", messages=[*ANTHROPIC, said("show")])
        conversation = {"scope": self.scope, "from": 0, "to": 5}
        answered = await self.call("call_model", {"conversation": conversation, "messages": []})
        self.assertEqual(answered.result, {"text": "I see <>", "oldest": 0})


class Facts(Calls):
    async def values(self, query: str = "", **fields) -> list[str]:
        return (await self.answer("recall", query=query, **fields))["values"]

    async def test_are_kept_under_a_key_and_found_by_words(self):
        for key, value in [("food_preferences", "no peanuts, a dietary need"), ("tea", "green"), ("tea", "black")]:
            await self.answer("remember", key=key, value=value)
        self.assertEqual(await self.values("dietary"), ["no peanuts, a dietary need"])
        self.assertEqual(await self.values("TEA"), ["black"])
        self.assertEqual(await self.values(), ["black", "no peanuts, a dietary need"])
        self.assertEqual(await self.values(limit=1), ["black"])
        facts = await self.answer("recall", query="tea", form="facts")
        [fact] = facts["facts"]
        self.assertEqual((fact["key"], fact["value"], facts["values"]), ("tea", "black", []))
        self.assertTrue(0 < fact["score"] <= 1 and fact["age_seconds"] >= 0, fact)

    async def test_are_found_by_queries_that_look_like_syntax(self):
        await self.answer("remember", key="shell", value='rm -rf "unclosed <-> C++ key:x :* a & | !b')
        for query in ["rm -rf", '"unclosed', "C++", "key:x", "a & | !b", "(" * 1_000, "\0", "%", "NOT shell", "*"]:
            values = await self.values(query)
            self.assertLessEqual(len(values), 1, query)
        self.assertEqual(len(await self.values("C++")), 1)

    async def test_are_forgotten_and_that_again_succeeds(self):
        await self.answer("remember", key="tea", value="green")
        statuses = [(await self.answer("forget", key="tea"))["status"] for _ in range(2)]
        self.assertEqual((statuses, await self.values()), (["deleted", "not_found"], []))

    async def test_of_one_key_are_one_whatever_races(self):
        keeps = [self.answer("remember", key="tea", value=str(n)) for n in range(20)]
        statuses = [kept["status"] for kept in await asyncio.gather(*keeps)]
        self.assertEqual(sorted(statuses), ["created"] + ["updated"] * 19)
        self.assertEqual(len(await self.values()), 1)

    async def test_stay_when_a_conversation_is_cleared(self):
        await self.answer("remember", key="tea", value="green")
        await self.answer("add_messages", messages=[said("hello")])
        await self.answer("clear_messages")
        self.assertEqual(await self.values(), ["green"])

    async def test_are_changed_once_under_an_operation(self):
        keep = {"key": "tea", "value": "black", "operation": {"id": "order-17"}}
        first = await self.answer("remember", **keep)
        await self.answer("remember", key="tea", value="green")
        self.assertEqual(await self.answer("remember", **keep), {**first, "replayed": True})
        self.assertEqual(await self.values(), ["green"])
        for activity, fields in [("remember", {"key": "tea", "value": "mint"}), ("forget", {"key": "tea"})]:
            other = {"scope": self.scope, "operation": {"id": "order-17"}, **fields}
            self.assert_failed(await self.call(activity, other), "OperationConflict")

    async def test_that_are_none_are_refused_with_a_reason(self):
        for key, value, reason in [
            ("", "v", "invalid_key"),
            (" \n", "v", "invalid_key"),
            ("k" * 501, "v", "invalid_key"),
            ("k\0", "v", "nul"),
            ("k", "v\0", "nul"),
            ("k", "v" * 16_385, "too_large"),
        ]:
            self.assertEqual(await self.refused("remember", key=key, value=value), reason)
        self.assertEqual(await self.refused("forget", key=""), "invalid_key")
        self.assertEqual(await self.values(), [])
