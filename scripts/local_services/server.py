"""What PostgreSQL and Temporal have in common: starting, really answering, stopping, starting again."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Optional

from .guard import Guard
from .processes import Account, end_group, group_exists, last_lines, spawn
from .signals import Signals
from .trouble import Trouble, say

_ATTEMPTS = 5
_READY_SECONDS = 60.0


class Server:
    """One server process of a run. Subclasses say how it is launched and when it answers."""

    name: str
    #: Ends the server in good order; what it sends its clients then is its own affair.
    stop_signal: int
    stop_seconds: float = 15.0
    #: Ends it at once, for when nobody is there to wait.
    death_signal: int
    #: Phrases in its log that say a start may succeed another time.
    passing_failures: tuple[str, ...]

    def __init__(self, directory: Path, logs: Path, signals: Signals, guard: Guard) -> None:
        self.directory = directory
        self.log = logs / f"{self.name}.log"
        self.account: Optional[Account] = None
        self._signals = signals
        self._guard = guard
        self._process: Optional[subprocess.Popen] = None
        self._stopped_on_purpose = False
        self._was_ready = False

    # What a subclass says.

    def command(self) -> list[str]:
        """The server's command line, with the ports of now."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """The server's environment, and that of the programs that ask it something."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Whether the server answers what a client would ask."""
        raise NotImplementedError

    def choose_ports(self) -> None:
        """Takes new ports, before the first start and where one turns out to be taken."""
        raise NotImplementedError

    def release_ports(self) -> None:
        """Gives the ports back, after the last stop."""
        raise NotImplementedError

    def describe(self) -> str:
        """Version and address, for a person."""
        raise NotImplementedError

    # What they all do.

    @property
    def pid(self) -> Optional[int]:
        """The server's process, None where it doesn't run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process else None

    def start(self) -> str:
        """Starts the server and waits until it answers; says how it went. Running already is fine.

        After the first time it keeps its ports and data. Raises `Trouble` with the log's end.
        """
        if self.pid is not None:
            return f"runs already: {self.describe()}"
        began = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            self._end_remains()
            if not self._was_ready:
                self.choose_ports()
            log_start = self.log.stat().st_size if self.log.exists() else 0
            self._launch()
            if self._wait_until_ready():
                self._was_ready = True
                return f"{self.describe()}, ready in {time.monotonic() - began:.1f} s"
            self._end_remains()
            tail = last_lines(self.log, log_start)
            if attempt == _ATTEMPTS or not any(phrase in tail for phrase in self.passing_failures):
                raise Trouble(f"{self.name} didn't start; the end of its log:{tail or ' (it said nothing)'}")
            self._signals.pause(0.2)
        raise AssertionError("the last attempt returns or raises")

    def stop(self) -> str:
        """Ends the server in good order, by force if it takes too long; says how it went."""
        was_running = self.pid is not None
        self._stopped_on_purpose = True
        self._end_remains(self.stop_signal, self.stop_seconds)
        return "stopped" if was_running else "wasn't running"

    def died(self) -> bool:
        """Whether it ended without having been asked to."""
        return self._was_ready and self.pid is None and not self._stopped_on_purpose

    def run(self, argv: list[str], seconds: float = 10.0) -> subprocess.CompletedProcess:
        """Asks the server something through one of its client programs."""
        return subprocess.run(
            argv, env=self.environment(), cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def _launch(self) -> None:
        self._stopped_on_purpose = False
        with open(self.log, "ab") as output:
            self._process = spawn(
                self.command(),
                environment=self.environment(),
                directory=self.directory,
                output=output.fileno(),
                account=self.account,
                death_signal=self.death_signal,
            )
        self._guard.watch_group(self._process.pid, self.death_signal)

    def _wait_until_ready(self) -> bool:
        deadline = time.monotonic() + _READY_SECONDS
        pause = 0.05
        while self.pid is not None and time.monotonic() < deadline:
            try:
                if self.is_ready():
                    return True
            except (OSError, subprocess.TimeoutExpired):
                pass
            self._signals.pause(pause)
            pause = min(pause * 1.3, 0.5)
        return False

    def _end_remains(self, signum: Optional[int] = None, patience: float = 0.0) -> None:
        process = self._process
        if process is None:
            return
        if group_exists(process):
            end_group(process, signum or self.death_signal, patience)
        process.wait()
        self._guard.forget_group(process.pid)
        self._process = None


class BorrowedServer:
    """A server that was there before and isn't ours to stop."""

    def __init__(self, name: str, variable: str, where: str) -> None:
        self.name = name
        self.variable = variable
        say(name, f"using the one that {variable} names ({where})")


def clean_environment(home: Path) -> dict[str, str]:
    """An environment in which no setting of the user's reaches a server or its client programs."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C",
        "TZ": "UTC",
    }
