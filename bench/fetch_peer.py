"""Installs the packages of requirements.txt into a directory of their own in .toolbox, and prints its path.

`fetch_peer.py NAME FILE` does so with the packages of another file, under a name of their own.

Not a virtual environment: some distributions leave the module for it out. What pip or the network has to say
ends up in one line on standard error.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PYTHON_MIN = (3, 10)


def main() -> int:
    """Prints the directory; 1 with a reason where there is none."""
    if sys.version_info < _PYTHON_MIN:
        print(f"Python {sys.version.split()[0]} is too old for it; 3.10 or newer is needed", file=sys.stderr)
        return 1
    name, requirements = ("peer", _HERE / "requirements.txt") if len(sys.argv) < 3 else (sys.argv[1], Path(sys.argv[2]))
    toolbox = Path(os.environ.get("NOTEKEEPER_TOOLBOX") or _HERE.parent / ".toolbox").resolve()
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    place = toolbox / f"{name}-{digest}-{sys.implementation.cache_tag}"
    if not place.is_dir():
        toolbox.mkdir(parents=True, exist_ok=True)
        partial = toolbox / f"unfinished-{name}-{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        done = subprocess.run(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
                "--no-deps", "--only-binary=:all:", "--target", partial, "--requirement", requirements,
            ],
            env={**os.environ, "PIP_REQUIRE_VIRTUALENV": "0", "PIP_USER": "0"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip failed"]
            print(f"its packages can't be installed: {said[-1]}", file=sys.stderr)
            return 1
        os.rename(partial, place)
    print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
