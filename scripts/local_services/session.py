"""One run: servers up, command, servers down, whatever happens."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence
from urllib.parse import urlsplit

from . import directories, python_sdk, temporal, toolbox
from .command import Command
from .control import AnyServer, Control
from .guard import Guard
from .postgres import Postgres
from .processes import die_with_parent, end_carrying, explain
from .server import BorrowedServer, Server
from .signals import ORPHANED, Signals
from .temporal import Temporal
from .trouble import Interrupted, Trouble, say

#: The variable that names the helpers' directory, and by which stray processes are found.
SERVICES = "NOTEKEEPER_SERVICES"
#: Exit code when the servers, not the command, are at fault.
FAILED = 125
#: Where clients take a server from, and what goes with it; cleared for the servers started here.
_CLIENT_SETTINGS = {
    "postgres": ("PG",),
    "temporal": tuple(
        f"TEMPORAL_{what}"
        for what in ("ADDRESS", "NAMESPACE", "TLS", "API_KEY", "PROFILE", "CONFIG_FILE", "GRPC_META_", "CODEC_", "ENV")
    ),
}
#: How often escalation is looked at while nothing happens.
_TICK_SECONDS = 0.5
#: For processes that the command left behind.
_STRAY_SECONDS = 3.0


@dataclass(frozen=True)
class Wanted:
    """What a run is asked for."""

    postgres: bool
    temporal: bool
    temporal_cli: bool
    python_sdk: bool
    postgres_version: str
    argv: Sequence[str]


class Session:
    """The servers and the command of one run, and their end."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._signals = Signals()
        self._servers: dict[str, AnyServer] = {}
        self._variables: dict[str, str] = {}
        self._directory: Optional[Path] = None
        self._guard: Optional[Guard] = None
        self._control: Optional[Control] = None
        self._command: Optional[Command] = None

    def run(self) -> int:
        """Runs the command among its servers; gives its exit code, or `FAILED`."""
        code = FAILED
        try:
            self._signals.install()
            die_with_parent(ORPHANED)
            self._start()
            code = self._attend()
        except Trouble as trouble:
            say("services", str(trouble))
        except OSError as error:
            say("services", str(explain(error, "starting the servers")))
        except Interrupted as interruption:
            code = 128 + interruption.signum
        finally:
            self._signals.interrupts_waiting = False
            self._end(code)
        return code

    # Up.

    def _start(self) -> None:
        account = directories.unprivileged_account() if self._starts_postgres() else None
        self._guard = Guard()
        self._directory = directories.make(account)
        for part in ("control", "logs"):
            (self._directory / part).mkdir(mode=0o700)
        self._guard.watch_directory(self._directory, SERVICES, self._services())
        if self._wanted.python_sdk:
            self._variables.update(python_sdk.variables(self._signals))
        if self._wanted.postgres:
            self._provide_postgres(account)
        if self._wanted.temporal:
            self._provide_temporal()
        elif self._wanted.temporal_cli:
            self._variables["TEMPORAL_CLI"] = str(temporal.command_line(self._signals))
        self._variables[SERVICES] = self._services()
        self._control = Control(self._directory / "control", self._servers)
        self._signals.check()
        self._command = Command(self._wanted.argv, self._environment(), self._guard)
        self._signals.interrupts_waiting = False

    def _starts_postgres(self) -> bool:
        return self._wanted.postgres and not os.environ.get("DATABASE_URL")

    def _provide_postgres(self, account) -> None:
        assert self._directory and self._guard
        if not self._starts_postgres():
            url = urlsplit(os.environ["DATABASE_URL"])  # printed without user and password
            where = f"{url.hostname or 'socket'}:{url.port or 5432}{url.path}"
            self._servers["postgres"] = BorrowedServer("postgres", "DATABASE_URL", where)
            return
        server = Postgres(
            self._directory / "postgres", self._directory / "logs", self._signals, self._guard,
            account, self._wanted.postgres_version,
        )  # fmt: skip
        self._servers["postgres"] = server
        say("postgres", server.start())
        self._variables["DATABASE_URL"] = server.url
        self._variables["NOTEKEEPER_POSTGRES_BIN"] = str(server.programs)

    def _provide_temporal(self) -> None:
        assert self._directory and self._guard
        address = os.environ.get("TEMPORAL_ADDRESS")
        if address:
            self._servers["temporal"] = BorrowedServer("temporal", "TEMPORAL_ADDRESS", address)
            self._variables["TEMPORAL_NAMESPACE"] = os.environ.get("TEMPORAL_NAMESPACE") or temporal.NAMESPACE
            program = temporal.borrowed_command_line(self._signals)
            if program:
                self._variables["TEMPORAL_CLI"] = str(program)
            return
        server = Temporal(self._directory / "temporal", self._directory / "logs", self._signals, self._guard)
        self._servers["temporal"] = server
        say("temporal", server.start())
        # A profile of the user's must not mix with the address.
        settings = self._directory / "control" / "temporal.toml"
        settings.touch()
        self._variables.update(
            TEMPORAL_ADDRESS=server.address,
            TEMPORAL_NAMESPACE=temporal.NAMESPACE,
            TEMPORAL_CLI=str(server.program),
            TEMPORAL_CONFIG_FILE=str(settings),
        )

    def _services(self) -> str:
        return str(self._directory / "control") if self._directory else ""

    def _environment(self) -> dict[str, str]:
        """The caller's environment, without what would lead clients of our servers elsewhere."""
        own = [name for name, server in self._servers.items() if isinstance(server, Server)]
        foreign = tuple(prefix for name in own for prefix in _CLIENT_SETTINGS[name])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return {**kept, **self._variables}

    # Meanwhile.

    def _attend(self) -> int:
        """Passes signals on and answers the helpers until the command ends."""
        assert self._command and self._control
        with selectors.DefaultSelector() as selector:
            selector.register(self._signals.wakeup, selectors.EVENT_READ)
            selector.register(self._control.listener, selectors.EVENT_READ)
            while True:
                code = self._command.poll()
                if code is not None:
                    return code
                while self._signals.received:
                    self._command.forward(self._signals.received.pop(0))
                self._command.escalate()
                ready = [key.fileobj for key, _ in selector.select(_TICK_SECONDS)]
                self._signals.drain()
                if self._control.listener in ready:
                    self._control.answer()

    # Down.

    def _end(self, code: int) -> None:
        if self._command:
            self._command.finish()
        if self._control:
            self._control.close()
        if self._directory:
            for stray in end_carrying(SERVICES, self._services(), _STRAY_SECONDS):
                say("services", f"ended {stray}, which the command had left behind")
        died = False
        for server in reversed(list(self._servers.values())):
            if isinstance(server, Server):
                died = died or server.died()
                server.stop()
        if self._directory:
            if code not in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP):
                self._keep_logs(died)
            shutil.rmtree(self._directory, ignore_errors=True)
        if self._guard:
            self._guard.dismiss()

    def _keep_logs(self, died: bool) -> None:
        assert self._directory
        logs = self._directory / "logs"
        if not any(logs.iterdir()):
            return
        kept = toolbox.keep_logs(logs, time.strftime("%Y%m%d-%H%M%S-") + str(os.getpid()))
        if kept:
            say("services", f"the servers' logs are kept in {kept}" + (" (one died on its own)" if died else ""))


def run(wanted: Wanted) -> int:
    """One run from start to end; gives the exit code for this process."""
    code = Session(wanted).run()
    sys.stdout.flush()
    return code
