"""Starting, watching and ending processes."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Mapping, Optional, Sequence, Union

from .signals import Signals
from .trouble import Trouble

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.05

try:
    _prctl: Optional[Callable[..., int]] = ctypes.CDLL(None, use_errno=True).prctl
except (OSError, AttributeError):
    _prctl = None  # not Linux: the guard process alone has to do


@dataclass(frozen=True)
class Account:
    """Whose rights a server runs with when this process is root."""

    name: str
    uid: int
    gid: int


def die_with_parent(signum: int) -> None:
    """Has the kernel send this process `signum` when the thread that started it ends."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signum), 0, 0, 0)


def spawn(
    argv: Sequence[Union[str, Path]],
    *,
    environment: Mapping[str, str],
    directory: Union[str, Path],
    output: Union[int, None] = None,
    account: Optional[Account] = None,
    death_signal: int = signal.SIGTERM,
    stdin: Optional[int] = subprocess.DEVNULL,
    in_child: Callable[[], None] = lambda: None,
) -> subprocess.Popen:
    """Starts a process in a process group of its own that doesn't outlive this one."""
    parent = os.getpid()

    def prepare() -> None:
        os.setpgid(0, 0)
        in_child()
        # After the change of user, which would undo it.
        die_with_parent(death_signal)
        if os.getppid() != parent:
            os._exit(1)

    rights = {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}
    return subprocess.Popen(
        [str(word) for word in argv],
        env=dict(environment),
        cwd=str(directory),
        stdin=stdin,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        preexec_fn=prepare,
        **rights,
    )


def run_to_end(
    argv: Sequence[Union[str, Path]], log: Path, signals: Signals, seconds: float, **options
) -> int:
    """Runs a short-lived program, its output added to `log`; gives its exit code.

    Raises `Trouble` after `seconds` and `Interrupted` on a signal; the program has ended then, too.
    """
    with open(log, "ab") as output:
        process = spawn(argv, output=output.fileno(), **options)
    deadline = time.monotonic() + seconds
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise Trouble(f"`{Path(argv[0]).name}` didn't finish in {seconds:.0f} s{last_lines(log)}")
            signals.pause(_POLL_SECONDS)
    finally:
        if process.poll() is None:
            end_group(process, signal.SIGKILL, 0)
    return process.returncode


def end_group(process: subprocess.Popen, signum: int, patience: float) -> None:
    """Ends a process and its group: `signum` for the process, after `patience` seconds SIGKILL for all."""
    if process.poll() is None:
        _send(os.kill, process.pid, signum)
    deadline = time.monotonic() + patience
    while group_exists(process) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    if group_exists(process):
        _send(os.killpg, process.pid, signal.SIGKILL)
    process.wait()


def group_exists(process: subprocess.Popen) -> bool:
    """Whether the process or one that it started in its group still runs."""
    return process.poll() is None or _send(os.killpg, process.pid, 0)


def _send(how: Callable[[int, int], None], target: int, signum: int) -> bool:
    try:
        how(target, signum)
        return True
    except ProcessLookupError:
        return False
    except PermissionError:
        return True


def carrying(variable: str, value: str) -> list[int]:
    """The processes of this user that were started with `variable=value`, this one left out."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


def end_carrying(variable: str, value: str, patience: float) -> list[str]:
    """Ends what `carrying` finds and gives the names of those that were found."""
    names = []
    deadline = time.monotonic() + patience
    signum = signal.SIGTERM
    pids = carrying(variable, value)
    names = [f"{_name_of(pid)} ({pid})" for pid in pids]
    while pids:
        for pid in pids:
            _send(os.kill, pid, signum)
        time.sleep(_POLL_SECONDS)
        if time.monotonic() > deadline:
            signum = signal.SIGKILL
        if time.monotonic() > deadline + 2:
            break  # in an uninterruptible wait: nothing more can be done
        pids = carrying(variable, value)
    return names


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


def last_lines(log: Path, start: int = 0, count: int = 8) -> str:
    """The end of a log from byte `start` on, laid out to follow an error's one line."""
    try:
        with open(log, "rb") as file:
            file.seek(max(start, os.path.getsize(log) - 16_384))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    lines = [line.rstrip() for line in lines if line.strip()]
    return "".join(f"\n    | {line}" for line in lines[-count:])


def explain(error: OSError, doing: str) -> Trouble:
    """A system error as a sentence with a remedy."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" on the disk of {error.filename}" if error.filename else ""
        return Trouble(f"no space left{where} while {doing}: free some (about 1 GB is enough), or set TMPDIR")
    return Trouble(f"{doing} failed: {error}")


def python_command() -> list[str]:
    """This interpreter running this program, for helpers."""
    entry = Path(__file__).resolve().parent.parent / "services.py"
    return [sys.executable or "python3", str(entry)]
