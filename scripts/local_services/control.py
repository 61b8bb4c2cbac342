"""Stopping and starting a server while the command runs.

The command finds small programs in the directory that NOTEKEEPER_SERVICES names: `stop-postgres`,
`start-postgres`, `stop-temporal`, `start-temporal`. They ask this process, which remains the
server's parent; so a server that was started again ends with the run like one that never stopped.
"""

from __future__ import annotations

import shlex
import socket
from pathlib import Path
from typing import Union

from .processes import explain, python_command
from .server import BorrowedServer, Server
from .trouble import Trouble, say

ANSWER_SECONDS = 120.0
#: The helper's exit code for a server that isn't ours.
NOT_OURS = 3
_SOCKET = "control.sock"

AnyServer = Union[Server, BorrowedServer]


class Control:
    """The answering side."""

    def __init__(self, directory: Path, servers: dict[str, AnyServer]) -> None:
        self._directory = directory
        self._servers = servers
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(directory / _SOCKET))
        self.listener.listen(16)
        for name in servers:
            for verb in ("stop", "start"):
                self._write_helper(verb, name)
            self._write_pid(name)

    def close(self) -> None:
        """Answers nothing more."""
        self.listener.close()

    def answer(self) -> None:
        """Carries out the request of one helper that is waiting."""
        connection, _ = self.listener.accept()
        with connection:
            connection.settimeout(2)
            try:
                verb, name = connection.recv(256).decode().split()
                code, text = self._carry_out(verb, name)
                connection.sendall(f"{code} {text}".encode())
            except (OSError, ValueError):
                pass  # the helper went away, or isn't one

    def _carry_out(self, verb: str, name: str) -> tuple[int, str]:
        server = self._servers.get(name)
        if server is None or verb not in ("stop", "start"):
            return 2, f"no server `{name}` here"
        if isinstance(server, BorrowedServer):
            return NOT_OURS, f"{name} comes from {server.variable} and isn't ours to {verb}"
        try:
            text = server.stop() if verb == "stop" else server.start()
        except Trouble as trouble:
            return 1, str(trouble)
        except OSError as error:
            return 1, str(explain(error, f"{verb} {name}"))
        self._write_pid(name)
        return 0, text

    def _write_pid(self, name: str) -> None:
        server = self._servers[name]
        pid = server.pid if isinstance(server, Server) else None
        file = self._directory / f"{name}.pid"
        if pid is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(f"{pid}\n")

    def _write_helper(self, verb: str, name: str) -> None:
        words = [*python_command(), "control", str(self._directory), verb, name]
        file = self._directory / f"{verb}-{name}"
        file.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        file.chmod(0o755)


def ask(directory: Path, verb: str, name: str) -> int:
    """The helpers' side: asks, prints the answer and gives the exit code."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(directory / _SOCKET))
            connection.sendall(f"{verb} {name}".encode())
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        code, text = answer.split(" ", 1)
    except (OSError, ValueError):
        say(name, "the run that it belongs to is over or doesn't answer")
        return 1
    say(name, text)
    return int(code)
