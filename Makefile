# Everything runs in one virtual environment, made from requirements.txt on first use.
# Needs Python 3.11 or newer and make. Another place for the environment: make test VENV=elsewhere

PYTHON ?= python3
VENV ?= .venv
# Flags for pytest: by default a worker for every core, each of which keeps to neighbouring modules.
PYTEST_FLAGS ?= -n auto --dist worksteal

BIN := $(VENV)/bin
PIP_IN := python -m pip --disable-pip-version-check --quiet
PIP := $(BIN)/$(PIP_IN)
# The adapter to Flower, and the environment of its tests.
ADAPTER := contrib/flower
FLOWER := $(VENV)-flower
# Stamps: the setup runs again only when what it was made from changes.
DEPENDENCIES := $(VENV)/.dependencies-installed
READY := $(VENV)/.nolook-installed

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-emit-package nolook --no-header --no-annotate

DEMO_TABLE := examples/data/diamonds.parquet

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-federated test test-slow test-all test-flower test-audits test-install papers audit check lint rooms format types layers proofs words pages older docs changelog lock clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST)

$(DEPENDENCIES): requirements.txt
	@echo "Setting up $(VENV); this takes a few minutes the first time."
	@$(PYTHON) -c 'import sys; sys.exit("nolook needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements.txt
	@touch $@

$(READY): $(DEPENDENCIES) pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

setup: $(READY) ## Make the virtual environment

demo: $(READY) ## Fit a private linear model of the diamonds table
	@mkdir -p demo
	$(BIN)/nolook fit $(DEMO_TABLE) --target log_price --features x,cut,color,clarity \
		--categories "cut=Ideal,Premium,Very Good,Good,Fair" --categories color=G,D,E,F,H,I,J \
		--categories clarity=SI1,IF,VVS1,VVS2,VS1,VS2,SI2,I1 --epsilon 1 --delta 1e-6 \
		--output demo/diamonds.model.json --report demo/diamonds.html --force

demo-federated: $(READY) ## Draw an ROC curve of scores that never leave their owners, one of whom cheats
	@mkdir -p demo
	@rm -rf demo/federated
	$(BIN)/python examples/federated.py demo/federated

test: $(READY) ## Run the tests of every module in a few minutes
	@$(BIN)/python -m pytest -m "not slow and not papers and not wallclock" $(PYTEST_FLAGS)

# What measures time runs by itself.
test-slow: $(READY) ## Run the tests that `make test` leaves out
	@$(BIN)/python -m pytest -m "(slow or papers) and not wallclock" $(PYTEST_FLAGS)
	@$(BIN)/python -m pytest -m wallclock $(PYTEST_FLAGS) -n 0

test-all: test test-slow ## Run every test

# Flower holds other packages at old versions: its tests have an environment of their own.
test-flower: $(FLOWER)/.nolook-installed ## Run the tests of secure sums by Flower
	@FLWR_TELEMETRY_ENABLED=0 RAY_USAGE_STATS_ENABLED=0 timeout 600 \
		$(FLOWER)/bin/python -m pytest -W ignore -m "not wallclock" --durations=5 $(ADAPTER)/tests tests/test_cli.py tests/test_cli_plug_ins.py

$(FLOWER)/.dependencies-installed: $(ADAPTER)/requirements.txt
	@echo "Setting up $(FLOWER)."
	@test -x $(FLOWER)/bin/python || $(PYTHON) -m venv $(FLOWER)
	@$(FLOWER)/bin/$(PIP_IN) install --require-hashes -r $(ADAPTER)/requirements.txt
	@touch $@

$(FLOWER)/.nolook-installed: $(FLOWER)/.dependencies-installed pyproject.toml $(ADAPTER)/pyproject.toml
	@$(FLOWER)/bin/$(PIP_IN) install --no-deps --no-build-isolation -e . -e $(ADAPTER)
	@touch $@

# Auditors that are not on the package index are tried if they are installed.
test-audits: $(READY) ## Check costs against other accountants, and releases by auditors that are installed
	@$(BIN)/python -m pytest -W ignore -n 0 --durations=3 contrib/audits

# Default: all Pythons from 3.11 on that are found.
PYTHONS ?=
test-install: $(READY) ## Install nolook into empty environments and run the examples of README and of all pages there
	@$(BIN)/python scripts/check_install.py --pages $(PYTHONS)

# Each paper's trials, figures and page; a run that was stopped goes on.
PAPERS := amin2023 dick2023 swope2024 barczewski2024

papers: $(READY) ## Make the tables and figures of the papers again (half an hour on two cores)
	@for paper in $(PAPERS); do $(BIN)/python -m papers.$$paper || exit 1; done

audit: $(READY) ## Attack guarantees, ledgers and readers at length (hours)
	@$(BIN)/nolook audit all --output docs/audit.md
	@NOLOOK_LONG=1 $(BIN)/python -m pytest -n auto tests/privacy/test_ledger_faults.py tests/hostile

check: lint rooms types layers proofs words pages older ## Everything the continuous integration checks but the tests

lint: $(READY) ## Check style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

rooms: $(READY) ## Count the code of each room, next to its budget
	@$(BIN)/python scripts/code_lines.py

format: $(READY) ## Rewrite the source in the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(READY) ## Check types
	@$(BIN)/mypy

layers: $(READY) ## Check that imports go one way
	@$(BIN)/lint-imports

proofs: $(READY) ## Check that every proof is of the source beside it
	@$(BIN)/python scripts/check_proofs.py

words: $(READY) ## Check that messages, help and pages have no new wording that readers stumble over
	@$(BIN)/python -m scripts.check_words

pages: $(READY) ## Check that pages have the numbers, tables, code and help of today (scripts/pages.py writes them)
	@$(BIN)/python -m scripts.pages --check

older: $(READY) ## List the pages of benchmarks and the trials of papers that are older than the code they measure
	@$(BIN)/python -m scripts.older

docs: $(READY) ## Make the pages of the site, in docs/_build/html; every example runs
	@$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet -b html \
		-d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

changelog: $(READY) ## Show what the fragments add to the changelog
	@$(BIN)/towncrier build --draft

lock: $(READY) ## Renew the pinned requirements, those of Flower's adapter too
	@$(LOCK) pyproject.toml --extra app --extra databases --extra federated --extra files --extra pandas --extra plot --extra polars --extra spark --group dev \
		--output-file requirements.txt
	@$(LOCK) $(ADAPTER)/pyproject.toml --group $(ADAPTER)/pyproject.toml:test \
		--output-file $(ADAPTER)/requirements.txt

clean: ## Remove what was made, the environment too
	@rm -rf $(VENV) $(FLOWER) .venv-comparison-* build dist demo docs/_build docs/api docs/gallery docs/gathered
	@rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src papers contrib tests scripts benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
