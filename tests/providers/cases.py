"""Cases that run with the library that contains two test providers; test_providers.py runs each in its own process.

usage: LD_PRELOAD=.../lib/test_providers/libsardonyx.so python cases.py CASE FOLDER
"""
import json
import logging
import pathlib
import sys
import warnings

import numpy as np
import onnx.parser
import sardonyx

CPU = "CPUExecutionProvider"
SELECTIVE = "SelectiveTestExecutionProvider"
DEVICE = "DeviceTestExecutionProvider"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

CHAIN = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> {
  a = MatMul (x, w)
  b = Relu (a)
  c = Tanh (b)
  y = Add (c, b)
}"""
LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
g (int64 n, float[2, 4] x) => (float[2, 4] y) {
  s = Sigmoid (x)
  y = Loop (n, , x) <body = turn (int64 i, bool go, float[2, 4] v) => (bool on, float[2, 4] r) {
    on = Identity (go)
    t = Mul (v, s)
    u = Tanh (t)
    r = Add (u, s)
  }>
}"""
BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[2, 4] x) => (float[2, 4] y) {
  s = Relu (x)
  y = If (c) <then_branch = yes () => (float[2, 4] p) { p = Mul (s, s) },
              else_branch = no () => (float[2, 4] q) { t = Tanh (s)  q = Add (t, x) }>
}"""


def session(text, providers, options=None):
    return sardonyx.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options, providers=providers)


def rows_of(session, op_type):
    return [row for row in session.placement() if row["op_type"] == op_type]


def provider_of(session, op_type):
    (row,) = rows_of(session, op_type)
    return row["provider"]


def same_as_cpu(text, providers, **feed):
    want = session(text, None).run(None, feed)
    got = session(text, providers)
    for _ in range(3):
        for a, b in zip(got.run(None, feed), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return got


def config(**entries):
    options = sardonyx.SessionOptions()
    for key, value in entries.items():
        options.add_session_config_entry("session." + key, value)
    return options


def refused(call, *words):
    try:
        call()
    except Exception as error:  # noqa: BLE001  (its text is what is tested)
        assert all(word in str(error) for word in words), str(error)
        return
    raise AssertionError("expected an error, found none")


def names_are_known(_):
    assert sardonyx.get_available_providers() == [SELECTIVE, DEVICE, CPU]


def takes_some_operators_and_says_why_not_the_others(_):
    made = same_as_cpu(CHAIN, [SELECTIVE], x=X)
    assert made.get_providers() == [SELECTIVE, CPU]
    assert provider_of(made, "MatMul") == SELECTIVE and provider_of(made, "Tanh") == CPU
    (tanh,) = rows_of(made, "Tanh")
    assert tanh["reason"] == f"{SELECTIVE}: operator Tanh is not on its list"
    assert tanh["bytes_copied"] == 0 and tanh["domain"] == ""
    assert all(row.keys() - {"members"} == {"node", "value", "domain", "op_type", "provider", "reason", "bytes_copied"}
               for row in made.placement())


def the_users_order_decides(_):
    only_relu = {"operators": "Relu"}
    made = same_as_cpu(CHAIN, [(DEVICE, only_relu), SELECTIVE, CPU], x=X)
    assert provider_of(made, "Relu") == DEVICE and provider_of(made, "MatMul") == SELECTIVE
    assert made.get_providers() == [DEVICE, SELECTIVE, CPU]
    made = same_as_cpu(CHAIN, [SELECTIVE, (DEVICE, only_relu)], x=X)
    assert provider_of(made, "Relu") == SELECTIVE
    assert {row["provider"] for row in session(CHAIN, [CPU, SELECTIVE]).placement()} == {CPU}


def groups_are_the_largest_without_a_cycle(_):
    made = same_as_cpu(CHAIN, [(SELECTIVE, {"fuse": "1"})], x=X)
    # Add reads b and, through Tanh, b again: with MatMul and Relu it would wait for itself.
    assert [row["provider"] for row in made.placement()] == [SELECTIVE, CPU, SELECTIVE]
    assert "2 nodes compiled into one" in made.placement()[0]["reason"]


IMAGES = """
<ir_version: 8, opset_import: ["" : OPSET]>
g (float[1, 2, H, 5] x) => (float[1, 3, H2, 5] y, float[1, 3, H2, 5] r)
<float[3, 2, 3, 3] w = {WEIGHTS}, float[3] b = {1, 2, 3}> {
  c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
  r = Relu (c)
  m = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (r)
  s = Add (m, r)
  t = Sigmoid (s)
  y = AveragePool <kernel_shape = [1, 1]> (t)
}""".replace("WEIGHTS", ", ".join(str((k * 7) % 11 - 5) for k in range(54)))


def images_lie_as_the_provider_wants_them(_):
    feed = {"x": np.linspace(-1, 1, 40, dtype=np.float32).reshape(1, 2, 4, 5)}
    last = (SELECTIVE, {"operators": "Conv,Relu,MaxPool,Add,AveragePool", "channels_last": "1"})
    for opset in (11, 17, 22):
        text = IMAGES.replace("OPSET", str(opset))
        made = same_as_cpu(text, [last], **feed)
        domains = {row["op_type"]: row["domain"] for row in made.placement() if row["provider"] == SELECTIVE}
        assert domains == {"Conv": "com.ms.internal.nhwc", "MaxPool": "com.ms.internal.nhwc",
                           "AveragePool": "com.ms.internal.nhwc", "Relu": "", "Add": ""}, domains
        operators = [row["op_type"] for row in made.placement()]
        assert operators[:5] == ["Transpose", "Conv", "Relu", "MaxPool", "Add"], operators
        # In at x, out at r and y; around Sigmoid none where the CPU may change its own nodes' layout.
        assert operators.count("Transpose") == 3, operators
        first = same_as_cpu(text, [(SELECTIVE, {"operators": "Conv,Relu,MaxPool,Add,AveragePool"})], **feed)
        assert not rows_of(first, "Transpose") and all(row["domain"] != "com.ms.internal.nhwc"
                                                       for row in first.placement() if row["provider"] == SELECTIVE)
    fused = same_as_cpu(IMAGES.replace("OPSET", "17"), [(SELECTIVE, last[1] | {"fuse": "1"})], **feed)
    assert any("compiled into one" in row["reason"] for row in fused.placement())


def images_of_bodies_lie_as_the_provider_wants_them(_):
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (int64 n, float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, -1, 0.5}> {
  y = Loop (n, , x) <body = turn (int64 i, bool go, float[1, 2, 4, 4] v) => (bool on, float[1, 2, 4, 4] r) {
    on = Identity (go)
    c = Conv (v, w)
    r = Relu (c)
  }>
}"""
    feed = {"n": np.int64(3), "x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 2, 4, 4)}
    made = same_as_cpu(text, [(SELECTIVE, {"operators": "Conv,Relu", "channels_last": "1"})], **feed)
    assert rows_of(made, "Conv")[0]["domain"] == "com.ms.internal.nhwc"


def copies_are_planned_once_for_each_value_and_counted(_):
    made = same_as_cpu(CHAIN, [(DEVICE, {"operators": "MatMul,Relu,Add"})], x=X)
    # x there; b back for Tanh; c there; y back. Weights went there when the session was made.
    assert len(rows_of(made, "MemcpyFromHost")) == 2 and len(rows_of(made, "MemcpyToHost")) == 2
    assert all(row["bytes_copied"] == 48 for row in rows_of(made, "MemcpyFromHost"))  # of the last run
    fresh = session(CHAIN, [(DEVICE, {"operators": "MatMul,Relu,Add"})])
    assert all(row["bytes_copied"] is None for row in rows_of(fresh, "MemcpyFromHost"))  # N comes with the run
    for rows in (5, 2, 0):
        fresh.run(None, {"x": np.ones((rows, 4), np.float32)})
        assert [row["bytes_copied"] for row in fresh.placement() if row["op_type"].startswith("Memcpy")] == [
            16 * rows] * 4
    fixed = session(CHAIN.replace("N, 4", "3, 4"), [(DEVICE, {"operators": "MatMul,Relu,Add"})])
    assert all(row["bytes_copied"] == 48 for row in fixed.placement() if row["op_type"].startswith("Memcpy"))


def bodies_run_on_the_device_too(_):
    feed = {"n": np.int64(3), "x": X[:2]}
    made = same_as_cpu(LOOP, [(DEVICE, {"operators": "Mul,Tanh,Add"})], **feed)
    assert provider_of(made, "Mul") == DEVICE and provider_of(made, "Loop") == CPU
    assert "control flow" not in rows_of(made, "Mul")[0]["reason"]
    made = same_as_cpu(LOOP, [(SELECTIVE, {"operators": "Mul,Add"})], **feed)
    assert provider_of(made, "Add") == SELECTIVE and provider_of(made, "Tanh") == CPU
    same_as_cpu(LOOP, [(DEVICE, {"operators": "Sigmoid,Mul"}), (SELECTIVE, {"operators": "Add,Tanh"})], **feed)


def copies_of_bodies_count_every_turn(_):
    made = session(LOOP, [(DEVICE, {"operators": "Mul"})])
    for turns in (3, 0, 5):
        made.run(None, {"n": np.int64(turns), "x": X[:2]})
        copied = {row["op_type"]: row["bytes_copied"] for row in made.placement() if row["op_type"] == "MemcpyToHost"}
        assert copied == {"MemcpyToHost": 32 * turns}, copied


def what_a_branch_copied_is_that_of_the_last_run(_):
    made = session(BRANCHES, [(DEVICE, {"operators": "Mul,Tanh"})])
    for condition in (True, False, True):
        made.run(None, {"c": np.array(condition), "x": X[:2]})
        back = [row["bytes_copied"] for row in rows_of(made, "MemcpyToHost")]
        assert back == ([32, 0] if condition else [0, 32]), back


def branches_run_on_the_device_too(_):
    for condition in (True, False):
        made = same_as_cpu(BRANCHES, [(DEVICE, {"operators": "Relu,Mul,Tanh"})], c=np.array(condition), x=X[:2])
        assert {row["provider"] for row in made.placement() if row["op_type"] in ("Relu", "Mul", "Tanh")} == {DEVICE}


def a_device_that_cannot_start_is_the_error(_):
    broken = (DEVICE, {"missing_driver": "libnpu.so.3"})
    refused(lambda: session(CHAIN, [broken]), DEVICE, "libnpu.so.3")
    refused(lambda: session(CHAIN, [broken, CPU], config(disable_cpu_ep_fallback="1")), DEVICE, "libnpu.so.3")


def a_device_that_cannot_start_is_one_warning_where_the_cpu_is_named(_):
    made = session(CHAIN, [(DEVICE, {"missing_driver": "libnpu.so.3"}), SELECTIVE, CPU])
    assert made.get_providers() == [SELECTIVE, CPU]
    for row in made.placement():
        assert f"{DEVICE}: provider '{DEVICE}': driver 'libnpu.so.3' is not installed" in row["reason"]
    made.run(None, {"x": X})
    print("warned of libnpu.so.3 above", flush=True)  # test_providers.py counts it


def a_name_that_is_not_there_is_one_warning_where_the_cpu_is_named(_):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = session(CHAIN, [SELECTIVE, "CUDAExecutionProvider", CPU])
    assert len(caught) == 1 and "CUDAExecutionProvider" in str(caught[0].message)
    for row in made.placement():
        assert ("CUDAExecutionProvider: " in row["reason"]) == (row["provider"] == CPU), row
    refused(lambda: session(CHAIN, [SELECTIVE, "CUDAExecutionProvider"]), "CUDAExecutionProvider", SELECTIVE)
    refused(lambda: session(CHAIN, ["CUDAExecutionProvider", CPU], config(disable_cpu_ep_fallback="1")),
            "CUDAExecutionProvider")


def without_fallback_the_first_node_on_the_cpu_is_the_error(_):
    refused(lambda: session(CHAIN, [SELECTIVE], config(disable_cpu_ep_fallback="1")), "Tanh", "is not on its list")
    everything = (SELECTIVE, {"operators": "MatMul,Relu,Tanh,Add"})
    session(CHAIN, [everything], config(disable_cpu_ep_fallback="1")).run(None, {"x": X})


def wrong_options_are_named(_):
    refused(lambda: session(CHAIN, [(SELECTIVE, {"colour": "red"})]), SELECTIVE, "colour")


def inner_values_come_home(_):
    want = session(CHAIN, None).run(["a", "b", "c"], {"x": X})
    got = session(CHAIN, [DEVICE]).run(["a", "b", "c"], {"x": X})
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def profiles_show_providers_and_copies(folder):
    options = sardonyx.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = folder / "p"
    made = session(CHAIN, [(DEVICE, {"operators": "MatMul"})], options)
    made.run(None, {"x": X})
    with open(made.end_profiling(), encoding="utf-8") as file:
        nodes = [event["args"] for event in json.load(file) if event["cat"] == "Node"]
    assert {node["op_name"]: node["provider"] for node in nodes}["MatMul"] == DEVICE
    copied = [node for node in nodes if node["op_name"].startswith("Memcpy")]
    assert len(copied) == 2 and all(node["bytes"] == 96 for node in copied)  # 48 read, 48 written


def sessions_are_pickled_with_their_providers(_):
    import pickle

    made = pickle.loads(pickle.dumps(session(CHAIN, [(SELECTIVE, {"operators": "Relu"})])))
    assert provider_of(made, "Relu") == SELECTIVE and provider_of(made, "MatMul") == CPU


if __name__ == "__main__":
    logging.basicConfig()
    globals()[sys.argv[1]](pathlib.Path(sys.argv[2]))
