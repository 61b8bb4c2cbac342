"""A small process that cleans up when this program is killed too hard to do it itself.

It holds the other end of a pipe. The pipe's end is the end of the program, whatever killed it; what
the program had told it by then is what there is to end and remove.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from .processes import end_carrying, python_command

_PATIENCE_SECONDS = 4.0


class Guard:
    """This program's side."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*python_command(), "guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # neither the terminal nor a signal for our group reaches it
        )

    def watch_directory(self, directory: Path, variable: str, value: str) -> None:
        """Will remove `directory` and end every process started with `variable=value`."""
        self._tell("directory", str(directory), variable, value)

    def watch_group(self, group: int, signum: int) -> None:
        """Will send `signum` to a process group, and SIGKILL where that isn't enough."""
        self._tell("group", str(group), str(int(signum)))

    def forget_group(self, group: int) -> None:
        """A group has ended; its number may come to mean another one."""
        self._tell("forget", str(group))

    def dismiss(self) -> None:
        """All is cleaned up."""
        self._tell("done")
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        self._process.wait()

    def _tell(self, *words: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(("\t".join(words) + "\n").encode())
            self._process.stdin.flush()
        except OSError:
            pass  # somebody killed the guard; the kernel's death signals remain


def main() -> int:
    """The guard's side: waits for the pipe's end, and acts unless all was done."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    groups: dict[int, int] = {}
    directories: list[tuple[str, str, str]] = []
    for line in sys.stdin:
        what, *words = line.rstrip("\n").split("\t")
        if what == "group":
            groups[int(words[0])] = int(words[1])
        elif what == "forget":
            groups.pop(int(words[0]), None)
        elif what == "directory":
            directories.append((words[0], words[1], words[2]))
        elif what == "done":
            return 0
    _end(groups)
    for directory, variable, value in directories:
        end_carrying(variable, value, patience=0)
        shutil.rmtree(directory, ignore_errors=True)
    return 0


def _end(groups: dict[int, int]) -> None:
    for group, signum in groups.items():
        _send(group, signum)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and any(_send(group, 0) for group in groups):
        time.sleep(0.05)
    for group in groups:
        _send(group, signal.SIGKILL)


def _send(group: int, signum: int) -> bool:
    try:
        os.killpg(group, signum)
        return True
    except OSError:
        return False
