"""Cuts models into parts with the plug-in of tests/providers/delegate, which hands each part back to the runtime, and
compares the results with those of the CPU's provider. test_delegate.py runs it in Sardonyx and in ONNX Runtime.

usage: python delegate_cases.py LIBRARY MODEL...
"""
import sys

import numpy as np
import onnxruntime as ort

NAME = "DelegatingProvider"
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
# Everything in one group; groups of chance; single nodes. The CPU has the rest.
SETTINGS = [{"percent": 100}, {"percent": 60, "seed": 1, "drop_constants": 1}, {"percent": 50, "seed": 2, "most": 3},
            {"percent": 80, "seed": 3, "most": 1, "drop_constants": 1}]


def feeds_of(session):
    random = np.random.default_rng(0)
    feeds = {}
    for given in session.get_inputs():
        shape = [dim if isinstance(dim, int) else 3 for dim in given.shape]
        if given.type in TYPES:
            feeds[given.name] = random.random(shape).astype(TYPES[given.type])
        elif given.type == "tensor(bool)":
            feeds[given.name] = np.ones(shape, bool)
        else:
            feeds[given.name] = random.integers(1, 3, shape).astype(given.type[len("tensor("):-1])
    return feeds


def options_at(level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


def check(found, wanted, tolerance, what):
    if isinstance(wanted, list):
        assert len(found) == len(wanted), what
        for one, other in zip(found, wanted):
            check(one, other, tolerance, what)
        return
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    if wanted.dtype == object:  # texts
        assert found.tolist() == wanted.tolist(), what
        return
    scale = float(np.max(np.abs(wanted), initial=0))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=str(what))


def cut(devices, model):
    none, every = ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    plain = ort.InferenceSession(model, options_at(none))
    feeds = feeds_of(plain)
    wanted = plain.run(None, feeds)
    for settings in SETTINGS:
        for level in (none, every):
            options = options_at(level)
            options.add_provider_for_devices(devices, {key: str(value) for key, value in settings.items()})
            made = ort.InferenceSession(model, options, enable_fallback=0)
            parts = [part for part in made.get_provider_graph_assignment_info() if part.ep_name == NAME]
            assert parts or settings["percent"] < 100, model
            assert all(len(part.get_nodes()) <= settings.get("most", 1000) for part in parts)
            for _ in range(2):
                for found, value in zip(made.run(None, feeds), wanted):
                    check(found, value, 0 if level == none else 1e-4, (model, settings, level))


def main():
    ort.register_execution_provider_library("delegate", sys.argv[1])
    devices = [device for device in ort.get_ep_devices() if device.ep_name == NAME]
    for model in sys.argv[2:]:
        cut(devices, model)
    print("passed")


if __name__ == "__main__":
    main()
