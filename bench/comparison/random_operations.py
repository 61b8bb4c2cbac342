"""Random operations on both sides: each fact that the peer finds, Notekeeper has to find."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from .cases import CLEAR, add, forget, get, recall, remember
from .sides import Side, Step, without_nulls

_OPERATIONS = 60
#: So many facts are asked for that none is left out by it.
_LIMIT = 1_000
_WORDS = [
    "peanut", "peanuts", "Butter", "green tea", "Zürich", "zurich", "C++", ".NET", "don't", "pre-edit", "GB/s", "42",
    "#42", "R", "k8s", "花生", "我喜欢花生", "straße", "STRASSE", "İstanbul", "ΟΔΟΣ", "x_y", "100%", "a-b", "🍕", "NOT",
    "or", "key:", '"', "(", "*", "snake_case", "src/auth.rs",
]  # fmt: skip
_KEYS = ["food", "Food", "city", "home city", "pet", "lang", "編集", "v2.1"]


@dataclass
class Found:
    """What random operations showed."""

    operations: int = 0
    #: How often each listed rule explains a fact that the peer finds and Notekeeper doesn't.
    rules: dict[str, int] = field(default_factory=dict)
    #: What nothing explains.
    faults: list[str] = field(default_factory=list)


def sequence(seed: str) -> list[Step]:
    """Operations that follow from the seed alone."""
    draw = random.Random(seed)
    steps: list[Step] = []
    for number in range(_OPERATIONS):
        chosen = draw.choices(["remember", "forget", "recall", "add", "get", "clear"], [30, 8, 40, 8, 10, 4])[0]
        if chosen == "remember":
            steps.append(remember(draw.choice(_KEYS), f"{_text(draw, 6)} {number}"))
        elif chosen == "forget":
            steps.append(forget(draw.choice(_KEYS)))
        elif chosen == "recall":
            steps.append(recall(_query(draw), limit=_LIMIT))
        elif chosen == "add":
            steps.append(add(*(f"{number}.{n}" for n in range(draw.randint(1, 4)))))
        elif chosen == "get":
            steps.append(get(limit=draw.randint(1, 12)) if draw.random() < 0.7 else get())
        else:
            steps.append(CLEAR)
    return steps


def _text(draw: random.Random, words_max: int) -> str:
    return " ".join(draw.choice(_WORDS) for _ in range(draw.randint(1, words_max)))


def _query(draw: random.Random) -> str:
    """Words, parts of words, keys, words with something about them, or nothing."""
    kind = draw.random()
    if kind < 0.05:
        return ""
    if kind < 0.15:
        return draw.choice(_KEYS)
    text = _text(draw, 3)
    if kind < 0.4:
        first = draw.randrange(len(text))
        return text[first : first + draw.randint(1, 6)]
    return draw.choice([str.upper, str.lower, str])(text)


async def run(name: str, seed: str, ours: Side, peers: dict[str, Side]) -> Found:
    """Runs one sequence on a store and on the memories of the peer."""
    found = Found()
    facts: dict[str, str] = {}
    try:
        for step in sequence(seed):
            answer, *others = await asyncio.gather(ours.run(step), *(peer.run(step) for peer in peers.values()))
            found.operations += 1
            if step["do"] == "remember":
                facts[step["key"]] = step["value"]
            elif step["do"] == "forget":
                facts.pop(step["key"], None)
            for peer, theirs in zip(peers, others, strict=True):
                where = f"{name} beside {peer}, seed {seed}"
                if step["do"] == "recall":
                    _compare(found, where, step["query"], facts, answer, theirs)
                elif step["do"] == "get" and answer != [without_nulls(message) for message in theirs]:
                    found.faults.append(f"{where}: {step} gave {answer}, the peer {theirs}")
    finally:
        for side in [ours, *peers.values()]:
            await side.close()
    return found


def _compare(found: Found, where: str, query: str, facts: dict[str, str], ours: Any, theirs: Any) -> None:
    """Values tell facts apart: each ends in a number of its own."""
    values = set(facts.values())
    if len(set(ours)) != len(ours) or not set(ours) <= values:
        found.faults.append(f"{where}: recall of {query!r} gave {ours}, facts are {facts}")
    keys = {value: key for key, value in facts.items()}
    for value in theirs:
        if value in ours:
            continue
        rule = _explained(query, f"{keys.get(value, '')}\n{value}")
        if rule is None:
            found.faults.append(f"{where}: recall of {query!r} leaves out {value!r}, which the peer finds")
        else:
            found.rules[rule] = found.rules.get(rule, 0) + 1


def _explained(query: str, fact: str) -> str | None:
    """Which listed rule explains that the peer finds a fact which Notekeeper doesn't find."""
    pattern = "%" in query or "_" in query
    return "patterns" if pattern and query.strip().lower() not in fact.lower() else None
