"""Every configuration entry that ONNX Runtime knows has the effect that is shown here, or causes one warning."""
import pathlib
import tempfile

import effects_in_c
import effects_on_contexts
import effects_on_devices
import effects_on_models
import effects_on_runs
import numpy as np
import pytest
import sardonyx
from config_entries import EFFECTS, NEG, ROOT, options_with, run_child

ROWS = [line.split("\t") for line in (ROOT / "tools/abi/config_keys.tsv").read_text().splitlines()[1:]]
KEYS = [(scope.split("(")[0], key) for scope, key, *_ in ROWS]
# Values that ask for something, where "1" would not: others are asked for "1".
VALUES = {"session.enable_cpu_mem_arena": "0", "session.enable_mem_pattern": "0", "session.enable_quant_qdq": "0",
          "session.use_per_session_threads": "0", "session.enable_dq_matmulnbits_fusion": "0",
          "session.prepack.enable_parallel": "0",
          "session.load_model_format": "ONNX", "session.save_model_format": "ORT",
          "session.use_device_allocator_for_initializers": "0",
          "session.execution_mode": "parallel", "session.graph_optimization_level": "enable_basic",
          "session.enable_profiling": "",
          "session.optimized_model_filepath": f"{tempfile.gettempdir()}/of_a_config_entry.onnx",
          "session.model_external_initializers_file_folder_path": "/",
          "optimization.minimal_build_optimizations": "apply", "session.gqa_value_layout": "BNHS",
          "session.layer_assignment_settings": "cpu(a)", "session.name_based_layer_assignment": "cpu(a)",
          "session.max_shape_override": "x:[3]", "session.resource_cuda_partitioning_settings": "1,stats.csv",
          "session.intra_op_thread_affinities": "1",
          "session.moe_expert_counter_state_file": f"{tempfile.gettempdir()}/of_moe_experts.txt",
          "ep.<lower-case ep name>.<option>": "1"}
OURS = ["sardonyx.load_timeout_ms", "sardonyx.max_load_memory", "sardonyx.max_run_memory", "sardonyx.nchwc_block_size",
        "sardonyx.precision", "sardonyx.run_timeout_ms", "sardonyx.strict_providers"]
MODULES = (effects_in_c, effects_on_contexts, effects_on_devices, effects_on_models, effects_on_runs)  # add to EFFECTS


def said_of(scope, key, capfd):
    value = VALUES.get(key, "1")
    if key == "session.moe_expert_counter_state_file":
        pathlib.Path(value).write_text("moe_expert_state 1\n")
    options, run_options = options_with(), sardonyx.RunOptions()
    options.intra_op_num_threads = 2
    if scope == "session":
        options.add_session_config_entry(key, value)
        if key.startswith("session.moe_expert_counter"):  # an error without what it belongs to
            options.add_session_config_entry("session.enable_moe_expert_counting", "1")
            options.add_session_config_entry(key, value if key.endswith("file") else "0.05")
    else:
        run_options.add_run_config_entry(key, "cpu:0" if key.startswith("memory.") else value)
    capfd.readouterr()
    session = sardonyx.InferenceSession(NEG, options)
    for _ in range(2):
        session.run(None, {"x": np.ones(3, np.float32)}, run_options)
    return [line for line in capfd.readouterr().err.splitlines() if f"'{key}'" in line]


@pytest.mark.parametrize(("scope", "key"), [(s, k) for s, k in KEYS if s in ("session", "run")])
def test_an_entry_is_honoured_or_warned_of_once(scope, key, capfd):
    if (scope, key) in EFFECTS:
        # Errors here: the CPU is named; the model has no path beside which another could be written.
        if key not in ("session.disable_cpu_ep_fallback", "ep.context_enable"):
            assert said_of(scope, key, capfd) == []
        return
    said = said_of(scope, key, capfd)
    assert len(said) == 1 and f"the {scope} configuration '{key}' is not honoured by Sardonyx: " in said[0], said
    assert "changes nothing" not in said[0], "the table knows what holds instead"


@pytest.mark.parametrize(("scope", "key"), EFFECTS, ids=lambda value: value)
def test_an_honoured_entry_has_its_effect(scope, key, tmp_path):
    EFFECTS[scope, key](tmp_path)


def test_the_list_is_whole():
    shared = ROOT.parent / "shared/abi/config_keys.tsv"
    assert not shared.exists() or shared.read_text() == (ROOT / "tools/abi/config_keys.tsv").read_text()
    assert len(KEYS) > 120
    # Set elsewhere: dynamic options go to providers from libraries; providers and models tell the others, not callers.
    assert {scope for scope, _ in KEYS} == {"session", "run", "env", "ep_dynamic", "ep_metadata", "model_metadata"}
    assert {key for scope, key in EFFECTS if (scope, key) not in KEYS and key not in OURS} == set()


def test_dynamic_options_need_a_provider_that_takes_them(capfd):
    """Without one they change nothing, as in ONNX Runtime, and a warning says so."""
    session = sardonyx.InferenceSession(NEG)
    for key in (key for scope, key in KEYS if scope == "ep_dynamic"):
        session.set_ep_dynamic_options({key: "Default"})
        assert "no provider of this session takes any option; nothing was set" in capfd.readouterr().err, key


ENVIRONMENT = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
from test_from_python import Api, out
class Options(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("severity", ctypes.c_int32), ("id", ctypes.c_char_p),
                ("function", ctypes.c_void_p), ("parameter", ctypes.c_void_p), ("threads", ctypes.c_void_p),
                ("entries", ctypes.c_void_p)]
said = []
Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_char_p] * 4)
log = Log(lambda _, severity, category, logid, place, message: said.append(message.decode()))
api, entries, env = Api(), out(), out()
api.function("CreateKeyValuePairs", None)(ctypes.byref(entries), *[None] * 7)
for key in sys.argv[2:]:
    api.function("AddKeyValuePair", None)(entries, key.encode(), b"1", *[None] * 5)
options = Options(31, 2, b"test", ctypes.cast(log, ctypes.c_void_p), None, None, entries)
for _ in range(2):
    api.CreateEnvWithOptions(ctypes.byref(options), ctypes.byref(env))
print(json.dumps(said))
"""


def test_entries_of_an_environment_are_warned_of_once():
    keys = [key for scope, key in KEYS if scope == "env"]
    said = run_child(ENVIRONMENT, str(ROOT / "tests/capi"), *keys, "no_such_key")
    for key in (*keys, "no_such_key"):
        text = f"the environment configuration '{key}' is not honoured"
        assert [text in line for line in said].count(True) == 1, said


def test_a_session_without_a_memory_pattern_says_that_memory_is_planned_all_the_same(capfd):
    options = options_with()
    options.enable_mem_pattern = False
    session = sardonyx.InferenceSession(NEG, options)
    for _ in range(2):
        session.run(None, {"x": np.ones(3, np.float32)})
    assert capfd.readouterr().err.count("memory pattern") == 1


def test_a_session_without_an_arena_keeps_no_memory_between_runs():
    assert effects_on_runs.kept_memory() > 12, "with one it waits for the next run"
    assert effects_on_runs.kept_memory("arena") < 4
