"""What can't succeed later fails at once, with a type, and repeats no value."""

from __future__ import annotations

import asyncio
from typing import Any

from calling import Calls, Outcome

#: Stands in values, and must stand in no failure.
PLANTED = "OSMIUM"

ACTIVITIES = [
    "write_memory",
    "read_memory",
    "delete_memory",
    "search_memory",
    "list_memory",
    "load_snapshot",
    "call_model",
    "get_messages",
    "add_messages",
    "clear_messages",
    "remember",
    "recall",
    "forget",
    "summarize_messages",
]


class Failures(Calls):
    async def fails(self, activity: str, failure_type: str, part: str, *arguments: Any, encoding: str | None = None):
        """Checks a call that fails for good and names `part`."""
        outcome = await self.call(activity, *arguments, encoding=encoding)
        self.assert_failed(outcome, failure_type, part)
        self.assertNotIn(PLANTED, outcome.message)

    async def test_of_fields_name_the_field_and_what_is_expected(self):
        write = {"scope": self.scope, "content": PLANTED}
        wrong = [
            ({"content": PLANTED}, "missing field `scope`"),
            ({"scope": self.scope}, "missing field `content`"),
            ({**write, "content": 7}, "at `content`: expected a string"),
            ({**write, "content": None}, "at `content`: expected a string"),
            ({**write, "content": [PLANTED]}, "at `content`: expected a string"),
            ({**write, "content": "\ud800"}, "at `content`: not valid JSON"),
            ({**write, "scope": PLANTED}, "at `scope`: expected a JSON object"),
            ({**write, "scope": {"namespace": 1}}, "at `scope.namespace`: expected a string"),
            ({**write, "scope": {"namespce": PLANTED}}, "expected `namespace` or `agent_name`"),
            ({**write, "scope": {}}, "at `scope`: names nothing"),
            ({**write, "operation": "order-17"}, "at `operation`: expected a JSON object"),
            ({**write, "operation": {"id": 17}}, "at `operation.id`: expected a string"),
            ({**write, "operation": {"id": ""}}, "operation"),
            ({**write, "operation": {"id": "é"}}, "operation"),
            ({**write, "store": PLANTED}, "`store` names no configured store"),
            ({**write, "max_memory_size": "64"}, "at `max_memory_size`: expected a whole number of 0 or more"),
            ({**write, "max_memory_size": 1.5}, "at `max_memory_size`: expected a whole number of 0 or more"),
            ({**write, "max_memory_size": 0}, "`max_memory_size` must be at least 1"),
            ({**write, "expected_version": 3}, "at `expected_version`: expected a string"),
        ]
        checks = [self.fails("write_memory", "InvalidArgument", part, payload) for payload, part in wrong]
        search = {"scope": self.scope, "query": PLANTED}
        memory = {"scope": self.scope, "delivery": PLANTED}
        reference = {"delivery": "reference", "store": "default", "scope": self.scope, "digest": PLANTED}
        checks += [
            self.fails("read_memory", "InvalidArgument", "missing field `file`", {"scope": self.scope}),
            self.fails("delete_memory", "InvalidArgument", "missing field `file`", {"scope": self.scope}),
            self.fails("search_memory", "InvalidArgument", "max_search_results", {**search, "max_search_results": 0}),
            self.fails("load_snapshot", "InvalidArgument", "at `memories`: expected an array", {"memories": memory}),
            self.fails("load_snapshot", "InvalidArgument", "at `memories[0].delivery`", {"memories": [memory]}),
            self.fails("call_model", "InvalidArgument", "at `messages`: expected an array", {"messages": PLANTED}),
            self.fails("call_model", "InvalidArgument", "`model`", {"messages": [], "model": PLANTED}),
            self.fails("call_model", "InvalidArgument", "digest", {"messages": [], "memories": [reference]}),
        ]
        said = {"role": "user", "content": PLANTED}
        messages = [
            ([said, {**said, "content": f"{PLANTED}\0"}], "`messages[1].content` contains a NUL character"),
            ([said, {**said, PLANTED: {PLANTED: "\0"}}], "`messages[1]` contains a NUL character"),
            ([said, {**said, "content": f"{PLANTED}\ud800"}], "at `messages[1]`: not valid JSON: "),
            ([said, PLANTED], "`messages[1]` must be a JSON object"),
            ([{"content": PLANTED}], "`messages[0]` needs `role`"),
            ([said] * 1_001, "`messages` has 1001 messages, 1000 are allowed"),
            (said, "at `messages`: expected an array"),
        ]
        for bad, part in messages:
            checks.append(self.fails("add_messages", "InvalidArgument", part, {"scope": self.scope, "messages": bad}))
        large = [said, {**said, "content": "x" * 524_288}]
        checks.append(self.fails("add_messages", "TooLarge", "`messages[1]` has", {"scope": self.scope, "messages": large}))
        checks += [
            self.fails("get_messages", "InvalidArgument", "`cursor`", {"scope": self.scope, "cursor": PLANTED}),
            self.fails("get_messages", "InvalidArgument", "`conversation`", {"scope": self.scope, "conversation": ""}),
            self.fails("clear_messages", "InvalidArgument", "`conversation`", {"scope": self.scope, "conversation": "a\0"}),
            self.fails("recall", "InvalidArgument", "`limit` must be 1 to 1000", {"scope": self.scope, "limit": 0}),
            self.fails("recall", "InvalidArgument", "`limit` must be 1 to 1000", {"scope": self.scope, "limit": 1_001}),
            self.fails("remember", "InvalidArgument", "missing field `value`", {"scope": self.scope, "key": PLANTED}),
            self.fails("remember", "InvalidArgument", "at `value`: not valid JSON", {"scope": self.scope, "key": PLANTED, "value": "\ud800"}),
            self.fails("forget", "InvalidArgument", "missing field `key`", {"scope": self.scope}),
        ]
        await asyncio.gather(*checks)
        self.assertEqual((await self.answer("get_messages"))["messages"], [])

    async def test_of_arguments_that_are_not_one_json_object_say_so(self):
        write = {"scope": self.scope, "content": PLANTED}
        await asyncio.gather(
            *[
                check
                for activity in ACTIVITIES
                for check in [
                    self.fails(activity, "InvalidArgument", "got 0 arguments"),
                    self.fails(activity, "InvalidArgument", "got 2 arguments", write, write),
                    self.fails(activity, "InvalidArgument", "expected a JSON object, got null", None),
                    self.fails(activity, "InvalidArgument", "expected a JSON object, got an array", [write]),
                    self.fails(activity, "InvalidArgument", "expected a JSON object", PLANTED),
                    self.fails(activity, "InvalidArgument", "json/plain", write, encoding="binary/plain"),
                    self.fails(activity, "InvalidArgument", "json/plain", write, encoding="json/protobuf"),
                ]
            ]
        )

    async def test_of_scopes_have_a_type_of_their_own(self):
        for namespace in ["a//b", "../a", "a b\0", "x" * 2_001]:
            write = {"scope": {"namespace": namespace}, "content": "x"}
            await self.fails("write_memory", "InvalidScope", "", write)
        snapshot = {"memories": [{"scope": self.scope}, {"scope": {"namespace": "a", "agent_name": "b/c"}}]}
        await self.fails("load_snapshot", "InvalidScope", "", snapshot)

    async def test_of_an_operation_id_with_other_arguments_leave_everything_as_it_was(self):
        operation = {"id": "order-17"}
        await self.answer("write_memory", content="one", operation=operation)
        write = {"scope": self.scope, "content": "two", "operation": operation}
        await self.fails("write_memory", "OperationConflict", "", write)
        await self.fails("delete_memory", "OperationConflict", "", {"scope": self.scope, "file": "n", "operation": operation})
        self.assertEqual((await self.answer("read_memory", file="MEMORY.md"))["content"], "one\n")

    async def test_of_a_version_that_no_longer_holds_leave_everything_as_it_was(self):
        stale = (await self.answer("write_memory", content="one", file="n"))["version"]
        await self.answer("write_memory", content="two", file="n")
        expecting = {"scope": self.scope, "file": "n", "expected_version": stale}
        await self.fails("write_memory", "VersionConflict", "", {**expecting, "content": "three"})
        await self.fails("delete_memory", "VersionConflict", "", expecting)
        self.assertEqual((await self.answer("read_memory", file="n"))["content"], "one\ntwo\n")

    async def test_of_results_that_temporal_would_not_carry_name_limit_and_remedy(self):
        await self.answer("write_memory", content="x" * 65_000)
        memory = {"scope": self.scope, "render": {"max_tokens": 100_000}}
        outcome: Outcome = await self.call("load_snapshot", {"memories": [memory] * 17})
        self.assert_failed(outcome, "TooLarge", "1048576 are allowed")
        self.assertIn("`delivery` to `reference`", outcome.message)
