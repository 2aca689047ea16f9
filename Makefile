# Everything a person or CI calls. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Without a network, pip reports only that it found no version of a package.
LOCKED = $(PIP) --require-hashes -r $(1) || { echo "Cannot install the packages of $(1). The first set-up needs a package index: \
  PyPI, or a mirror that pip is configured for (PIP_INDEX_URL). Then run the same command again; later runs need no network."; exit 1; }
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
ONLY ?=
SEED ?=
IMAGE ?=
BASE ?=
# Many tests wait for timers and processes, so three workers share a core.
WORKERS ?= $(shell echo $$((3 * $$(nproc))))
# Real components, and browsers, are processes of their own beside each worker, and often waited for.
REAL_WORKERS ?= $(shell echo $$((1 + $$(nproc))))

.DEFAULT_GOAL := help
.PHONY: help setup demo up test coverage fuzz sim check format docs real real-setup real-again real-up web soak bench lock generate audit deploy dist clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: $(STAMP) ## make the virtual environment with every locked dependency

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Lading needs Python 3.11 or later; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Creating the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements/build.txt requirements/prune.txt pyproject.toml | $(BIN)/python
	@echo "Installing the $$(grep -c == requirements/prune.txt) packages of requirements/prune.txt ..."
	@$(call LOCKED,requirements/build.txt)
	@$(call LOCKED,requirements/prune.txt)
	@echo "Installing lading ..."
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): requirements/dev.txt $(RUNTIME)
	@echo "Installing the packages that only the tests need, of $< ..."
	@$(call LOCKED,$<)
	@touch $@

demo: $(RUNTIME) ## run the whole system on this machine, check what it does, and end by itself
	@$(BIN)/lading demo

up: $(RUNTIME) ## run a standalone cluster until Ctrl-C
	@$(BIN)/lading up

test: setup ## every test that needs only Python and this repository
	@$(BIN)/pytest -q --numprocesses $(WORKERS) --dist worksteal

coverage: setup ## the same tests with line coverage; about twice as long
	@$(BIN)/pytest -q --numprocesses auto --dist worksteal --cov --cov-report=term

fuzz: setup ## draw new inputs for the property tests (SEED=... draws the same again, ONLY=PATH selects)
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); \
	  again="make fuzz SEED=$$seed$(if $(ONLY), ONLY=$(ONLY))"; echo "$$again"; \
	  $(BIN)/pytest -q -m 'hypothesis and not soak' -p no:randomly --numprocesses auto --dist worksteal \
	    --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(or $(ONLY),tests) \
	  || { echo "Draw the same inputs again: $$again"; exit 1; }

sim: $(RUNTIME) ## the whole system under seeds, in virtual time, with faults (SEEDS=... of them, FIRST=... the first)
	@$(BIN)/lading sim --seeds $(or $(SEEDS),200) --first $(or $(FIRST),0)

check: setup ## formatting, lint, direction of imports, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/mypy

real-setup: ## install the real components into a cache (ONLY=kube,registry,... selects)
	@$(PYTHON) -m tests.real.setup $(if $(ONLY),--only $(ONLY))

real: setup real-setup ## conformance and end-to-end tests on real components (ONLY=... selects)
	@$(BIN)/pytest tests/real -q --numprocesses $(REAL_WORKERS) --dist worksteal $(if $(ONLY),--only $(ONLY))

real-again: setup ## those tests on real components that failed last, one after the other
	@$(BIN)/pytest tests/real -q --last-failed --last-failed-no-failures none

real-up: setup real-setup ## run a real Kubernetes on this machine until Ctrl-C
	@$(BIN)/python -m tests.real.bed.up

$(VENV)/.web: requirements/web.txt $(STAMP)
	@echo "Installing the packages that only the browser tests need, of $< ..."
	@$(call LOCKED,$<)
	@touch $@

web: $(VENV)/.web ## the dashboard in a real browser: Debian's chromium, which root gets installed
	@$(BIN)/python -m tests.browser.setup
	@$(BIN)/pytest tests/browser -q --numprocesses $(REAL_WORKERS) --dist worksteal

$(VENV)/.docs: requirements/docs.txt $(STAMP)
	@echo "Installing the packages that only the documentation needs, of $< ..."
	@$(call LOCKED,$<)
	@touch $@

docs: $(VENV)/.docs ## build the documentation into site/; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html, or serve it: $(BIN)/python -m http.server --directory site --bind 127.0.0.1"

format: setup ## format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

generate: setup ## write the files that are generated; those of built-in kinds need `make real-setup ONLY=kube`
	@$(BIN)/python -m lading.wiring.generate .
	@$(BIN)/python -m lading.cli.reference .
	@$(BIN)/python -m tests.docs.metric_tables .
	@$(BIN)/python -m lading.wire.generate
	@$(BIN)/python -m tests.real.generate

soak: setup real-setup ## tests of the tests, and races and kills on real components for longer (SECONDS=... of each; SEED=... draws the same kills again)
	@$(BIN)/pytest -q -m soak --numprocesses auto --dist worksteal
	@LADING_RACE_SECONDS=$(or $(SECONDS),300) LADING_SOAK_SEED=$(SEED) $(BIN)/pytest tests/real -q --numprocesses $(REAL_WORKERS) -k 'no_push_is_lost or lose_nothing'

bench: setup ## the measured comparisons, as ratios
	@$(BIN)/python -m bench

lock: setup ## resolve the dependencies again (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/runtime.txt
	uv pip compile pyproject.toml --extra prune --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/prune.txt
	uv pip compile pyproject.toml --extra prune --extra aws --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/image.txt
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/dev.txt
	uv pip compile --group build --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/build.txt
	uv pip compile --group web --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/web.txt
	uv pip compile --group docs --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-strip-extras -q -o requirements/docs.txt

audit: setup ## look up known vulnerabilities of the locked packages (needs a network)
	@$(BIN)/python -m release.audit

deploy: setup ## name the image of a release in deploy/, by its digest (IMAGE=NAME@sha256:...)
	@$(BIN)/python -m release.manifests deploy "$(IMAGE)"

dist: setup ## image, chart, manifests, wheel, sources, SBOM, checksums into dist/; needs buildah or podman (IMAGE=REGISTRY/lading, BASE=... of the image)
	@$(BIN)/python -m release.dist "$(IMAGE)" "$(BASE)"

clean: ## remove what setup and the tests made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage .hypothesis dist site
