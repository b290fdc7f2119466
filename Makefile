# The commands of this project. `make` lists them.
#
# Everything is installed into .venv/ from constraints.txt (versions and hashes); downloads are kept outside the tree
# (uv's and our own cache folder), so that a second run installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export COUNTERFOIL_MAKE := 1
# Compiled modules are kept: without them each command that a test starts would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE
# Many tests wait for the programs that they have started: two processes more than there are cores use the time.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 2)')

CACHE := $(or $(COUNTERFOIL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/counterfoil)
ACCELERATOR := sdk/accelerator
CARGO := PYO3_PYTHON=$(abspath $(BIN)/python) cargo
export CARGO_TARGET_DIR ?= $(CACHE)/cargo

# Every extra but that of Quix Streams, which needs an older confluent-kafka than the others are tested with.
EXTRAS = $(shell $(BIN)/python -c 'import tomllib; print(*("--extra=" + name for name in \
  tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"] if name != "quixstreams"))')

.DEFAULT_GOAL := help
.PHONY: help install wheels dist demo test test-unit test-spark test-long fuzz fuzz-cost fuzz-cost-http fuzz-accelerator differential hammer hammer-bridge check bench bench-serde bench-http bench-pages docs screenshots constraints clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

NO_PACKAGES = echo "The packages could not be downloaded: the error is above. Behind a proxy set HTTPS_PROXY; for an index of your own set PIP_INDEX_URL and UV_INDEX_URL. Then run make $(MAKECMDGOALS) again."

install: $(VENV)/.installed $(VENV)/.accelerator  ## put every room with every extra into .venv/

$(VENV)/.installed: constraints.txt pyproject.toml deploy/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "counterfoil needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into $(VENV) (about 2.3 GB, half of it PySpark, Node.js and Go; once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/bootstrap.txt || { $(NO_PACKAGES); exit 1; }
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r constraints.txt || { $(NO_PACKAGES); exit 1; }
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.accelerator: $(wildcard $(ACCELERATOR)/src/*.rs) $(wildcard $(ACCELERATOR)/src/*/*.rs) $(ACCELERATOR)/Cargo.toml $(ACCELERATOR)/Cargo.lock $(ACCELERATOR)/pyproject.toml | $(VENV)/.installed
	@if ! command -v cargo > /dev/null; then \
	  echo "cargo is not installed, so the accelerator is left out and generated Python code is used (docs/accelerator.md)"; \
	elif echo "Building the accelerator (Rust, about a minute; once)" && $(BIN)/uv pip install --quiet --python $(BIN)/python \
	  --no-build-isolation --no-deps --reinstall-package counterfoil-accelerator ./$(ACCELERATOR); then touch $@; \
	else echo "The accelerator could not be built and is left out; generated Python code is used (docs/accelerator.md)"; fi
	@test -e $@ || test "$$COUNTERFOIL_REQUIRE_ACCELERATOR" != 1 || \
	  { echo "COUNTERFOIL_REQUIRE_ACCELERATOR=1 needs the accelerator: install Rust from https://rustup.rs"; exit 1; }

$(VENV)/spark.jsa: $(VENV)/.installed
	@echo "Writing $@, from which Spark starts in half the CPU time (once)"
	@PYTHONPATH=deploy $(BIN)/python -m local_services.spark_classes > /dev/null

wheels: install  ## the accelerator's wheel for this Python and this machine, into dist/
	@$(BIN)/maturin build --release --locked --manifest-path $(ACCELERATOR)/Cargo.toml --interpreter $(BIN)/python --out dist

dist: install  ## sdist and wheels into dist/, installed into empty environments of every Python here, and used
	@PYTHONPATH=deploy $(BIN)/python deploy/distributions.py

demo: install  ## the whole road on real data: registry, check, bridge, on a real Kafka broker
	@$(BIN)/python examples/rides/demo.py

test: install $(VENV)/spark.jsa  ## every test, from nothing: real broker, real Spark; about 30 minutes
	@$(BIN)/python -m pytest --cache-clear -n $(WORKERS) --dist loadgroup -m "not long" || { test $$? = 1 && $(BIN)/python tests/failed_alone.py; }

test-unit: install  ## the tests that touch nothing outside the process, but for the slow ones; about a minute
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow and not long" tests/unit tests/architecture

test-spark: install  ## every test of Spark on PySpark VERSION (newest): 3.5, 4.0, 4.1, 4.2; ARGS are for pytest
	@PYTHONPATH=deploy $(BIN)/python -m local_services.with_spark $${VERSION:-newest} \
	  $(BIN)/python -m pytest tests/integration/bridges tests/contract/engines tests/unit/converter/spark \
	  tests/integration/adapters/test_pyspark.py tests/unit/sdk/adapters/test_pyspark.py $(ARGS)

test-long: install  ## every test in depth: COUNTERFOIL_EXAMPLES (500) for each property, longer storms; hours
	@COUNTERFOIL_EXAMPLES=$${COUNTERFOIL_EXAMPLES:-500} COUNTERFOIL_DIFFERENTIAL_PAIRS=$${COUNTERFOIL_DIFFERENTIAL_PAIRS:-20000} \
	HAMMER_SECONDS=$${HAMMER_SECONDS:-120} REGISTRY_MODEL_EXAMPLES=$${REGISTRY_MODEL_EXAMPLES:-500} \
	  $(BIN)/python -m pytest -n auto --dist loadgroup -o timeout=0
	@for version in 3.5 4.1 4.2; do VERSION=$$version $(MAKE) --no-print-directory test-spark || exit 1; done

fuzz: install  ## the parsers and the check, coverage-guided, FUZZ_SECONDS (60) for each of sixteen targets
	@$(BIN)/python tests/fuzz/fuzz.py

fuzz-cost: install  ## small inputs that take long: hill-climbing on CPU and memory, FUZZ_SECONDS (60) for each of 25 targets
	@$(BIN)/python tests/fuzz/cost.py

fuzz-cost-http: install  ## the same over HTTP, to a served registry, FUZZ_SECONDS (60) for each of 45 kinds of requests
	@$(BIN)/python benchmarks/http/dear_search.py

FUZZ_ACCELERATOR = COUNTERFOIL_REQUIRE_ACCELERATOR=1 $(BIN)/python $(ACCELERATOR)/fuzz/decoder.py \
  -max_total_time=$${FUZZ_SECONDS:-60} -max_len=400 -len_control=0
SANITIZED := $(CARGO_TARGET_DIR)/sanitized
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

fuzz-accelerator: install  ## the accelerator beside the generated Python code on random bytes, FUZZ_SECONDS (60), SANITIZER=address
	@case "$(SANITIZER)" in "") $(FUZZ_ACCELERATOR) ;; address) $(MAKE) --no-print-directory fuzz-sanitized ;; \
	  *) echo "SANITIZER is address or nothing, not $(SANITIZER)"; exit 1 ;; esac

