"""Which machines the pinned programs exist for."""

from __future__ import annotations

import platform
import sys

from .trouble import Trouble

#: The oldest GNU C library that the PostgreSQL binaries run with.
GLIBC_MIN = (2, 28)

_ELSEWHERE = (
    "Start both servers yourself (`docker compose up -d postgres temporal` does) and set "
    "DATABASE_URL and TEMPORAL_ADDRESS"
)


def machine() -> str:
    """This machine's architecture as wheels call it, or `Trouble` where there are no programs for it."""
    if sys.platform != "linux":
        raise Trouble(f"there are no pinned servers for {sys.platform}, only for Linux. {_ELSEWHERE}")
    name = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    if name not in ("x86_64", "aarch64"):
        raise Trouble(f"there are no pinned servers for {name}, only for x86_64 and aarch64. {_ELSEWHERE}")
    return name


def has_glibc() -> bool:
    """Whether the C library is GNU's, of whatever version."""
    return platform.libc_ver()[0] == "glibc"


def require_glibc() -> None:
    """Raises `Trouble` where the C library can't run the PostgreSQL binaries (musl, or too old)."""
    library, version = platform.libc_ver()
    if library != "glibc":
        raise Trouble(f"the pinned PostgreSQL needs the GNU C library, which this system doesn't use. {_ELSEWHERE}")
    found = tuple(int(part) for part in version.split(".")[:2])
    if found < GLIBC_MIN:
        needed = ".".join(str(part) for part in GLIBC_MIN)
        raise Trouble(f"the pinned PostgreSQL needs glibc {needed}; this system has {version}. {_ELSEWHERE}")
