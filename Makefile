# Everything here sets itself up: Python 3.11 or newer and make are all it takes.
# .venv is made once, from hash-pinned locks, and again only when they or pyproject.toml change.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet --quiet install
RUN := $(VENV)/.ready-to-run
DEV := $(VENV)/.ready-to-test
ALL := $(VENV)/.ready-to-prove
LOCKER := build/locker
# Else pytest rewrites every test file anew in each process.
unexport PYTHONDONTWRITEBYTECODE
# A file's tests share a worker or a browser, so a file stays together. They wait for processes more than they
# compute, so there are two for each core. tests/conftest.py says which begin first.
PARALLEL := --numprocesses $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN)) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo demo-team test prove attack lint docs pictures bench fuzz install vsix lock clean tools postgresql

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN) ## replay a recorded session in a throwaway data directory, and show the result
	@$(PY) -m claude_mem demo

demo-team: $(DEV) ## the same for a team: a server on PostgreSQL, two members, three agents, and a deletion on all machines
	@$(PY) scripts/demo_team.py

test: lint tools ## lint, and run the tests that every change must pass; takes minutes
	@echo "== tests"
	@$(PY) -m pytest $(PARALLEL) -m "not prove"

prove: $(ALL) tools postgresql ## run every test: all pages, the real client, torture tests, full Hypothesis
	@echo "== every test"
	@$(PY) -m pytest $(PARALLEL) -m "not short" --hypothesis-profile full

attack: $(ALL) tools postgresql ## run all security tests, including the stolen cookie in a real browser
	@$(PY) -m pytest $(PARALLEL) tests/security tests/browser/test_stolen_cookie.py

pictures: $(DEV) tools ## regenerate docs/demo.md and all screenshots
	@$(PY) scripts/demo.py
	@$(PY) -m tests.browser.screenshots docs/images

lint: $(DEV) ## check style, types, layers, and whether the generated docs are current
	@echo "== style"
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@echo "== types"
	@$(PY) -m mypy
	@$(PY) -m mypy --platform darwin --cache-dir .mypy_cache/darwin src
	@echo "== layers"
	@$(VENV)/bin/lint-imports
	@echo "== docs"
	@$(PY) scripts/docs.py --check

docs: $(DEV) ## regenerate the docs that come from the code
	@$(PY) scripts/docs.py

bench: $(DEV) ## run all benchmarks, each with its baseline
	@set -e; for script in $$(grep -l __main__ benchmarks/*.py); do echo "== $$script"; $(PY) "$$script"; done

fuzz: $(DEV) ## fuzz the reply parser for ten minutes
	@$(PIP) atheris
	@$(PY) tests/fuzz/grammar.py -max_total_time=600

install: ## install the claude-mem command; EXTRAS=postgres, chroma, fastembed or onnx adds what these need
	@PYTHON="$(PYTHON)" EXTRAS="$(EXTRAS)" bash scripts/install.sh

vsix: $(PY) ## package the VS Code extension as a .vsix in dist
	@$(PY) scripts/vsix.py

lock: ## update the pinned dependencies in requirements/, with hashes
	@set -e; python="$$(bash scripts/find-python.sh "$(PYTHON)")"; "$$python" -m venv --clear $(LOCKER)
	@$(LOCKER)/bin/python -m pip --disable-pip-version-check --quiet --quiet install pip-tools
	@for lock in "run" "dev --extra dev" "prove --extra dev --extra chroma --extra onnx"; do \
		set -e; set -- $$lock; name=$$1; shift; echo "requirements/$$name.txt"; \
		CUSTOM_COMPILE_COMMAND="make lock" $(LOCKER)/bin/python -m piptools compile --quiet --upgrade \
			--generate-hashes --all-build-deps --allow-unsafe --strip-extras "$$@" \
			--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
			--output-file "requirements/$$name.txt" pyproject.toml; \
	done

clean: ## remove build output
	@rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# A Python that was removed or upgraded leaves a .venv that no longer runs: make it anew.
$(PY):
	@set -e; python="$$(bash scripts/find-python.sh "$(PYTHON)")"; \
	echo "Setting up $(VENV) with $$("$$python" --version) (once) ..."; \
	"$$python" -m venv --clear $(VENV) || { \
		echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }

$(RUN): pyproject.toml requirements/run.txt $(PY)
	@echo "Installing what it needs to run ..."
	@$(PIP) --require-hashes --requirement requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(RUN)
	@echo "Installing what it needs to be tested ..."
	@$(PIP) --require-hashes --requirement requirements/dev.txt
	@touch $@

$(ALL): requirements/prove.txt $(DEV)
	@echo "Installing what the rest of the tests need ..."
	@$(PIP) --require-hashes --requirement requirements/prove.txt
	@touch $@

# Without these some tests would prove nothing, so no skipping. Each is a command, and the package it is in.
TOOLS := strace:strace tmux:tmux ip:iproute2 git:git chromium:chromium node:nodejs npm:npm

tools:
	@missing() { \
		packages=; \
		for tool in $(TOOLS); do \
			command -v "$${tool%:*}" > /dev/null || packages="$$packages $${tool#*:}"; \
		done; \
		[ -n "$$packages" ]; \
	}; \
	if missing && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "Installing$$packages for the tests ..."; \
		apt-get install -y -qq $$packages > /dev/null 2>&1 || { \
			apt-get update -qq > /dev/null 2>&1; apt-get install -y -qq $$packages > /dev/null 2>&1; } || true; \
	fi; \
	if missing; then \
		echo "The tests need$$packages: they kill processes at chosen system calls, run the real client in a" >&2; \
		echo "terminal, in git repositories and without a network, open the viewer in a browser, and run the editor's extension." >&2; \
		echo "Install them and run make again. On Debian or Ubuntu: sudo apt-get install$$packages" >&2; exit 1; \
	fi

# Debian's PostgreSQL, the oldest version that is supported, and PgBouncer. Their tests are skipped without them.
postgresql:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		! { ls /usr/lib/postgresql/*/bin/initdb && PATH="$$PATH:/usr/sbin" command -v pgbouncer; } > /dev/null 2>&1; then \
		echo "Installing PostgreSQL and PgBouncer for the tests ..."; \
		install() { apt-get install -y -qq --no-install-recommends "$$1" pgbouncer > /dev/null 2>&1; }; \
		install postgresql-15 || { apt-get update -qq > /dev/null 2>&1; install postgresql-15 || install postgresql; } || true; \
	fi
