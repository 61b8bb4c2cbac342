"""What the sides of the comparison have in common."""

from __future__ import annotations

from typing import Any, Protocol

#: One step of a case: `{"do": NAME, …}`, see `cases.py`.
Step = dict[str, Any]


class Failed(Exception):
    """A step was refused or failed; says how the side calls it."""


class Shown(Exception):
    """A step makes no sense on this side; says why."""


class Side(Protocol):
    """A memory of one case on one side."""

    async def run(self, step: Step) -> Any:
        """Runs one step; gives what it answers."""

    async def close(self) -> None:
        """Ends what was started for it."""


def without_nulls(message: dict[str, Any]) -> dict[str, Any]:
    """The library gives each field that a message lacks as None, so a null isn't told from nothing."""
    return {name: value for name, value in message.items() if value is not None}
