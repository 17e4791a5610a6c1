"""Each configuration entry of sessions and runs changes the same things in both libraries, or this one warns of it, or
a table says why not; each library in a process of its own."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROWS = [line.split("\t") for line in (HERE.parents[1] / "tools/abi/config_keys.tsv").read_text().splitlines()[1:]]
# Values that ask for something. Others are asked for "1".
VALUES = {
    "session.load_model_format": ["ONNX", "ORT"], "session.save_model_format": ["ONNX", "ORT"],
    "session.enable_mem_pattern": ["0"], "session.enable_cpu_mem_arena": ["0"],
    "session.use_per_session_threads": ["0"], "session.enable_dq_matmulnbits_fusion": ["0", "1"],
    "session.execution_mode": ["parallel", "sequential"],
    "session.graph_optimization_level": ["disable_all", "enable_basic", "enable_all"],
    "session.enable_profiling": ["prof", ""], "session.optimized_model_filepath": ["other.onnx"],
    "session.model_external_initializers_file_folder_path": ["data"],
    "session.optimized_model_external_initializers_file_name": ["weights.bin"],
    "session.intra_op_num_threads": ["1", "3"], "session.inter_op_num_threads": ["1", "2"],
    "session.intra_op_thread_affinities": ["1"], "session.log_id": ["me"], "session.log_severity_level": ["3", "4"],
    "optimization.disable_specified_optimizers": ["EliminateIdentity", "ConstantFolding"],
    "optimization.constant_folding_max_output_size_in_bytes": ["1", "1000000"],
    "optimization.minimal_build_optimizations": ["apply"],
    "session.graph_optimizations_loop_level": ["0", "1", "2"],
    "session.function_expansion_node_limit": ["1", "1000"], "session.function_expansion_byte_limit": ["1", "100000"],
    "session.gqa_value_layout": ["BNSH"], "session.qdq_matmulnbits_accuracy_level": ["0", "4"],
    "session.layer_assignment_settings": ["cpu(a)"], "session.name_based_layer_assignment": ["cpu(a)"],
    "session.max_shape_override": ["x:[3]"], "session.resource_cuda_partitioning_settings": ["1,stats.csv"],
    "session.collect_node_memory_stats_to_file": ["memory.csv"],
    "ep.<lower-case ep name>.<option>": ["1"], "memory.enable_memory_arena_shrinkage": ["cpu:0", "cpu:1"],
    "gpu_graph_id": ["-1", "1"]}
CASES = [(scope, {key: value}) for scope, key, *_ in ROWS if scope in ("session", "run")
         for value in VALUES.get(key, ["1"])]
CASES += [("session", {"session.optimized_model_external_initializers_file_name": "weights.bin",
                       "session.optimized_model_external_initializers_min_size_in_bytes": size})
          for size in ("1", "100000")]
# What differs, and why.
OURS = "an option given as a key, which ONNX Runtime 1.31.1 does not read"
SEVERAL_PAIRS = "ONNX Runtime joins pairs of other scales into one, which changes results; here each keeps its rounding"
KNOWN = {
    "session.disable_double_qdq_remover=1": SEVERAL_PAIRS,
    "session.model_external_initializers_file_folder_path=data":
        "here the saved model holds the weights; ONNX Runtime's names a file that is not beside it",
    "session.optimized_model_external_initializers_file_name=weights.bin "
    "session.optimized_model_external_initializers_min_size_in_bytes=1":
        "here the scales are parts of a fused node, so no weight is left to be put outside",
    "session.intra_op_num_threads=3": OURS, "session.enable_profiling=prof": OURS,
    "session.graph_optimization_level=disable_all": OURS, "session.graph_optimization_level=enable_basic": OURS,
    "session.optimized_model_filepath=other.onnx": OURS, "session.execution_mode=parallel": OURS,
    "session.use_per_session_threads=0": OURS}
KNOWN_WITHOUT_ENTRIES = {"two pairs: results": SEVERAL_PAIRS}


def told_by(library, folder):
    package = os.environ.get("PYTHONPATH", "") if library == "sardonyx" else ""
    paths = os.pathsep.join(str((HERE.parents[1] / part).resolve()) for part in package.split(os.pathsep) if part)
    done = subprocess.run([sys.executable, "-W", "ignore", HERE / "effects_in_both.py", library],
                          input=json.dumps(CASES), text=True, capture_output=True, cwd=folder, timeout=550,
                          env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return [told_by(library, tmp_path_factory.mktemp(library)) for library in ("sardonyx", "onnxruntime")]


def is_warned_of(key, said):
    """By the one warning that says what happens instead."""
    return re.search(re.escape(key) + r"\b.*(not honoured|has no effect)", said) is not None


def test_without_entries_both_do_the_same(both):
    ours, theirs = (told["plain"] for told in both)
    different = {key: (ours.get(key), theirs.get(key)) for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)}
    assert different.keys() == KNOWN_WITHOUT_ENTRIES.keys(), different


def test_entries_change_the_same(both):
    different = {}
    for (_, entries), (ours, said), (theirs, _) in zip(CASES, *(told["told"] for told in both), strict=True):
        text = " ".join(f"{key}={value}" for key, value in entries.items())
        if ours != theirs and not is_warned_of(next(iter(entries)), said):
            different[text] = (ours, theirs)
    assert different.keys() == KNOWN.keys(), different
