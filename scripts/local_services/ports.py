"""Free TCP ports that stay ours."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


class ReservedPort:
    """A port nobody else is given while this object lives, and a server of ours can listen on.

    The socket is bound but doesn't listen. The kernel then hands the port to no other process that
    asks for a free one. A server may still bind it, since both sockets say `SO_REUSEADDR`; set after
    binding, the option doesn't let us in where somebody else is. So the port also survives a
    server's restart.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind((LOOPBACK, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        """Gives the port back."""
        self._socket.close()


def answers(port: int) -> bool:
    """Whether something on this machine accepts connections on the port."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2):
            return True
    except OSError:
        return False
