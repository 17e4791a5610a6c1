# Makefile - the commands for everyday work; `make help` lists them.
#
# CMake, Ninja and the scripts in tools/ do the work: this file only gives it names.
PYTHON ?= python3
BUILD := build/release
CONFIGURE := cmake -S . -G Ninja $(if $(SDX_JOINED_TESTS),-DSDX_JOINED_TESTS=$(SDX_JOINED_TESTS))
PHASE := $(PYTHON) tools/phases.py

.DEFAULT_GOAL := help
.PHONY: help setup build check test test-zoo test-clients test-watched test-valgrind fuzz bench soak load wheel lint demo clean format bench-compare bench-exports bench-growth bench-llm bench-ops fuzz-ops fuzz-ops-sanitized

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup:  ## install what is missing: system packages, .venv, .venv-test (lists it first)
	@$(PHASE) setup $(PYTHON) tools/setup.py

build: setup  ## build the library, the command line tool, the Python package and the tests in build/release
	@$(PHASE) configure $(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@$(PHASE) build ninja -C $(BUILD)

check:  ## run the unit tests beside one file: OF=src/ops/math/softmax.cpp (takes seconds after a build)
	@ninja -C $(BUILD) unit_tests | tail -1
	@$(PYTHON) tools/family_tests.py "$(OF)"

test: build  ## build and run all tests; the last line counts passed, failed and skipped ones
	@.venv-test/bin/python tools/run_tests.py $(TESTFLAGS)

test-zoo: build  ## compare all models of ../shared/zoo with ONNX Runtime (7.7 GB); MODELS='names families globs'
	@set -f; .venv-test/bin/python tests/zoo/run_zoo.py $(MODELS) $(TESTFLAGS)

test-clients: build  ## run released programs for ONNX Runtime on this build; CLIENTS='node java ...'
	@.venv-test/bin/python tests/clients/run.py $(CLIENTS)

test-watched: build  ## test the C interface, with good and bad arguments, under address and undefined-behaviour sanitizers
	@.venv-test/bin/python tools/watched_interface.py

test-valgrind: build  ## run the programs of the C interface's tests under valgrind (10 minutes; valgrind must be installed)
	@.venv-test/bin/python tools/valgrind_interface.py

fuzz: setup  ## fuzz with sanitizers; SECONDS=3600 or RUNS=200000 for each target, TARGETS='load text optimizer model'
	@.venv-test/bin/python tools/fuzz.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(RUNS),--runs $(RUNS)) $(TARGETS)

fuzz-ops: build  ## compare random operators and chains with onnx.reference and ONNX Runtime; SECONDS=3600, SEED=1, OPERATORS='Conv,Pad'
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore tests/differential/compare_runtimes.py --seed $(or $(SEED),1) \
		--seconds $(or $(SECONDS),3600) --operators '$(OPERATORS)' --findings $(BUILD)/fuzz-ops --jobs $(or $(JOBS),1)

fuzz-ops-sanitized: build  ## the same under address and undefined-behaviour sanitizers, vector code included
	@.venv-test/bin/python -W ignore tests/bad_models/sanitized.py --script tests/differential/compare_runtimes.py \
		--seed $(or $(SEED),1) --seconds $(or $(SECONDS),3600) --operators '$(OPERATORS)' --jobs $(or $(JOBS),1)

bench: setup  ## compare the speed of models with ONNX Runtime and OpenVINO; MODELS='names families globs' or all, THREADS='1 2'
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python peak
	@set -f; .venv-test/bin/python -W ignore benchmarks/bench.py $(MODELS) $(if $(THREADS),--threads $(THREADS)) $(BENCHFLAGS)

bench-compare: setup  ## compare the speed of this tree with a revision that it builds; BASE=HEAD~1 MODELS='resnet50'
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python
	@set -f; .venv-test/bin/python -W ignore benchmarks/compare_revisions.py $(or $(BASE),HEAD) $(MODELS) $(BENCHFLAGS)

bench-exports: setup  ## compare the speed of networks that no kernel was tuned on, exported from torch once; THREADS=2
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python peak
	@.venv-test/bin/python benchmarks/exports.py
	@set -f; .venv-test/bin/python -W ignore benchmarks/bench.py $(or $(MODELS),exports) $(if $(THREADS),--threads $(THREADS)) $(BENCHFLAGS)

bench-growth: setup  ## measure how time and memory grow with batch, length, nodes and shapes, beside ONNX Runtime; CURVES='chain wide'
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python
	@set -f; .venv-test/bin/python -W ignore benchmarks/growth.py $(CURVES) $(BENCHFLAGS)

bench-llm: setup  ## compare language models with llama.cpp (built once) and ONNX Runtime; MODELS='135m 1b', BENCHFLAGS='--bits 4-bit'
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python peak
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore benchmarks/llm.py $(if $(MODELS),--models '$(MODELS)') $(BENCHFLAGS)

bench-ops: build  ## compare each operator by itself with ONNX Runtime; BENCHFLAGS='--only Conv --threads 1'
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore benchmarks/operators.py $(BENCHFLAGS)

soak: build  ## run a long mix of models, shapes, threads, cancelled runs and wrong inputs; MINUTES=30
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore tests/soak/soak.py --minutes $(or $(MINUTES),30)

load: build  ## measure threads and memory under load beside ONNX Runtime; FIGURES='throughput spaced idle ...'
	@PYTHONPATH=$(BUILD)/python .venv-test/bin/python -W ignore benchmarks/load.py $(FIGURES)

wheel: build  ## build the Python wheels sardonyx and onnxruntime in build/dist
	@$(PYTHON) tools/wheel.py

lint: setup  ## check format, layers and symbols; run clang-tidy on changed files, and ruff
	@.venv-test/bin/python tools/lint.py

format: setup  ## format the sources with clang-format and ruff
	@.venv-test/bin/python tools/lint.py --fix

demo:  ## run real models on real input; TEXT='text to draw and read', FILES='files to identify'
	@$(PYTHON) tools/setup.py --no-tests
	@$(CONFIGURE) -B $(BUILD) --log-level=NOTICE
	@ninja -C $(BUILD) sardonyx_python
	@.venv/bin/python demo/demo.py $${TEXT:+--text "$$TEXT"} $$FILES

clean:  ## remove everything that was built, but not the virtual environments
	rm -rf build
