"""The notebook's activities, called by name with plain dicts: results, and what a model can correct."""

from __future__ import annotations

import asyncio

from calling import Calls


class Writing(Calls):
    async def test_creates_appends_and_replaces(self):
        created = await self.answer("write_memory", content="- likes tea")
        appended = await self.answer("write_memory", content="- lives in Kiel")
        replaced = await self.answer("write_memory", content="coffee", old_text="tea")

        answers = [created, appended, replaced]
        self.assertEqual([answer["status"] for answer in answers], ["created", "appended", "updated"])
        for answer in answers:
            self.assertEqual(set(answer), {"outcome", "file", "version", "replayed", "status"})
            self.assertEqual((answer["outcome"], answer["file"], answer["replayed"]), ("ok", "MEMORY.md", False))
        self.assertEqual(len({answer["version"] for answer in answers}), 3)
        note = await self.answer("read_memory", file="MEMORY.md")
        self.assertEqual(
            note,
            {
                "outcome": "ok",
                "file": "MEMORY.md",
                "content": "- likes coffee\n- lives in Kiel\n",
                "truncated": False,
                "version": replaced["version"],
            },
        )

    async def test_at_an_expected_version_goes_on_from_there(self):
        first = await self.answer("write_memory", content="one")
        second = await self.answer("write_memory", content="two", expected_version=first["version"])
        self.assertEqual(second["status"], "appended")

    async def test_with_nulls_is_writing_without_the_fields(self):
        nulls = dict.fromkeys(["operation", "old_text", "expected_version"])
        self.assertEqual((await self.answer("write_memory", content="one", **nulls))["status"], "created")

    async def test_ignores_fields_that_it_does_not_know(self):
        written = await self.answer("write_memory", content="one", colour="green", nested={"any": ["thing", None]})
        self.assertEqual(written["status"], "created")

    async def test_keeps_every_character(self):
        text = "Grüße, 固い, \U0001f9ed, e\u0301 and \u00e9, \u2028, \u0001, \"quoted\" \\ <memory>"
        await self.answer("write_memory", content=text, file="odd")
        note = await self.answer("read_memory", file="odd")
        self.assertEqual(note["content"], text + "\n")
        found = await self.answer("search_memory", query="固い")
        self.assertEqual([match["file"] for match in found["matches"]], ["odd.md"])

    async def test_takes_notes_of_64_ki_characters_whole(self):
        text = "固" * 65_535 + "\n"
        await self.answer("write_memory", content=text, file="large")
        note = await self.answer("read_memory", file="large")
        self.assertEqual((note["content"], note["truncated"]), (text, False))

    async def test_is_refused_for_what_the_model_can_correct(self):
        await self.answer("write_memory", content="tea, tea")
        reasons = await asyncio.gather(
            self.refused("write_memory", content=" \n"),
            self.refused("write_memory", content="a\0b"),
            self.refused("write_memory", content="x", file="../secrets"),
            self.refused("write_memory", content="x", old_text="coffee"),
            self.refused("write_memory", content="x", old_text="tea"),
            self.refused("write_memory", content="x", old_text="x", file="absent"),
            self.refused("write_memory", content="x" * 10, max_memory_size=15),
            self.refused("write_memory", content="x", max_memory_size=5),
        )
        self.assertEqual(
            reasons,
            [
                "empty_content",
                "nul",
                "invalid_path",
                "old_text_not_found",
                "ambiguous",
                "not_found",
                "too_large",
                "too_large_existing",
            ],
        )


class Reading(Calls):
    async def test_is_cut_to_the_bound_and_says_so(self):
        await self.answer("write_memory", content="固い石", file="stones")
        note = await self.answer("read_memory", file="stones", max_memory_size=2)
        self.assertEqual((note["content"], note["truncated"]), ("固い", True))

    async def test_is_refused_where_there_is_no_such_note(self):
        self.assertEqual(await self.refused("read_memory", file="absent"), "not_found")
        self.assertEqual(await self.refused("read_memory", file="a/b"), "invalid_path")

    async def test_sees_the_scope_and_no_other(self):
        await self.answer("write_memory", content="mine")
        elsewhere = {"scope": {**self.scope, "agent_name": "helper"}, "file": "MEMORY.md"}
        self.assertEqual((await self.call("read_memory", elsewhere)).result["reason"], "not_found")
        named = {"scope": {**self.scope, "agent_name": "main"}, "store": "default", "file": "MEMORY"}
        self.assertEqual((await self.call("read_memory", named)).result["content"], "mine\n")


