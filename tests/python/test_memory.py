"""`examples/python/memory.py`, as an application would use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from temporalio import workflow

from calling import TASK_QUEUE, Calls
from memory import Memory


@dataclass
class Customer:
    """What the workflow decides by whose notes are meant."""

    name: str
    task_queue: str = TASK_QUEUE


@workflow.defn
class Notebook:
    """Uses every method of the handle once, and some twice."""

    @workflow.run
    async def run(self, customer: Customer) -> dict[str, Any]:
        memory = Memory(f"customers/{customer.name}", task_queue=customer.task_queue)
        written = await memory.write("- likes tea", file="drinks", operation="order-17")
        repeated = await memory.write("- likes tea", file="drinks", operation="order-17")
        replaced = await memory.write("coffee", file="drinks", old_text="tea", expected_version=repeated["version"])
        return {
            "written": written,
            "repeated": repeated,
            "replaced": replaced,
            "note": await memory.read("drinks"),
            "found": await memory.search("coffee"),
            "listed": await memory.files(),
            "refused": await memory.read(),
            "deleted": await memory.delete("drinks"),
        }


class TheHandle(Calls):
    workflows = [Notebook]

    async def test_does_what_its_methods_say(self):
        said = await self.client.execute_workflow(
            Notebook.run, Customer(self.unique), id=self.unique, task_queue=self.unique
        )
        self.assertEqual(said["written"]["status"], "created")
        self.assertEqual(said["repeated"], {**said["written"], "replayed": True})
        self.assertEqual(said["replaced"]["status"], "updated")
        self.assertEqual(said["note"]["content"], "- likes coffee\n")
        self.assertEqual([match["file"] for match in said["found"]["matches"]], ["drinks.md"])
        listed = {"file": "drinks.md", "version": said["replaced"]["version"], "chars": 15}
        for file in said["listed"]["files"]:
            self.assertRegex(file.pop("updated_at"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(said["listed"], {"files": [listed], "truncated": False})
        self.assertEqual((said["refused"]["outcome"], said["refused"]["reason"]), ("refused", "not_found"))
        self.assertEqual(said["deleted"]["status"], "deleted")


@workflow.defn
class Transcript:
    """Uses every method for messages and facts."""

    @workflow.run
    async def run(self, customer: Customer) -> dict[str, Any]:
        memory = Memory(f"customers/{customer.name}", task_queue=customer.task_queue)
        conversation = memory.conversation("ticket-7")
        said = {"role": "user", "content": "x" * 400_000}
        added = [await conversation.add(said, said, operation=f"add-{n}") for n in [0, 1, 1]]
        remembered = [await memory.remember("tea", value) for value in ["black", "green"]]
        return {
            "added": added,
            "all": [len(message["content"]) for message in await conversation.messages()],
            "latest": len(await conversation.messages(limit=3)),
            "other": await memory.conversation().messages(),
            "cleared": [await conversation.clear(operation="clear") for _ in range(2)],
            "left": await conversation.messages(),
            "remembered": remembered,
            "recalled": await memory.recall("tea"),
            "recalled_facts": await memory.recall_facts("tea"),
            "facts": [await memory.facts(), await memory.facts(after="tea")],
            "forgotten": [await memory.forget("tea"), await memory.forget("tea")],
            "nothing": await memory.recall(),
            "refused": await memory.remember(" ", "blank"),
            "much": await self.much(memory),
        }

    async def much(self, memory: Memory) -> list[Any]:
        """More facts than one result carries: each has 98 KB as JSON."""
        for number in range(11):
            await memory.remember(f"large {number:02}", "\x01" * 16_384)
        found = await memory.recall_facts("large", limit=20)
        page = await memory.facts(limit=20)
        rest = await memory.facts(after=page["facts"][-1]["key"], limit=20)
        return [len(found["facts"]), found["truncated"], len(page["facts"]), page["more"], rest["more"]]


class TheHandleOnMessagesAndFacts(Calls):
    workflows = [Transcript]

    async def test_does_what_its_methods_say(self):
        said = await self.client.execute_workflow(
            Transcript.run, Customer(self.unique), id=self.unique, task_queue=self.unique
        )
        places = [(added["first"], added["next"], added["replayed"]) for added in said["added"]]
        self.assertEqual(places, [(0, 2, False), (2, 4, False), (2, 4, True)])
        self.assertEqual(said["all"], [400_000] * 4)
        self.assertEqual((said["latest"], said["other"], said["left"]), (3, [], []))
        cleared = [(cleared["cleared"], cleared["replayed"]) for cleared in said["cleared"]]
        self.assertEqual(cleared, [(4, False), (4, True)])
        self.assertEqual([kept["status"] for kept in said["remembered"]], ["created", "updated"])
        self.assertEqual((said["recalled"], said["nothing"]), (["green"], []))
        (recalled,) = said["recalled_facts"]["facts"]
        self.assertEqual((recalled["key"], recalled["value"]), ("tea", "green"))
        self.assertGreater(recalled["score"], 0)
        self.assertIs(said["recalled_facts"]["truncated"], False)
        self.assertEqual(said["much"], [10, True, 10, True, False])
        listed = [([fact["key"] for fact in page["facts"]], page["more"]) for page in said["facts"]]
        self.assertEqual(listed, [(["tea"], False), ([], False)])
        self.assertEqual([gone["status"] for gone in said["forgotten"]], ["deleted", "not_found"])
        self.assertEqual((said["refused"]["outcome"], said["refused"]["reason"]), ("refused", "invalid_key"))
