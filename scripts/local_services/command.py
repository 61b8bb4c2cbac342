"""The command that the servers are started for, in the foreground of the terminal."""

from __future__ import annotations

import os
import signal
import time
from typing import Mapping, Optional, Sequence

from .guard import Guard
from .processes import end_group, spawn
from .trouble import Trouble

#: After a signal to end: seconds until SIGTERM, and until SIGKILL.
_TERMINATE_SECONDS = 10.0
_KILL_SECONDS = 20.0


class Command:
    """A process group with the terminal's input; signals for the run go to it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], guard: Guard) -> None:
        self._guard = guard
        self._terminal = _own_terminal()
        self._asked_at: Optional[float] = None
        self._escalation = [(_TERMINATE_SECONDS, signal.SIGTERM), (_KILL_SECONDS, signal.SIGKILL)]
        # Giving the terminal to another group counts as output from the background once it is done.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            self._process = spawn(
                argv, environment=environment, directory=os.getcwd(), stdin=None, in_child=self._enter_foreground
            )
        except OSError as error:
            raise Trouble(f"`{argv[0]}` can't be run: {error.strerror}") from error
        guard.watch_group(self._process.pid, signal.SIGTERM)

    def poll(self) -> Optional[int]:
        """The exit code once the command ended (128 + n for signal n), else None."""
        if self._process.returncode is None:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._follow_stop()
            elif pid:
                signalled = os.WIFSIGNALED(status)
                self._process.returncode = -os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status)
        code = self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    def forward(self, signum: int) -> None:
        """Passes a signal on to the whole group."""
        self._asked_at = self._asked_at or time.monotonic()
        self._signal(signum)

    def escalate(self) -> None:
        """Insists, where the command was asked to end and doesn't."""
        while self._asked_at and self._escalation and time.monotonic() > self._asked_at + self._escalation[0][0]:
            self._signal(self._escalation.pop(0)[1])

    def finish(self) -> None:
        """Ends what is left of the group and takes the terminal back."""
        if self.poll() is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            deadline = time.monotonic() + _TERMINATE_SECONDS
            while self.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
        end_group(self._process, signal.SIGKILL, 0)
        self._guard.forget_group(self._process.pid)
        self._leave_foreground()

    def _signal(self, signum: int) -> None:
        try:
            os.killpg(self._process.pid, signum)
        except (ProcessLookupError, PermissionError):
            pass

    def _enter_foreground(self) -> None:
        if self._terminal is not None:
            os.tcsetpgrp(self._terminal, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)

    def _leave_foreground(self) -> None:
        if self._terminal is not None and _foreground(self._terminal) == self._process.pid:
            os.tcsetpgrp(self._terminal, os.getpgrp())

    def _follow_stop(self) -> None:
        """Ctrl-Z reached the command alone: stop with it, and go on with it."""
        if self._terminal is None:
            return
        self._leave_foreground()
        os.killpg(os.getpgrp(), signal.SIGTSTP)  # returns when the shell has us continue
        if _foreground(self._terminal) == os.getpgrp():
            os.tcsetpgrp(self._terminal, self._process.pid)
        self._signal(signal.SIGCONT)


def _own_terminal() -> Optional[int]:
    """Standard input, where it is a terminal and this process is in its foreground."""
    return 0 if os.isatty(0) and _foreground(0) == os.getpgrp() else None


def _foreground(terminal: int) -> Optional[int]:
    try:
        return os.tcgetpgrp(terminal)
    except OSError:
        return None