class Deleting(Calls):
    async def test_says_whether_there_was_anything(self):
        await self.answer("write_memory", content="old", file="old")
        deleted = await self.answer("delete_memory", file="old")
        again = await self.answer("delete_memory", file="old")
        self.assertEqual(
            deleted, {"outcome": "ok", "file": "old.md", "version": None, "replayed": False, "status": "deleted"}
        )
        self.assertEqual(again, {**deleted, "status": "not_found"})

    async def test_is_refused_for_the_main_note_and_for_names_that_are_none(self):
        self.assertEqual(await self.refused("delete_memory", file="MEMORY.md"), "protected")
        self.assertEqual(await self.refused("delete_memory", file=""), "invalid_path")


class Searching(Calls):
    async def test_gives_matches_best_first(self):
        await self.answer("write_memory", content="green tea, black tea", file="drinks")
        await self.answer("write_memory", content="tea is for the afternoon", file="tea")
        await self.answer("write_memory", content="nothing", file="other")

        found = await self.answer("search_memory", query="tea")

        self.assertEqual(set(found), {"outcome", "matches", "scanned", "truncated"})
        self.assertEqual((found["scanned"], found["truncated"]), (3, False))
        files = [(match["file"], match["score"]) for match in found["matches"]]
        self.assertEqual(files, [("tea.md", 3), ("drinks.md", 2)])
        self.assertIn("afternoon", found["matches"][0]["snippet"])
        best = await self.answer("search_memory", query="tea", max_search_results=1)
        self.assertEqual(([match["file"] for match in best["matches"]], best["truncated"]), (["tea.md"], True))

    async def test_is_refused_for_queries_that_are_none(self):
        reasons = await asyncio.gather(
            self.refused("search_memory", query=" "),
            self.refused("search_memory", query="x" * 1_001),
            self.refused("search_memory", query=" ".join(str(number) for number in range(33))),
        )
        self.assertEqual(reasons, ["query_empty", "query_too_long", "query_too_many_terms"])


class Listing(Calls):
    async def test_gives_the_notes_by_name_without_their_text(self):
        for name in ["tea", "MEMORY.md", "cake"]:
            await self.answer("write_memory", content="固い", file=name)

        listed = await self.answer("list_memory")
        first = await self.answer("list_memory", max_files=1)

        names = [note["file"] for note in listed["files"]]
        self.assertEqual(names, ["MEMORY.md", "cake.md", "tea.md"])
        self.assertEqual([note["chars"] for note in listed["files"]], [3, 3, 3])
        self.assertEqual(set(listed["files"][0]), {"file", "version", "chars", "updated_at"})
        self.assertEqual((listed["truncated"], first), (False, {"files": listed["files"][:1], "truncated": True}))

    async def test_gives_nothing_where_there_is_nothing(self):
        self.assertEqual(await self.answer("list_memory"), {"files": [], "truncated": False})


class Operations(Calls):
    async def test_of_the_callers_own_take_effect_once(self):
        first = await self.answer("write_memory", content="one", operation={"id": "order-17"})
        again = await self.answer("write_memory", content="one", operation={"id": "order-17"})
        self.assertEqual(again, {**first, "replayed": True})
        note = await self.answer("read_memory", file="MEMORY.md")
        self.assertEqual(note["content"], "one\n")

    async def test_are_each_scopes_own(self):
        await self.answer("write_memory", content="one", operation={"id": "order-17"})
        other = {"scope": {"namespace": f"other/{self.unique}"}, "content": "two", "operation": {"id": "order-17"}}
        self.assertFalse((await self.call("write_memory", other)).result["replayed"])

    async def test_that_are_derived_differ_from_call_to_call(self):
        for _ in range(2):
            self.assertFalse((await self.answer("write_memory", content="same"))["replayed"])
        note = await self.answer("read_memory", file="MEMORY.md")
        self.assertEqual(note["content"], "same\nsame\n")

    async def test_are_free_again_after_a_refusal(self):
        operation = {"id": "order-18"}
        self.assertEqual(await self.refused("write_memory", content="", operation=operation), "empty_content")
        written = await self.answer("write_memory", content="one", operation=operation)
        self.assertFalse(written["replayed"])
