# Hedgerow's commands. `make` alone prints them.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# one BLAS thread: our kernels are the parallel part, and two pools of threads stall each other
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE
export OPENBLAS_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# services and tests start hundreds of processes: each module is compiled once, whatever the user's setting
export PYTHONDONTWRITEBYTECODE =

.PHONY: help install install-dev demo serve test test-all simulate chaos fuzz soak check lint-openapi format bench bench-quality openapi \
	openapi-examples openapi-tools deploy-tools clients docs site lock dist sbom clean checked-and-compiled compiled

help:  ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hedgerow needs Python 3.11 or newer; set PYTHON=python3.12, say"; exit 1; }
	@echo "installing into .venv (the first time takes about half a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -qq --require-hashes -r requirements.lock
	$(BIN)/pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

.venv/installed-dev: requirements-dev.lock .venv/installed
	$(BIN)/pip install -qq --require-hashes -r requirements-dev.lock
	@touch $@

.venv/installed-bench: bench/requirements.lock .venv/installed-dev
	$(BIN)/pip install -qq --require-hashes -r bench/requirements.lock
	@touch $@

.venv/installed-site: website/requirements.lock .venv/installed-dev
	$(BIN)/pip install -qq --require-hashes -r website/requirements.lock
	@touch $@

install: .venv/installed  ## make .venv with what the service needs
install-dev: .venv/installed-dev  ## the same and the tools of `make check` and `make test`

demo: .venv/installed  ## the whole service with a sample world streaming into it
	$(BIN)/hedgerow demo

serve: .venv/installed  ## the whole service, empty
	$(BIN)/hedgerow serve

# more workers than processors: tests that start a service mostly wait for it
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
test: checked-and-compiled  ## lint, types, contracts and tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow"

test-all: checked-and-compiled  ## everything, the long tests too
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

# side by side: each of them is busy with one processor for about a minute
checked-and-compiled: .venv/installed-dev .venv/installed-site openapi-tools deploy-tools
	$(MAKE) --no-print-directory -j2 check compiled

compiled: .venv/installed-dev
	$(BIN)/hedgerow doctor --compile

SEEDS ?= 1000
simulate: .venv/installed-dev  ## run SEEDS seeds of the simulator (1000), from FIRST on (1)
	$(BIN)/python -m tests.simulator --seeds $(SEEDS) --first $(or $(FIRST),1)

SCHEDULES ?= 20
chaos: .venv/installed-dev  ## run SCHEDULES schedules of faults (20) against real processes, from SEED on (1)
	$(BIN)/python -m tests.chaos --schedules $(SCHEDULES) --seed $(or $(SEED),1)

soak: .venv/installed-bench  ## 30 minutes of load: errors, memory, descriptors, overload
	$(BIN)/python -m bench.soak

fuzz: .venv/installed-dev  ## 100 000 damaged inputs for each parser
	$(BIN)/python -m tests.fuzz

check: .venv/installed-dev lint-openapi  ## lint, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# what checks the OpenAPI document from outside; without node its lint and the TypeScript client are skipped
TOOLS := openapi/tools
HAS_NODE := $(shell command -v node >/dev/null && command -v npm)
$(TOOLS)/node_modules/installed: $(TOOLS)/package-lock.json
	npm ci --silent --prefix $(TOOLS)
	@touch $@

$(TOOLS)/.venv/installed: $(TOOLS)/requirements.lock
	@test -x $(TOOLS)/.venv/bin/python || $(PYTHON) -m venv $(TOOLS)/.venv
	$(TOOLS)/.venv/bin/pip install -qq --require-hashes -r $(TOOLS)/requirements.lock
	@touch $@

openapi-tools: $(TOOLS)/.venv/installed $(if $(HAS_NODE),$(TOOLS)/node_modules/installed)

# what checks the release and the files of deploy/; tests skip what it misses
DEPLOY_TOOLS := deploy/tools
$(DEPLOY_TOOLS)/.venv/installed: $(DEPLOY_TOOLS)/requirements.lock
	@test -x $(DEPLOY_TOOLS)/.venv/bin/python || $(PYTHON) -m venv $(DEPLOY_TOOLS)/.venv
	$(DEPLOY_TOOLS)/.venv/bin/pip install -qq --require-hashes -r $(DEPLOY_TOOLS)/requirements.lock
	@touch $@

deploy-tools: $(DEPLOY_TOOLS)/.venv/installed

