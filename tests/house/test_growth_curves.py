"""The models of `make bench-growth` compute the same here and in ONNX Runtime, and its page shows what was measured."""
import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.insert(0, str(ROOT / "tools"))
import growth_models  # noqa: E402
import growth_page  # noqa: E402
import peer  # noqa: E402

SMALL = {"encoder-batch": 2, "encoder-length": 16, "cnn-batch": 2, "cnn-image": 32}
MACHINE = {"cpu": {"model": "some <CPU>", "cores": 2, "flags": ["avx2"]}, "threads": 2, "limit_s": 60.0}


def outputs(name, data, feed):
    peer.require()
    module = __import__(name)
    options = module.SessionOptions()
    options.log_severity_level = 3
    return module.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feed)


def compare(model, feed):
    data = model.SerializeToString()
    for ours, theirs in zip(*(outputs(name, data, feed) for name in ("sardonyx", "onnxruntime")), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize("name", growth_models.GRAPHS)
def test_graphs_agree(name):
    what, sizes, make = growth_models.GRAPHS[name]
    model, feed = make(sizes[1])
    if what == "nodes":
        assert len(model.graph.node) <= sizes[1] * 1.2
    compare(model, feed)


@pytest.mark.parametrize("name", growth_models.RUNS)
def test_networks_agree(name):
    _, _, network, dims = growth_models.RUNS[name]
    compare(network(), {"x": np.random.default_rng(0).standard_normal(dims(SMALL[name]), np.float32)})


@pytest.mark.parametrize("name", growth_models.DISTINCT)
def test_distinct_shapes(name):
    make, counts, shapes = growth_models.DISTINCT[name]
    found = shapes()
    assert len(set(found)) == len(found) >= counts[-1]
    compare(make(), {"x": np.ones(found[0], np.float32)})


def test_the_page_marks_what_is_behind_and_what_is_steep():
    points = [{"size": size, "sardonyx": {"create_ms": size ** 2, "run_ms": 1.0}, "onnxruntime": {"create_ms": size}}
              for size in (10, 100)]
    curves = [{"name": "a<b", "what": "nodes", "points": points}]
    assert list(growth_page.behind(curves)) == [("a<b", "create_ms", 10, 10), ("a<b", "create_ms", 100, 100)]
    assert list(growth_page.steep(curves)) == [("a<b", "create_ms", pytest.approx(2))]
    page = growth_page.page(MACHINE, curves)
    assert "a&lt;b" in page and "a<b" not in page and "class=behind" in page
    assert "session creation, 100: 100.00 of ONNX Runtime" in page
    assert page.count("<svg") == 2
