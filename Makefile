# `make demo` and `make test` do everything on a machine that has Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
TOOLS := .venv-release/bin
RUNTIME := .venv-runtime
ADAPTERS := .venv-adapters
EXTRAS := train fast cli report bench serve mqtt redis nats kafka sql objects push scale tune
ifneq ($(wildcard ../shared/datasets),)
export CCMTAD_DATA ?= $(abspath ../shared/datasets)
endif

.PHONY: demo demo-live test test-all test-adapters lint bench docs picture lock sbom release clean

demo: $(STAMP)
	$(BIN)/ccmtad demo --out demo

# The service and its page, fed by simulated works, until Ctrl-C.
demo-live: $(STAMP)
	$(BIN)/ccmtad demo --live

# Side by side, each file in one process: its tests share what it has fitted. In our order: the longest file first.
test: lint
	$(BIN)/pytest -m "not slow" --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-all: lint
	$(BIN)/pytest

# sktime, aeon, Darts and TSB-AD want other versions than ours: an environment of their own, and the tests that need them.
test-adapters: $(ADAPTERS)/.installed
	$(ADAPTERS)/bin/pytest -rs tests/adapters

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

picture: $(STAMP)
	$(BIN)/python docs/picture.py

# What a release installs, every file by its SHA-256. torch is apart: which one fits depends on the machine.
lock: $(TOOLS)/.installed
	$(TOOLS)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --no-emit-options $(EXTRAS:%=--extra %) \
		--constraint constraints.txt --unsafe-package torch --output-file release.lock pyproject.toml

# What that is made of, by name, version and licence: dist/sbom.cdx.json, from an environment with nothing else in it.
sbom: $(TOOLS)/.installed
	rm -rf $(RUNTIME)
	$(PYTHON) -m venv --without-pip $(RUNTIME)
	$(TOOLS)/pip --python $(RUNTIME) install --quiet --require-hashes --requirement release.lock
	$(TOOLS)/pip --python $(RUNTIME) install --quiet --constraint constraints.txt torch
	$(TOOLS)/pip wheel --quiet --no-deps --wheel-dir dist .
	$(TOOLS)/pip --python $(RUNTIME) install --quiet --no-deps --no-index --find-links dist ccmtad
	$(TOOLS)/cyclonedx-py environment --gather-license-texts --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json $(RUNTIME)
	rm -rf $(RUNTIME)

# Wheel and source archive in dist, both tried in new environments: without extras, and with all of them as locked.
release: $(TOOLS)/.installed
	$(TOOLS)/python .ci/release.py

$(TOOLS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-release
	$(TOOLS)/pip install --quiet --constraint constraints.txt build pip-tools cyclonedx-bom
	touch $(TOOLS)/.installed

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ccmtad needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	# Only aeon's metrics are used, as an oracle in tests; what it asks for would hold back numba and pandas.
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps aeon
	touch $(STAMP)

$(ADAPTERS)/.installed: pyproject.toml constraints-adapters.txt
	$(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/pip install --quiet --constraint constraints-adapters.txt --editable '.[train,bench]' sktime aeon darts pytest hypothesis
	# Only TSB-AD's metrics are used, as an oracle; what it asks for (numpy 1) would hold back the others.
	$(ADAPTERS)/bin/pip install --quiet --constraint constraints-adapters.txt --no-deps TSB-AD
	touch $(ADAPTERS)/.installed

clean:
	rm -rf .venv .venv-release .venv-runtime .venv-adapters dist build site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
