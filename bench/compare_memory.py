"""Compares Notekeeper's transcripts, facts and recall with the memory of the Python library agentroute.

`make bench-compare` starts it. Each case runs on the library's `Memory` and `MemorySQLite` and on each store of
Notekeeper, through the activities of a real worker. A difference has to be listed, with its reason, in
comparison/differences.json; the exit code is 1 where one isn't, and where docs/comparison.md isn't what this
writes with `--write`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from temporalio.client import Client
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from comparison import random_operations, report
from comparison.cases import AREAS, Case
from comparison.judging import STALE, UNLISTED, Differences, Observed, observe, same_as_peer
from comparison.notekeeper import Notekeeper, Servers, Workers
from comparison.peer import MEMORY, SQLITE, PeerMemory, Process
from comparison.report import Row

_HERE = Path(__file__).resolve().parent
#: Cases at a time.
_CASES_AT_A_TIME = 6


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="the program notekeeper")
    parser.add_argument("--only", default="", help="cases whose area and name contain this; no random operations")
    parser.add_argument("--stores", help="these alone, with commas between them")
    parser.add_argument("--seed", default="1", help="seed of the random operations")
    parser.add_argument("--sequences", type=int, default=10, help="random sequences a store")
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md")
    return parser.parse_args()


class Comparison:
    """All that a run needs."""

    def __init__(self, servers: Servers, packages: str) -> None:
        self.servers = servers
        self.packages = packages
        self.workers = Workers(servers)
        self.process = Process(packages)
        self.differences = Differences()
        self._turn = asyncio.Semaphore(_CASES_AT_A_TIME)

    async def start(self) -> None:
        """Starts what cases share."""
        await self.servers.migrate()
        await self.workers.start()
        await self.process.start()

    async def stop(self) -> None:
        """Ends it."""
        await self.workers.kill()
        await self.process.kill()

    def ours(self, store: str, own: bool = False) -> Notekeeper:
        """A scope of its own in a store."""
        return Notekeeper(store, self.servers, None if own else self.workers)

    def theirs(self, kind: str, own: bool = False) -> PeerMemory:
        """A memory of the peer."""
        return PeerMemory(kind, self.packages, self.servers.directory, None if own else self.process)

    async def case(self, area: str, case: Case) -> Row:
        """Runs one case on all sides, one after the other."""
        async with self._turn:
            own = case.own_process
            memory = await observe(self.theirs(MEMORY, own), case)
            file = await observe(self.theirs(SQLITE, own), case)
            stores: dict[str, Observed] = {}
            for store in self.servers.stores():
                stores[store] = await observe(self.ours(store, own), case)
        verdicts = {}
        for store, ours in stores.items():
            same = same_as_peer(case, store, ours, memory, file)
            verdicts[store] = self.differences.judge(f"{area}: {case.name}", store, same, ours.text)
        return Row(area, case, memory, file, stores, verdicts)

    async def random(self, seed: str, sequences: int) -> random_operations.Found:
        """Random operations on each store, beside both memories of the peer."""

        async def one(store: str, number: int) -> random_operations.Found:
            async with self._turn:
                peers = {kind: self.theirs(kind) for kind in (MEMORY, SQLITE)}
                return await random_operations.run(store, f"{seed}.{number}", self.ours(store), peers)

        runs = [one(store, number) for store in self.servers.stores() for number in range(sequences)]
        total = random_operations.Found()
        for found in await asyncio.gather(*runs):
            total.operations += found.operations
            total.faults += found.faults
            for rule, times in found.rules.items():
                total.rules[rule] = total.rules.get(rule, 0) + times
        return total


async def _compare(arguments: argparse.Namespace, comparison: Comparison) -> int:
    began = time.monotonic()
    wanted = [(area.name, case) for area in AREAS for case in area.cases if arguments.only in f"{area.name}: {case.name}"]
    rows = await asyncio.gather(*(comparison.case(area, case) for area, case in wanted))
    bad = 0
    for row in rows:
        print(report.line(row), flush=True)
        bad += any(verdict in (UNLISTED, STALE) for verdict, _ in row.verdicts.values())
    if arguments.only:
        return bad
    unknown = comparison.differences.unknown({row.name for row in rows})
    for name in unknown:
        print(f"STALE      {name}: there is no such case")
    found = await comparison.random(arguments.seed, arguments.sequences)
    print(report.of_random(found))
    faults = [*found.faults, *(f"an unlisted rule: {rule}" for rule in found.rules if rule not in comparison.differences.rules)]
    for fault in faults:
        print(f"UNLISTED   {fault}")
    page = report.page(rows, comparison.differences)
    stale = False
    if arguments.write:
        report.PAGE.write_text(page, encoding="utf-8")
    elif not report.PAGE.exists() or report.PAGE.read_text(encoding="utf-8") != page:
        stale = True
        print("docs/comparison.md isn't what this run shows; COMPARE_ARGS=--write writes it")
    stores = ", ".join(comparison.servers.stores())
    print(f"{report.totals(rows)}; on {stores}; {time.monotonic() - began:.0f} s")
    return bad + len(unknown) + len(faults) + stale


def _packages() -> str:
    """Where the peer's packages are; fetches them the first time."""
    fetched = subprocess.run(
        [sys.executable, _HERE / "fetch_peer.py"], stdout=subprocess.PIPE, text=True, check=False
    )  # fmt: skip
    if fetched.returncode != 0:
        sys.exit("compare_memory: the peer's packages aren't there; see above")
    return fetched.stdout.strip()


async def _main() -> int:
    arguments = _arguments()
    packages = _packages()
    # Payloads near the limit are part of the cases and no news.
    logging = LoggingConfig(filter=TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    client = await Client.connect(
        os.environ["TEMPORAL_ADDRESS"],
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
        runtime=Runtime(telemetry=TelemetryConfig(logging=logging)),
    )
    with tempfile.TemporaryDirectory(prefix="notekeeper-compare-") as directory:
        servers = Servers(arguments.binary.resolve(), client, Path(directory), arguments.stores)
        comparison = Comparison(servers, packages)
        try:
            await comparison.start()
            return 1 if await _compare(arguments, comparison) else 0
        finally:
            await comparison.stop()
            await servers.clear(packages)


if __name__ == "__main__":
    code = asyncio.run(_main())
    sys.stdout.flush()
    # Threads of the SDK can crash the interpreter when it shuts down.
    os._exit(code)
