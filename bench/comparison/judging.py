"""Runs cases, and says of each whether Notekeeper does as the peer, better, or differently on purpose."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cases import Case
from .notekeeper import IN_MEMORY
from .sides import Failed, Shown, Side, without_nulls

#: Where what differs is listed, with the reasons.
DIFFERENCES = Path(__file__).resolve().parent / "differences.json"
SAME = "same"
BETTER = "better"
DIFFERENT = "different"
#: Neither of these: what must not be.
UNLISTED = "UNLISTED"
STALE = "STALE"
#: Longest text and longest list that are shown whole.
_TEXT_CHARS_MAX = 60
_ITEMS_MAX = 6


@dataclass(frozen=True)
class Observed:
    """What a side answered to the steps of a case."""

    #: What is compared: an error is an error, whatever it is called.
    answers: Any
    #: The same for people, with the names of errors.
    text: str


async def observe(side: Side, case: Case) -> Observed:
    """Runs the steps of a case; a step that fails doesn't end it."""
    answers: list[Any] = []
    shown: list[str] = []
    try:
        for step in case.steps:
            try:
                answer = await side.run(step)
            except Failed as failed:
                answers.append("error")
                shown.append(f"error ({failed})")
                continue
            except Shown as why:
                answers.append(str(why))
                shown.append(str(why))
                continue
            if step["do"] == "get":
                answer = [without_nulls(message) for message in answer]
            if step["do"] == "recall" and not case.ordered:
                answer = sorted(answer, key=json.dumps)
            answers.append("ok" if answer is None else answer)
            if answer is not None:
                shown.append(_show(answer))
    finally:
        await side.close()
    if case.summary is not None:
        told = case.summary(answers)
        return Observed(told, str(told))
    return Observed(answers, "; ".join(shown) or "done")


def _show(answer: Any) -> str:
    """An answer for people: messages and values, abridged."""
    if not isinstance(answer, list):
        return _abridged(answer)
    items = [_message(item) if isinstance(item, dict) else _abridged(item) for item in answer]
    if len(items) > _ITEMS_MAX:
        items = [*items[:2], f"… {len(items)} in all"]
    return f"[{', '.join(items)}]"


def _message(message: dict[str, Any]) -> str:
    if set(message) == {"role", "content"} and message["role"] == "user" and isinstance(message["content"], str):
        return _abridged(message["content"])
    return _abridged(message, 4 * _TEXT_CHARS_MAX)


def _abridged(value: Any, chars_max: int = _TEXT_CHARS_MAX) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not text.isprintable():
        text = json.dumps(value, sort_keys=True)
    if len(text) <= chars_max:
        return text
    return f'{text[:12]}…" ({len(value):,} characters)' if isinstance(value, str) else f"{text[:12]}… ({len(text):,} characters)"


def same_as_peer(case: Case, store: str, ours: Observed, memory: Observed, file: Observed) -> bool:
    """Whether a store answers as the peer does: as both of its memories, or as the one of its kind."""
    if case.by_kind:
        return bool(ours.answers == (memory if store == IN_MEMORY else file).answers)
    return bool(ours.answers == memory.answers == file.answers)


class Differences:
    """What is known to differ, and why."""

    def __init__(self) -> None:
        listed = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
        self._cases: dict[str, dict[str, Any]] = {}
        for one in listed["cases"]:
            name = f"{one['area']}: {one['case']}"
            if name in self._cases or one["is"] not in (BETTER, DIFFERENT) or not one["why"].strip():
                raise ValueError(f"the entry `{name}` stands twice, or lacks a verdict or a reason")
            self._cases[name] = one
        self.rules: dict[str, str] = listed["random_operations"]

    def judge(self, name: str, store: str, same: bool, text: str) -> tuple[str, str]:
        """The verdict on what a store answers to a case, and why."""
        entry = self._cases.get(name)
        if entry is None:
            return (SAME, "") if same else (UNLISTED, "it differs and no entry says why")
        if same:
            return STALE, "an entry says that it differs, and it doesn't"
        expected = entry["notekeeper"]
        if isinstance(expected, dict):
            expected = expected[store]
        if expected != text:
            return UNLISTED, f"the entry for it expects: {expected}"
        return entry["is"], entry["why"]

    def unknown(self, names: set[str]) -> list[str]:
        """Entries for cases that aren't there."""
        return sorted(set(self._cases) - names)
