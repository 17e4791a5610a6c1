# Makefile - the commands of a working day; each says what it does in `make help`.
#
# The work is CMake's, Ninja's and the scripts' in tools/: this file only names it.
PYTHON ?= python3
BUILD := build/release
CONFIGURE := cmake -S . -G Ninja
PHASE := $(PYTHON) tools/phases.py

.DEFAULT_GOAL := help
.PHONY: help setup build check test test-zoo fuzz bench soak load wheel lint demo clean format

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup:  ## install what is missing: system packages, .venv, .venv-test (says what first)
	@$(PHASE) setup $(PYTHON) tools/setup.py

build: setup  ## build library, command line tool, Python package and tests into build/release
	@$(PHASE) configure $(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@$(PHASE) build ninja -C $(BUILD)

check:  ## build and run the unit tests beside one file: OF=src/ops/math/softmax.cpp (seconds, once the rest is built)
	@ninja -C $(BUILD) unit_tests | tail -1
	@$(PYTHON) tools/family_tests.py "$(OF)"

test: build  ## build and run all tests; the last line counts passed, failed, skipped
	@.venv-test/bin/python tools/run_tests.py $(TESTFLAGS)

test-zoo: build  ## all models of ../shared/zoo against ONNX Runtime (7.7 GB of weights); MODELS='names families globs'
	@set -f; .venv-test/bin/python tests/zoo/run_zoo.py $(MODELS) $(TESTFLAGS)

fuzz: setup  ## fuzz with sanitizers; SECONDS=3600 or RUNS=200000 for each target, TARGETS='load text optimizer model'
	@.venv-test/bin/python tools/fuzz.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(RUNS),--runs $(RUNS)) $(TARGETS)

bench: setup  ## compare speed with ONNX Runtime; MODELS='names families globs' or all, THREADS='1 2'
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python peak
	@set -f; .venv-test/bin/python -W ignore benchmarks/bench.py $(MODELS) $(if $(THREADS),--threads $(THREADS)) $(BENCHFLAGS)

soak: build  ## mix models, shapes, threads, cancels, bad inputs and session churn; MINUTES=30
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore tests/soak/soak.py --minutes $(or $(MINUTES),30)

load: build  ## measure threads and memory under load beside ONNX Runtime; FIGURES='throughput spaced idle ...'
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore benchmarks/load.py $(FIGURES)

wheel: build  ## make a Python wheel in build/dist
	@$(PYTHON) tools/wheel.py

lint: setup  ## check format, layers and symbols; clang-tidy on changed files; ruff
	@.venv-test/bin/python tools/lint.py

format: setup  ## rewrite the sources as clang-format and ruff would have them
	@.venv-test/bin/python tools/lint.py --fix

demo:  ## run real models; TEXT='what to draw and read' FILES='files to identify'
	@$(PYTHON) tools/setup.py --no-tests
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python
	@.venv/bin/python demo/demo.py $${TEXT:+--text "$$TEXT"} $$FILES

clean:  ## remove what was built (not the virtual environments)
	rm -rf build