lint-openapi: $(if $(HAS_NODE),$(TOOLS)/node_modules/installed)
ifdef HAS_NODE
	$(TOOLS)/node_modules/.bin/spectral lint --quiet --fail-severity=hint --ruleset $(TOOLS)/spectral.yaml openapi/openapi.json
else
	@echo "openapi/openapi.json is not linted: that needs node and npm"
endif

format: .venv/installed-dev  ## let ruff put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# each one is `python -m bench.WORDS`; bench/README.md says what it measures and how long it takes
SPEED = "speed" "ranking --only warm,target,large,rate,memory,busy,linear" "slates" "batch" "slates_under_training" \
	"freshness" "retrain" "snapshots"
# FULL=1: all splits, every setting, the whole grid of the rivals; what is in the tables is not computed again
SHORT = "ranking --only quality,stated" "one_class losses --settings 2 --splits 2" "one_class graph --settings 2 --splits 2"
LONG = "ranking --only quality,stated,best --full --table bench/tables/ranking.csv" \
	"one_class losses --settings 20 --table bench/tables/one_class_losses.md" \
	"one_class graph --settings 15 --table bench/tables/one_class_graph.md"
QUALITY = "quality" "whole_loop" "whole_loop_served" "new_items" "content" "words" "texts" "next_item" "labels" "one_class labels" "ordinal" "cold_service" $(if $(FULL),$(LONG),$(SHORT))
run_all = @failed=0; for words in $(1); do $(BIN)/python -m bench.$$words || failed=1; done; exit $$failed
bench: .venv/installed-bench  ## speed: kernels, fits and the service, ratios in one run
	$(call run_all,$(SPEED))

bench-quality: .venv/installed-bench  ## quality on the data sets in ../shared/data, FULL=1 for hours of it
	$(call run_all,$(QUALITY))

openapi: .venv/installed  ## write openapi/openapi.json anew
	$(BIN)/hedgerow openapi > openapi/openapi.json

openapi-examples: .venv/installed-dev  ## receive the examples of the document anew, from running services
	$(BIN)/python -m tests.openapi.recording
	$(MAKE) openapi

clients: .venv/installed-dev  ## write what of the clients follows from openapi/openapi.json anew
	$(BIN)/python -m clients.generator

docs: .venv/installed  ## write docs/reference/settings.md, metrics.md and the tables of gorse.md and errors.md anew
	$(BIN)/hedgerow doctor --settings-reference > docs/reference/settings.md
	$(BIN)/hedgerow doctor --metrics-reference > docs/reference/metrics.md
	$(BIN)/python -m service.api.gorse.reference docs/reference/gorse.md
	$(BIN)/python -m service.http.pages.error_reference docs/reference/errors.md

site: .venv/installed-site  ## the documentation as a site of plain files, in build/site
	$(BIN)/python -m website.build

# `--universal` resolves for every platform and Python from 3.11 on; no index address ends up in the files
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --python-version 3.11
lock: .venv/installed-dev  ## resolve the lock files anew
	$(LOCK) pyproject.toml --extra build --extra nats -o requirements.lock
	$(LOCK) pyproject.toml --extra build --extra nats --extra dev -c requirements.lock -o requirements-dev.lock
	$(LOCK) pyproject.toml --extra bench -c requirements-dev.lock -o bench/requirements.lock
	$(LOCK) pyproject.toml --extra site -c requirements-dev.lock -o website/requirements.lock
	$(LOCK) $(TOOLS)/requirements.in -o $(TOOLS)/requirements.lock
	$(LOCK) $(DEPLOY_TOOLS)/requirements.in -o $(DEPLOY_TOOLS)/requirements.lock

# the wheel is built from the source distribution, so nothing that lies about here gets into it
DIST ?= dist
dist: .venv/installed-dev  ## build wheel and source distribution into dist/
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir $(DIST) .

# an environment that has what the lock file and the wheel bring, and nothing else
CLEAN ?= build/clean
sbom: dist deploy-tools  ## the same, and a list of all that is installed with it (CycloneDX)
	$(PYTHON) -m venv --clear --without-pip $(CLEAN)
	$(BIN)/pip --python $(CLEAN) install -qq --require-hashes -r requirements.lock
	$(BIN)/pip --python $(CLEAN) install -qq --no-deps $(DIST)/hedgerow-*.whl
	$(BIN)/pip --python $(CLEAN) check
	$(DEPLOY_TOOLS)/.venv/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file $(DIST)/hedgerow.cdx.json $(CLEAN)/bin/python

clean:  ## remove what the commands above made
	rm -rf .venv $(TOOLS)/.venv $(TOOLS)/node_modules $(DEPLOY_TOOLS)/.venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
