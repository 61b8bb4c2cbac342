"""What a run may end with, and how it speaks to the person at the terminal."""

from __future__ import annotations

import sys


class Trouble(Exception):
    """A failure somebody can act on: the text says what is wrong and what to do about it."""


class Interrupted(Exception):
    """A signal asked for the end before the command was started."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"signal {signum}")
        self.signum = signum


def say(subject: str, text: str) -> None:
    """Prints one line for a person, on standard error: standard output belongs to the command."""
    try:
        print(f"{subject}: {text}", file=sys.stderr, flush=True)
    except OSError:
        pass  # Nobody listens any more; that must not keep the servers from being stopped.
