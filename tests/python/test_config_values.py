"""Every configuration entry with values that are wrong: what ONNX Runtime refuses is refused here, with its code."""
import json
import os
import subprocess
import sys

import pytest
from config_entries import ROOT

KEYS = [(scope.split("(")[0], key) for scope, key, *_ in
        (line.split("\t") for line in (ROOT / "tools/abi/config_keys.tsv").read_text().splitlines()[1:])]
COMMON = ["0", "1", "2", "-1", "99", "abc", "", " 1", "1.5", "99999999999999999999"]
LAYERS = ["cpu(a)", "cpu(a", "cpu(a);", "cpu(=a,b);gpu(c)", "(a)", "cpu()", ";", " cpu ( a ) ", "cpu(a);cpu(b)"]
COUNTED = {"session.enable_moe_expert_counting": "1"}
OWN = {"optimization.minimal_build_optimizations": ["apply", "Save"],
       "session.layer_assignment_settings": LAYERS, "session.name_based_layer_assignment": LAYERS,
       "session.max_shape_override": ["x:[3]", "x:1", "x:[a]", "x:[-1]", "x:[0]", ":[3]", "x:[3];", "x:[3,]"],
       "memory.enable_memory_arena_shrinkage": [
           "cpu:0", "gpu:0", "gpu:0;cpu:0", "cpu:0;gpu:0", "cpu:0;foo:0", "cpu:1", "cpu", "CPU:0", "cpu:x",
           "cpu:0;", "npu:0"],
       "session.gqa_value_layout": ["BNSH", "BNHS", "bnsh"],
       "session.function_expansion_byte_limit": ["4294967296", "18446744073709551615", "+1"],
       "session.qdq_matmulnbits_block_size": ["16", "-5", "99999999999"],
       "session.resource_cuda_partitioning_settings": [",", "1,", "1,f,g"],
       "ep.cuda.gqa_workspace_max_total_sequence_length": ["9223372036854775807", "9223372036854775808", "+1"]}
COMBINED = [{**COUNTED, f"session.moe_expert_counter_{name}": value} for name, value in (
    ("alpha", "0.95"), ("alpha", "0.5"), ("alpha", "1e-3"), ("alpha", " 0.5"), ("beta", "abc"), ("beta", "nan"),
    ("beta", "-0.1"), ("beta", ""))] + [
    {"session.enable_moe_expert_statistics": "1", "session.moe_expert_counter_alpha": "2"},
    {"session.layer_assignment_settings": "cpu(a)", "session.name_based_layer_assignment": "cpu(a)"}]
# ONNX Runtime leaves these to std::stoi or to an assertion in a constructor: what they throw has none of its classes in
# Python, and the code RUNTIME_EXCEPTION in C.
ACCIDENTS = {"session.dynamic_block_base": "RuntimeException", "session.intra_op_thread_affinities": "InvalidArgument"}
# Values that only ONNX Runtime cannot do: its threads need another count, or its session is incomplete.
NOT_HERE = {("session.intra_op_thread_affinities", ""), ("session.compile_only", "1")}

# One process a library. Every case runs in a child, for some end the process in ONNX Runtime.
CODE = """
import importlib, json, os, sys
import numpy as np, onnx.parser
library = importlib.import_module(sys.argv[1])
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>'
                                ' g (float[3] x) => (float[3] y) { y = Neg (x) }')
model = model.SerializeToString()
def one(scope, entries):
    options, run_options = library.SessionOptions(), library.RunOptions()
    options.log_severity_level = 4
    for key, value in entries.items():
        (options.add_session_config_entry if scope == "session" else run_options.add_run_config_entry)(key, value)
    session = library.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.ones(3, np.float32)}, run_options)
results = []
for scope, entries in json.load(sys.stdin):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            one(scope, entries)
            said = "taken"
        except Exception as error:
            said = type(error).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.close(read)
    os.waitpid(child, 0)
    results.append(said or "ended")
print(json.dumps(results))
"""


def answers(library, cases, folder):
    package = os.environ["PYTHONPATH"] if library == "sardonyx" and "PYTHONPATH" in os.environ else ""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE, library], input=json.dumps(cases), text=True,
                          capture_output=True, cwd=folder, timeout=300,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(
                              str((ROOT / part).resolve()) for part in package.split(os.pathsep) if part)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    cases = [(scope, {key: value}) for scope, key in KEYS if scope in ("session", "run")
             for value in COMMON + OWN.get(key, []) if not (key.endswith("num_threads") and value == "99")]
    cases += [("session", entries) for entries in COMBINED]
    ours, theirs = (answers(library, cases, tmp_path_factory.mktemp(library))
                    for library in ("sardonyx", "onnxruntime"))
    return list(zip(cases, ours, theirs, strict=True))


def test_what_the_peer_refuses_is_refused_with_its_code(results):
    wrong = [(entries, ours, theirs) for (_, entries), ours, theirs in results
             if theirs not in ("taken", "ended") and ours != theirs
             and ours != ACCIDENTS.get(next(iter(entries)))
             and next(iter(entries.items())) not in NOT_HERE]
    assert wrong == []
    assert sum(theirs not in ("taken", "ended") for _, _, theirs in results) > 180


def test_no_value_ends_the_process(results):
    assert [entries for (_, entries), ours, _ in results if ours == "ended"] == []
    assert "ended" in [theirs for _, _, theirs in results]


def test_what_only_this_library_refuses_is_an_invalid_argument(results):
    assert {ours for _, ours, theirs in results if theirs == "taken"} == {"taken", "InvalidArgument"}
