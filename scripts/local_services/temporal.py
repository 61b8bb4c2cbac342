"""A Temporal development server of its own for one run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Optional

from . import toolbox
from .guard import Guard
from .ports import LOOPBACK, ReservedPort
from .server import Server, clean_environment
from .signals import Signals
from .trouble import Trouble

NAMESPACE = "default"
#: An older command line on PATH may not know the flags that this program and the tests use.
_CLI_MIN = (1, 9, 1)
#: The server's defaults suit a laptop; tests that start hundreds of workflows would wait for its timers.
_DYNAMIC_CONFIG = ("history.transferProcessorMaxPollRPS=2000", "history.timerProcessorMaxPollRPS=2000")


def command_line(signals: Signals) -> Path:
    """The Temporal command line: TEMPORAL_CLI, else the one on PATH if it is new enough, else the pinned one."""
    chosen = os.environ.get("TEMPORAL_CLI")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise Trouble(f"TEMPORAL_CLI names {chosen}, which can't be executed: correct or unset it")
        return Path(chosen).resolve()
    installed = shutil.which("temporal")
    if installed and _version_of(installed) >= _CLI_MIN:
        return Path(installed).resolve()
    return toolbox.provide(toolbox.TEMPORAL, signals) / toolbox.TEMPORAL.proof


def _version_of(program: str) -> tuple[int, ...]:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else ()


class Temporal(Server):
    """Keeps its state in a file, so that it can be stopped and started again."""

    name = "temporal"
    stop_signal = signal.SIGTERM
    death_signal = signal.SIGTERM
    # It takes several more ports than it can be told; one of those may be taken, too.
    passing_failures = ("address already in use", "can't set frontend port", "could not listen", "failed to listen")

    def __init__(self, directory: Path, logs: Path, signals: Signals, guard: Guard) -> None:
        super().__init__(directory, logs, signals, guard)
        self.program = command_line(signals)
        self._ports: list[ReservedPort] = []
        directory.mkdir(mode=0o700)
        self.version = ".".join(str(part) for part in _version_of(str(self.program)))

    @property
    def address(self) -> str:
        """Host and port of the front end."""
        return f"{LOOPBACK}:{self._ports[0].number}"

    def choose_ports(self) -> None:
        self.release_ports()
        self._ports = [ReservedPort() for _ in range(3)]

    def release_ports(self) -> None:
        while self._ports:
            self._ports.pop().release()

    def command(self) -> list[str]:
        front_end, http, metrics = (str(port.number) for port in self._ports)
        dynamic = [word for setting in _DYNAMIC_CONFIG for word in ("--dynamic-config-value", setting)]
        return [
            str(self.program), "server", "start-dev", "--headless", "--ip", LOOPBACK,
            "--port", front_end, "--http-port", http, "--metrics-port", metrics,
            "--db-filename", str(self.directory / "temporal.db"), "--log-level", "error", *dynamic,
        ]  # fmt: skip

    def environment(self) -> dict[str, str]:
        return clean_environment(self.directory)

    def is_ready(self) -> bool:
        health = self._ask("operator", "cluster", "health")
        return health.returncode == 0 and "SERVING" in health.stdout and self._namespace_exists()

    def describe(self) -> str:
        return f"Temporal CLI {self.version} server on {self.address}"

    def _namespace_exists(self) -> bool:
        return self._ask("operator", "namespace", "describe", "--namespace", NAMESPACE).returncode == 0

    def _ask(self, *words: str) -> subprocess.CompletedProcess:
        return self.run([str(self.program), *words, "--address", self.address])


def borrowed_command_line(signals: Signals) -> Optional[Path]:
    """The command line for a server that isn't ours; None where there is none for this machine."""
    try:
        return command_line(signals)
    except Trouble:
        return None
