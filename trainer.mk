# The trainer's targets, included by the Makefile. Their environments are apart from the service's: torch is large.
TRAINER_VENV ?= .venv-trainer
VLLM_VENV ?= .venv-vllm
TRAINER_ARGS ?=
export TRAINER_VENV VLLM_VENV

.PHONY: trainer-env test-trainer lint-trainer train-demo vllm-env test-vllm

trainer-env: setup ## make or refresh the trainer's environment in .venv-trainer
	@scripts/trainer_env.sh

test-trainer: trainer-env ## the trainer's tests, a short training run against the real service among them
	@VERIFIER_REQUIRE_TRAINER=1 nice $(TRAINER_VENV)/bin/python -m pytest tests/trainer $(PYTEST_ARGS)

lint-trainer: trainer-env ## mypy with torch and TRL installed
	@$(TRAINER_VENV)/bin/python -m mypy -p trainer_client

train-demo: trainer-env ## a tiny model learns arithmetic on this CPU, rewarded by the real service; TRAINER_ARGS="--task code"
	@nice $(TRAINER_VENV)/bin/trainer-client demo $(TRAINER_ARGS)

vllm-env: setup ## make or refresh the environment of the vLLM tests in .venv-vllm (CPU build)
	@scripts/vllm_env.sh

test-vllm: vllm-env ## rollouts on vLLM: colocated, and decoupled with synced weights
	@VERIFIER_REQUIRE_VLLM=1 nice $(VLLM_VENV)/bin/python -m pytest tests/vllm $(PYTEST_ARGS)
