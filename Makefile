# `make` lists what there is. Everything runs in .venv, which is made on first use (Python 3.11, 3.12 or 3.13).
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= .venv
HOST ?= $(or $(VERIFIER_HOST),127.0.0.1)
PORT ?= $(or $(VERIFIER_PORT),8000)
PYTEST_ARGS ?=
export VENV

# The trainer's targets (train-demo, test-trainer …) live beside their environment's rules.
-include trainer.mk

.PHONY: help setup serve test test-service test-languages lint format bench upgrade images clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | while IFS='|' read -r target text; do \
		printf '  make %-14s %s\n' "$$target" "$$text"; done

setup: ## make or refresh the environment in .venv
	@scripts/setup.sh

serve: setup ## serve on HOST:PORT (127.0.0.1:8000), with the best sandbox this machine has
	@exec $(VENV)/bin/verifier-service serve --host $(HOST) --port $(PORT)

test: test-service $(if $(wildcard trainer.mk),test-trainer) ## all set-up and all tests

test-service: setup ## the service's tests only; PYTEST_ARGS="-k name" picks some
	@scripts/images.sh sandboxes
	@$(VENV)/bin/python -m pytest $(PYTEST_ARGS)

test-languages: setup ## the programs of every language on the real engine, those of the profile `full` too; builds its image
	@VERIFIER_TEST_FULL_IMAGE=1 $(VENV)/bin/python -m pytest tests/integration/languages $(PYTEST_ARGS)

lint: setup ## ruff, mypy, import rules
	@scripts/lint.sh

format: setup ## let ruff format and mend the code
	@$(VENV)/bin/ruff format . && $(VENV)/bin/ruff check --fix .

bench: setup ## isolated runs against plain ones, and maths a second; BENCH_ARGS="--seconds 4"
	@$(VENV)/bin/python benchmarks/service_throughput.py $(BENCH_ARGS)

images: setup ## build the service's and the sandbox's images
	@scripts/images.sh

upgrade: ## rewrite constraints.txt with the newest versions allowed
	@scripts/upgrade.sh

clean: ## remove the environments, caches and the image's wheels
	@rm -rf .venv .venv-trainer .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	@scripts/wheelhouse.sh clean
