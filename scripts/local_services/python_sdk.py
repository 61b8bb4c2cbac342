"""Temporal's Python SDK, for commands that call Notekeeper from Python."""

from __future__ import annotations

import os
import platform
import sys
from typing import Optional

from . import platforms, toolbox
from .signals import Signals
from .trouble import Trouble, say

#: The interpreter that the SDK is for; the one that runs this script.
PYTHON = "NOTEKEEPER_PYTHON"
#: What goes into its PYTHONPATH. Set by the caller it names an SDK to use instead.
PYTHONPATH = "NOTEKEEPER_PYTHONPATH"
#: The oldest Python that the SDK supports.
_PYTHON_MIN = (3, 10)


def variables(signals: Signals) -> dict[str, str]:
    """The variables by which a command finds the SDK; fetches the pinned one unless the caller names another."""
    chosen = os.environ.get(PYTHONPATH)
    if chosen:
        say("python", f"using the SDK that {PYTHONPATH} names ({chosen})")
        return {PYTHON: os.environ.get(PYTHON) or sys.executable, PYTHONPATH: chosen}
    why_not = _why_not()
    if why_not:
        raise Trouble(
            f"the pinned Temporal SDK for Python {why_not}; or install `{toolbox.PYTHON_SDK.requirement}` "
            f"elsewhere (`pip install --target DIR`) and set {PYTHONPATH} to that directory, and {PYTHON} to its python3"
        )
    place = toolbox.provide(toolbox.PYTHON_SDK, signals)
    say("python", f"{platform.python_version()} with {toolbox.PYTHON_SDK.requirement}")
    return {PYTHON: sys.executable, PYTHONPATH: str(place)}


def _why_not() -> Optional[str]:
    """Why this interpreter can't load the pinned SDK, and what to do; None where it can."""
    if sys.version_info < _PYTHON_MIN:
        needed = ".".join(str(part) for part in _PYTHON_MIN)
        return (
            f"needs Python {needed} or newer, and {sys.executable} is {platform.python_version()}. "
            f"Name a newer one (`make test PYTHON=python{needed}`)"
        )
    if platform.python_implementation() != "CPython":
        return f"needs CPython, and {sys.executable} is {platform.python_implementation()}. Name a CPython"
    if not platforms.has_glibc():
        return "needs the GNU C library, which this system doesn't use. Use a system that does"
    return None