# The sanitizer is not a part of the stable compiler, which has it nevertheless (RUSTC_BOOTSTRAP). Its library comes with
# atheris. Python's own memory is taken from malloc, so that the sanitizer sees it too; Python frees not all of it at the end.
.PHONY: fuzz-sanitized
fuzz-sanitized: install
	@RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only \
	  $(CARGO) build --quiet --release --locked --manifest-path $(ACCELERATOR)/Cargo.toml --target $(HOST)
	@mkdir -p $(SANITIZED) && cp $(CARGO_TARGET_DIR)/$(HOST)/release/libcounterfoil_accelerator.so $(SANITIZED)/counterfoil_accelerator.so
	@PYTHONPATH=$(SANITIZED) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD=$$($(BIN)/python -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so $(FUZZ_ACCELERATOR)

differential: install  ## 20,000 pairs of schemas, judged by other implementations of Avro and JSON Schema too
	@COUNTERFOIL_DIFFERENTIAL_PAIRS=20000 $(BIN)/python -m pytest tests/differential tests/unit/schema/jsonschema/test_sound_pairs.py

hammer: install  ## random requests from many processes at once, HAMMER_SECONDS (120) on HAMMER_STORE (sqlite, postgres, both)
	@case "$${HAMMER_STORE:-both}" in sqlite|postgres) only="-k $$HAMMER_STORE" ;; both) only= ;; \
	  *) echo "HAMMER_STORE is sqlite, postgres or both, not $$HAMMER_STORE"; exit 1 ;; esac; \
	HAMMER_SECONDS=$${HAMMER_SECONDS:-120} REGISTRY_MODEL_EXAMPLES=$${REGISTRY_MODEL_EXAMPLES:-500} \
	  $(BIN)/python -m pytest -o timeout=0 $$only tests/integration/faults/test_hammer.py tests/integration/scenarios/test_stateful.py

