"""Signals as plain facts: handlers only note them, and the waiting loops look."""

from __future__ import annotations

import os
import select
import signal
import socket

from .trouble import Interrupted

#: Ask the whole run to end.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Sent by the kernel when the process that started this one is gone.
ORPHANED = signal.SIGUSR1


class Signals:
    """The signals received so far, and something to wait on for the next one.

    A handler that raises could strike between the start of a server and the note of its number, and
    the server would be forgotten. So handlers only append to `received`.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        #: While true, waiting loops give up with `Interrupted` once a signal came.
        self.interrupts_waiting = True
        self._parent = os.getppid()
        self.wakeup, self._write = socket.socketpair()
        self.wakeup.setblocking(False)
        self._write.setblocking(False)

    def install(self) -> None:
        """Takes over the handling of signals in this process."""
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        for signum in ENDING:
            if signal.getsignal(signum) is signal.SIG_IGN and signum == signal.SIGHUP:
                continue  # nohup: outliving the terminal is what was asked for
            signal.signal(signum, lambda number, _frame: self.received.append(number))
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake the loop up
        signal.signal(ORPHANED, self._orphaned)

    def _orphaned(self, *_: object) -> None:
        # The kernel speaks of the thread that started us; only the end of the process counts.
        if os.getppid() != self._parent:
            self.received.append(signal.SIGTERM)

    def pause(self, seconds: float) -> None:
        """Waits, but not beyond the next signal. Raises `Interrupted` where that is wanted."""
        self.check()
        select.select([self.wakeup], [], [], seconds)
        self.drain()
        self.check()

    def check(self) -> None:
        """Raises `Interrupted` if a signal asked for the end and nothing runs yet to pass it to."""
        if self.interrupts_waiting and self.received:
            raise Interrupted(self.received[0])

    def close(self) -> None:
        """Gives back the wake-up channel; for a process that lives on."""
        self.wakeup.close()
        self._write.close()

    def drain(self) -> None:
        """Empties the wake-up channel, so that the next wait waits."""
        try:
            while self.wakeup.recv(4096):
                pass
        except BlockingIOError:
            pass
