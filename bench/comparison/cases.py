"""The cases: what each does with a memory, step by step, and what of the answers is compared.

A memory of a case is new: it has no message and no fact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .sides import Step

Answers = list[Any]


@dataclass(frozen=True)
class Case:
    """One behaviour."""

    name: str
    steps: list[Step]
    #: Whether the order of what `recall` answers is part of the case.
    ordered: bool = False
    #: Compared in place of the answers.
    summary: Callable[[Answers], Any] | None = None
    #: Whether what is expected depends on where the memory is kept: in a process or in a file.
    by_kind: bool = False

    @property
    def own_process(self) -> bool:
        """Whether it ends processes or starts some."""
        own = {"restart", "processes", "kill_during", "while_busy"}
        return any(step["do"] in own for step in self.steps)


@dataclass(frozen=True)
class Area:
    """Cases that belong together."""

    name: str
    cases: list[Case] = field(default_factory=list)


def add(*messages: Any, **more: Any) -> Step:
    """Adds messages; a text is a message of the user."""
    return {"do": "add", "messages": [user(m) if isinstance(m, str) else m for m in messages], **more}


def user(content: Any) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content}


def get(**limit: Any) -> Step:
    """The transcript."""
    return {"do": "get", **limit}


def remember(key: Any, value: Any, **more: Any) -> Step:
    """Keeps a fact."""
    return {"do": "remember", "key": key, "value": value, **more}


def recall(query: Any = "", **limit: Any) -> Step:
    """Looks for facts."""
    return {"do": "recall", "query": query, **limit}


def forget(key: Any, **more: Any) -> Step:
    """Removes a fact."""
    return {"do": "forget", "key": key, **more}


CLEAR: Step = {"do": "clear"}
RESTART: Step = {"do": "restart"}

_CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 17}'}}
_CALLING = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_RESULT = {"role": "tool", "tool_call_id": "call_1", "name": "look_up", "content": "shipped"}
_FIVE = add("one", "two", "three", "four", "five")


def found(query: str, *values: str, name: str = "", **more: Any) -> Case:
    """A case that remembers values and asks one query."""
    facts = [remember(f"f{number}", value) for number, value in enumerate(values)]
    return Case(name or f"`{query}`", [*facts, recall(query)], **more)


def batches(writers: int, each: int) -> list[list[Step]]:
    """What each of several writers adds: batches of two messages."""
    return [[add(f"{w}.{n}.a", f"{w}.{n}.b") for n in range(each)] for w in range(writers)]


def told_of_batches(answers: Answers) -> Any:
    """What the transcript in the last answer says of batches of two that several writers added."""
    if isinstance(answers[0], str) or not isinstance(answers[-1], list):
        return answers[0]
    names = [message["content"].rsplit(".", 1) for message in answers[-1]]
    whole = all(names[at] == [names[at + 1][0], "a"] for at in range(0, len(names) - 1, 2))
    seen: dict[str, int] = {}
    in_order = True
    for name, _ in names:
        writer, number = name.split(".")
        in_order &= seen.get(writer, 0) <= int(number)
        seen[writer] = int(number)
    return f"{len(names)} messages, batches {'whole' if whole else 'torn'}, each writer's in {'' if in_order else 'dis'}order"


def told_of_kill(answers: Answers) -> str:
    """What is left of five batches that were acknowledged and of one that was interrupted."""
    last, kept = answers
    names = [message["content"] for message in kept]
    acknowledged = [f"0.{n}.{half}" for n in range(5) for half in "ab"]
    call = "no answer" if last == "error" else "answered"
    if names[: len(acknowledged)] != acknowledged:
        return f"acknowledged messages lost; interrupted call: {call}"
    rest = names[len(acknowledged) :]
    if last != "error":
        call += f", took effect {rest.count('last.a')} ×"
    halves = "" if rest in ([], ["last.a", "last.b"]) else f"; and left {rest}"
    return f"acknowledged messages kept; interrupted call: {call}{halves}"


def told_of_race(answers: Answers) -> str:
    """How many facts there are of one key that many remembered."""
    return answers[0] if isinstance(answers[0], str) and answers[0] != "error" else f"{len(answers[-1])} fact"


MESSAGES = Area("Messages", [
    Case("come back in the order in which they were added", [_FIVE, add("six"), get()]),
    Case("a limit: the most recent ones, oldest first", [_FIVE, get(limit=2)]),
    Case("a limit beyond what is there: all", [_FIVE, get(limit=6)]),
    Case("a limit of 0", [_FIVE, get(limit=0)]),
    Case("a limit below 0", [_FIVE, get(limit=-3)]),
    Case("a limit of 2⁶³", [_FIVE, get(limit=2**63)]),
    Case("no limit, said as null", [_FIVE, get(limit=None)]),
    Case("a limit that is a fraction", [_FIVE, get(limit=1.5)]),
    Case("a limit that is a text", [_FIVE, get(limit="2")]),
    Case("a conversation that nothing was added to", [get(), get(limit=3)]),
    Case("none at all are added", [add(), get()]),
    Case("the same ones added twice are there twice", [add("yes"), add("yes"), get()]),
    Case("one addition that the caller repeats, under one operation id", [
        add("yes", operation="turn-1"), add("yes", operation="turn-1"), get()]),
    Case("calls of tools and their results", [add("Where is it?", _CALLING, _RESULT), get()]),
    Case("an assistant without a text", [add({"role": "assistant", "content": None}), get()]),
    Case("an empty text", [add(""), get()]),
    Case("an empty list of calls", [add({"role": "assistant", "content": "Hi", "tool_calls": []}), get()]),
    Case("fields of a call that nobody knows", [
        add({"role": "assistant", "tool_calls": [{**_CALL, "index": 0, "extra": {"a": [1, 2.5, None]}}]}), get()]),
    Case("an integer of 31 digits in a call", [
        add({"role": "assistant", "tool_calls": [{**_CALL, "extra": 10**30}]}), get()]),
    Case("fields of a message that nobody knows", [add({**user("Hi"), "refusal": "no"}), get()]),
    Case("a text in parts", [add(user([{"type": "text", "text": "Hi"}])), get()]),
    Case("a content that is a number", [add(user(5)), get()]),
    Case("roles other than the four", [
        add({"role": "developer", "content": "Be brief."}, {"role": "moderator", "content": "Hm."}), get()]),
    Case("an empty role", [add({"role": "", "content": "Hi"}), get()]),
    Case("a role that is null", [add({"role": None, "content": "Hi"}), get()]),
    Case("blanks, line ends and scripts, kept as they are", [
        add(" a\r\n\tb  ", "e\u0301 é 花生 ฉัน 👩‍👩‍👧 \u202e\ufeff"), get()]),
    Case("U+0000 in a text", [add("before"), add("ok", "a\0b"), get()]),
    Case("half a surrogate pair in a text", [add("before"), add("ok", "a\ud800b"), get()]),
    Case("half a surrogate pair in a call", [
        add({"role": "assistant", "tool_calls": [{**_CALL, "extra": "\udc00"}]}), get()]),
    Case("a text of 400,000 characters", [add("x" * 400_000), get()]),
    Case("a text of 1,000,000 characters", [add("x" * 1_000_000), get()]),
    Case("twenty texts of 200,000 characters, read at once", [
        *(add(chr(97 + n) * 200_000) for n in range(20)), get()]),
    Case("1,000 messages in one addition", [add(*map(str, range(1_000))), get(limit=3)]),
    Case("1,001 messages in one addition", [add(*map(str, range(1_001))), get(limit=3)]),
    Case("3,000 messages, read at once", [
        *(add(*map(str, range(at, at + 1_000))) for at in range(0, 3_000, 1_000)), get()]),
    Case("the caller changes a message after it was added", [add("Hi"), {"do": "change_added"}, get()]),
    Case("a cleared transcript is empty", [_FIVE, CLEAR, get(), get(limit=3)]),
    Case("clearing twice, and what is empty", [CLEAR, _FIVE, CLEAR, CLEAR, get()]),
    Case("clearing leaves facts alone", [_FIVE, remember("a", "b"), CLEAR, recall("a")]),
    Case("after clearing, a transcript begins anew", [_FIVE, CLEAR, add("six", "seven"), get(), get(limit=1)]),
])  # fmt: skip

FACTS = Area("Facts", [
    Case("found by their key", [remember("food", "Peanuts"), recall("food")]),
    Case("found by their value", [remember("food", "Peanuts"), recall("peanuts")]),
    Case("a second value replaces the first", [
        remember("food", "Peanuts"), remember("food", "Cheese"), recall(), recall("peanuts"), recall("food")]),
    Case("two of one value are two", [remember("a", "same"), remember("b", "same"), recall("same")]),
    Case("keys differ by case and blanks", [
        remember("k", "1"), remember("K", "2"), remember("k ", "3"), recall()]),
    Case("a forgotten one isn't found", [
        remember("food", "Peanuts"), forget("food"), recall(), recall("food"), recall("peanuts")]),
    Case("forgetting what isn't there", [forget("food"), remember("food", "Peanuts"), forget("FOOD"), forget("foo"), recall()]),
    Case("forgetting twice, and remembering again", [
        remember("food", "Peanuts"), forget("food"), forget("food"), remember("food", "Cheese"), recall()]),
    Case("one change that the caller repeats, under one operation id, after another", [
        remember("a", "old", operation="1"), remember("a", "new", operation="2"),
        remember("a", "old", operation="1"), recall()]),
    Case("an empty value", [remember("food", ""), recall("food"), recall()]),
    Case("an empty key", [remember("", "Peanuts"), recall("peanuts")]),
    Case("a blank key", [remember(" \t", "Peanuts"), recall("peanuts")]),
    Case("a key of 500 bytes", [remember("k" * 500, "Peanuts"), recall("peanuts")]),
    Case("a key of 501 bytes", [remember("k" * 501, "Peanuts"), recall("peanuts")]),
    Case("a value of 16,384 characters", [remember("a", "花" * 16_384), recall("a")]),
    Case("a value of 16,385 characters", [remember("a", "花" * 16_385), recall("a")]),
    Case("blanks, line ends and scripts, kept as they are", [remember("a", " x\r\n\te\u0301 花 👩‍👩‍👧 "), recall()]),
    Case("U+0000 in a value", [remember("a", "x\0y"), recall()]),
    Case("U+0000 in a key", [remember("a\0b", "x"), recall()]),
    Case("half a surrogate pair in a value", [remember("a", "x\ud800y"), recall()]),
    Case("half a surrogate pair in a key", [remember("a\udc00", "x"), recall()]),
    Case("half a surrogate pair in a key to forget", [forget("a\udc00")]),
    Case("a value that is null", [remember("a", None), recall()]),
    Case("a key that is null, twice", [remember(None, "x"), remember(None, "y"), recall()]),
    Case("a value that is a number", [remember("a", 5), recall("a")]),
    Case("a value that is a list", [remember("a", ["x"]), recall()]),
])  # fmt: skip

_THREE = [remember("food", "likes Peanuts"), remember("city", "lives in Zürich"), remember("pet", "has a cat")]
_THIRTY = [remember(f"k{n:02}", f"value {n}") for n in range(30)]

RECALL = Area("Recall", [
    Case("an empty query: all values", [*_THREE, recall("")]),
    Case("a blank query: all values", [*_THREE, recall(" \n\t")]),
    Case("no fact at all", [recall(), recall("x")]),
    Case("an empty query, in which order", [*_THREE, remember("food", "likes Cheese"), recall()], ordered=True),
    Case("an empty query with a limit", [*_THREE, recall("", limit=2)], ordered=True),
    Case("without a limit: ten values", [*_THIRTY, recall("value")],
         summary=lambda answers: len(answers[-1])),
    Case("without a limit and query: ten values", [*_THIRTY, recall()], summary=lambda answers: len(answers[-1])),
    Case("a limit beyond what matches", [*_THIRTY, recall("value", limit=1_000)]),
    Case("a limit of 1,001", [*_THREE, recall("likes", limit=1_001)]),
    Case("a limit of 2⁶³", [*_THREE, recall("likes", limit=2**63)]),
    Case("a limit of 0", [*_THREE, recall("likes", limit=0)]),
    Case("a limit of 0 and no query", [*_THREE, recall("", limit=0)]),
    Case("a limit below 0", [*_THREE, recall("", limit=-1)]),
    Case("a limit that is null", [*_THREE, recall("likes", limit=None)]),
    Case("a limit that is a fraction", [*_THREE, recall("likes", limit=1.5)]),
    Case("a query that is null", [*_THREE, recall(None)]),
    Case("a query with U+0000", [*_THREE, recall("cat\0likes")]),
    Case("a query with half a surrogate pair", [*_THREE, recall("\ud800")]),
    Case("a query of 1,000 opening brackets", [*_THREE, recall("(" * 1_000)]),
    Case("a query of 100,000 characters", [*_THREE, recall("peanuts " * 12_500)]),
    found("nothing", "likes Peanuts"),
    found("PEANUTS", "likes Peanuts", name="whatever the case: `PEANUTS`"),
    found("ÉCLAIR", "likes éclair", name="whatever the case: `ÉCLAIR`"),
    found("οδος", "ΟΔΟΣ", name="whatever the case: `οδος` for `ΟΔΟΣ`"),
    found("HAUPTSTRASSE", "Hauptstraße 3", name="whatever the case: `HAUPTSTRASSE` for `Hauptstraße`"),
    found("istanbul", "İstanbul", name="whatever the case: `istanbul` for `İstanbul`"),
    found("zurich", "Zürich", name="without diacritics: `zurich` for `Zürich`"),
    found("zürich", "Zurich", name="without diacritics: `zürich` for `Zurich`"),
    found("Zu\u0308rich", "Zürich", name="composed or decomposed: `Zürich`"),
    found("file", "a \ufb01le", name="compatible characters: `file` for `ﬁle`"),
    found("ABC123", "ＡＢＣ１２３", name="compatible characters: `ABC123` for full-width ones"),
    found("peanu", "likes Peanuts", name="a beginning of a word: `peanu`"),
    found("eanut", "likes Peanuts", name="a part of a word: `eanut`"),
    found("cat", "has a cat", "a category", "concatenates", name="a whole word, beginnings and parts: `cat`"),
    found("likes peanuts", "likes Peanuts", "likes cats", name="two words: `likes peanuts`"),
    found("peanuts likes", "likes Peanuts", name="two words in another order: `peanuts likes`"),
    found("likes cheese", "likes Peanuts", name="two words of which one is there: `likes cheese`"),
    Case("two words, one in the key and one in the value", [*_THREE, recall("food peanuts")]),
    found("keeps bees", "keeps  bees", name="two words with two blanks between: `keeps bees`"),
    Case("several words: which comes first", [
        remember("a", "one apple among many other things that are told at some length"),
        remember("b", "green apple"), remember("c", "green tea"), recall("green apple")], ordered=True),
    Case("one word: which comes first", [
        remember("a", "pineapples"), remember("b", "apple"), recall("apple")], ordered=True),
    *(found(query, stored, "something else") for query, stored in [
        ("pre-edit", "runs the pre-edit hook"), ("GB/s", "7 GB/s"), ("v2.1", "since v2.1"),
        ("don't", "they don't"), ("src/auth.rs", "see src/auth.rs"), ("C++", "writes C++"),
        (".NET", "writes .NET"), ("#42", "issue #42"), ("R", "writes R"), ("Go", "writes Go"),
        ("k8s", "runs k8s"), ("rm -rf", "never rm -rf"), ("a & | !b", "a & | !b"), ("key:x", "key:x is set"),
        ("NOT foo", "NOT foo"), ("near", "near the river"), ("and", "this and that"),
        ("100%", "sure by 100%"), ("snake_case", "likes snake_case"), ("user@example.com", "user@example.com"),
        ("O'Brien", "Mrs O'Brien"), ("\\d+", "matches \\d+"), ("(a", "see (a"), ("x^2", "x^2 grows"),
        ("🍕", "likes 🍕 a lot"), ("花生", "我喜欢花生"), ("ชอบ", "ฉันชอบถั่ว"), ("なっとう", "私はなっとうが好き"),
    ]),
    found("<->", "something", "other", name="operators alone: `<->`"),
    found(":*", "something", "other", name="operators alone: `:*`"),
    found('"unclosed', "something", "unclosed, that is", name='a quotation mark that isn\'t closed: `"unclosed`'),
    found("%", "one", "two", name="a pattern for everything: `%`"),
    found("_", "one", "two", name="a pattern for everything: `_`"),
    found("*", "one", "two", name="a pattern for everything: `*`"),
    found("cat OR dog", "a cat", "a dog", "a cow", name="a word that other search engines obey: `cat OR dog`"),
    found("tea NOT green", "black tea", "green tea", name="a word that other search engines obey: `tea NOT green`"),
    found("value : x", "x", name="a column of the peer's table: `value : x`"),
    Case("a column of the peer's table: `key:food`", [*_THREE, recall("key:food")]),
    found("pean*", "likes Peanuts", name="an asterisk after a beginning: `pean*`"),
])  # fmt: skip

_SOME = [_FIVE, *_THREE, remember("food", "likes Cheese"), forget("pet")]

DURATION = Area("What lasts", [
    Case("messages and facts after a restart", [*_SOME, RESTART, get(), recall(), recall("cheese")], by_kind=True),
    Case("a restart between every two steps", [
        step for one in [*_SOME, get(), CLEAR, add("six"), get(limit=3), recall("zürich")] for step in (one, RESTART)
    ], by_kind=True),
    Case("what was cleared and forgotten stays away", [*_SOME, CLEAR, forget("food"), RESTART, get(), recall()], by_kind=True),
    Case("killed at once after twenty answers", [
        *(add(f"{n}") for n in range(10)), *(remember(f"k{n}", f"v{n}") for n in range(10)), RESTART, get(), recall()],
        by_kind=True),
    Case("killed while a call is under way", [
        {"do": "kill_during", "steps": batches(1, 5)[0], "last": add("last.a", "last.b")}, get()],
        by_kind=True, summary=told_of_kill),
])  # fmt: skip

AT_ONCE = Area("At once", [
    Case("20 tasks add 10 batches of two each", [{"do": "tasks", "tasks": batches(20, 10)}, get()],
         summary=told_of_batches),
    Case("50 tasks remember under one key", [
        {"do": "tasks", "tasks": [[remember("k", f"v{n}")] for n in range(50)]}, recall()], summary=told_of_race),
    Case("4 callers of several processes add 25 batches of two each", [
        remember("first", "use"), {"do": "processes", "tasks": batches(4, 25)}, get()],
        by_kind=True, summary=lambda answers: told_of_batches(answers[1:])),
    Case("4 callers of several processes remember under one key, 25 times each", [
        add("first use"),
        {"do": "processes", "tasks": [[remember("k", f"{c} {n}") for n in range(25)] for c in range(4)]}, recall()],
        by_kind=True, summary=lambda answers: told_of_race(answers[1:])),
    Case("a call while asyncio's threads do other work", [
        {"do": "while_busy", "first": remember("a", "x"), "step": remember("b", "y")}]),
])  # fmt: skip

AREAS = [MESSAGES, FACTS, RECALL, DURATION, AT_ONCE]