hammer-bridge: install  ## bridges with faults of driver, broker, registry, disk at random moments: KILLS (30), SEED
	@HAMMER_KILLS=$${KILLS:-30} HAMMER_SEED=$${SEED:-} $(BIN)/python -m pytest -o timeout=0 tests/integration/bridges/test_hammer.py

check: install  ## formatting, lint, types, layers, dead code, links in the docs; prints the size and shape of the code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/basedpyright --project .
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/python docs/check_links.py
	@$(BIN)/python tests/architecture/structure.py && $(BIN)/python tests/architecture/flows.py
	@if command -v cargo > /dev/null; then set -ex; cd $(ACCELERATOR); \
	  $(CARGO) fmt --check; $(CARGO) clippy --release --locked --quiet -- -D warnings; \
	else echo "cargo is not installed, so the accelerator's source is not checked"; fi

bench: install  ## the benchmarks: ours beside what one would otherwise use, as ratios
	@for each in $(filter-out %/measure.py %/processor.py %/rides.py %/languages.py %/bench.py %/batches.py,$(wildcard benchmarks/bench_*.py benchmarks/contracts/*.py benchmarks/converter/*.py benchmarks/serde/*.py)); do echo "== $$each"; $(BIN)/python $$each || exit 1; done
	@BENCH_QUICK=1 $(MAKE) --no-print-directory bench-http

bench-serde: install  ## the serializers of all formats beside confluent-kafka's, and their memory; a few minutes
	@for each in $(filter-out %/measure.py,$(wildcard benchmarks/serde/*.py)); do echo "== $$each"; $(BIN)/python $$each || exit 1; done

bench-http: install $(VENV)/.idiomatic  ## the registry's speed and memory beside their goals, 20 minutes (BENCH_QUICK=1: 4)
	@$(BIN)/python benchmarks/http/bench_http.py

$(VENV)/.idiomatic: benchmarks/http/idiomatic.txt | install
	@$(BIN)/uv pip install --quiet --no-deps --require-hashes --target $(VENV)/idiomatic -r $<
	@touch $@

docs: install  ## write the generated pages anew
	@$(BIN)/python docs/generate.py

screenshots: install  ## the pictures of the pages in docs/images, light and dark
	@$(BIN)/python docs/screenshots.py

bench-pages: install  ## the pages' times and sizes beside their goals, on SQLite and PostgreSQL (BENCH_QUICK=1: fewer requests)
	@$(BIN)/python benchmarks/pages/bench_pages.py $(if $(BENCH_QUICK),--quick)
	@$(BIN)/python benchmarks/pages/bench_search.py

constraints: install  ## resolve the dependencies anew into constraints.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  $(EXTRAS) --group dev --group frameworks --constraints deploy/pins.in pyproject.toml -o constraints.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --extra registry --constraints constraints.txt pyproject.toml -o deploy/image/requirements.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --extra quixstreams pyproject.toml -o deploy/local_services/quixstreams.txt

clean:  ## remove .venv and what tools left in the tree
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .demo
