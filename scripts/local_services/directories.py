"""The directory of one run."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from pathlib import Path
from typing import Optional

from .processes import Account, explain
from .trouble import Trouble

#: `sun_path` holds 108 bytes with the closing zero.
SOCKET_PATH_BYTES_MAX = 107
_LONGEST_SOCKET = "postgres/.s.PGSQL.65535"
_SPACE_BYTES = 512 * 1024 * 1024


def unprivileged_account() -> Optional[Account]:
    """Whom PostgreSQL, which refuses to be root, runs as; None where this process isn't root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise Trouble(
            "PostgreSQL refuses to run as root and there is no user `nobody` to run it as: "
            "be another user, or set DATABASE_URL"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def make(account: Optional[Account]) -> Path:
    """A fresh directory for a run, reachable by `account`, short enough for a socket, with room."""
    refused = []
    for base in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]):
        try:
            why_not = _why_not(Path(base), account)
            if why_not is None:
                made = Path(tempfile.mkdtemp(prefix="notekeeper-", dir=base))
                made.chmod(0o711 if account else 0o700)
                return made
            refused.append(f"{base} {why_not}")
        except OSError as error:
            refused.append(str(explain(error, f"making a directory in {base}")))
    raise Trouble(f"no place for the servers' data: {'; '.join(refused)}. Set TMPDIR to a directory that has room")


def _why_not(base: Path, account: Optional[Account]) -> Optional[str]:
    base = base.resolve()
    if len(os.fsencode(base / "notekeeper-xxxxxxxx" / _LONGEST_SOCKET)) > SOCKET_PATH_BYTES_MAX:
        return "has too long a name for a socket"
    if account and not all(part.stat().st_mode & 0o001 for part in [base, *base.parents]):
        return f"can't be reached by `{account.name}`"
    if shutil.disk_usage(base).free < _SPACE_BYTES:
        return "has less than 512 MB free"
    return None
