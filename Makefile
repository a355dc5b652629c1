# `make demo` and `make test` do everything on a machine that has Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
ifneq ($(wildcard ../shared/datasets),)
export CCMTAD_DATA ?= $(abspath ../shared/datasets)
endif

.PHONY: demo demo-live test test-all lint bench docs picture clean

demo: $(STAMP)
	$(BIN)/ccmtad demo --out demo

# The service and its page, fed by simulated works, until Ctrl-C.
demo-live: $(STAMP)
	$(BIN)/ccmtad demo --live

# Side by side, each file in one process: its tests share what it has fitted.
test: lint
	$(BIN)/pytest -m "not slow" --numprocesses auto --maxprocesses 4 --dist loadfile

test-all: lint
	$(BIN)/pytest

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

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ccmtad needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	# Only aeon's metrics are used, as an oracle in tests; what it asks for would hold back numba and pandas.
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps aeon
	touch $(STAMP)

clean:
	rm -rf .venv dist build site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
