"""SmoothQuant changes no result of the float model, and quantized ones come nearer to it."""
import numpy as np
import onnx
import pytest
import sardonyx
import sardonyx.quantization as ours
from onnx import helper
from quantized_models import Weights, contents, model
from sardonyx.model import Model
from sardonyx.quantization.smooth_quant import smooth

N = helper.make_node
LOUD = np.where(np.arange(64) % 16 == 3, 60.0, 1.0)  # of 64 channels, four are sixty times as large as the others


class Reader:
    def __init__(self, count=4):
        self.feeds = [values(seed) for seed in range(count)]

    def get_next(self):
        return self.feeds.pop(0) if self.feeds else None


def values(seed):
    random = np.random.default_rng(seed)
    return {"x": (random.standard_normal((8, 64)) * LOUD).astype(np.float32)}


def layers(before):
    """Two products behind a value with loud channels: the input, or what one of these makes."""
    w = Weights(3)
    loud = w.constant("loud", (LOUD / 60).astype(np.float32))
    first = {
        "none": ([], "x"),
        "norm": ([N("LayerNormalization", ["x", loud, w("beta", 64)], ["n"], "norm")], "n"),
        "mul": ([N("Tanh", ["x"], ["t"], "tanh"), N("Mul", ["t", loud], ["n"], "mul")], "n"),
        "gemm": ([N("Gemm", ["x", w("wg", 64, 64), w("bg", 64)], ["n"], "gemm", transB=1)], "n"),
        "add": ([N("MatMul", ["x", w("wm", 64, 64)], ["m"], "product"), N("Add", [w("bm", 64), "m"], ["n"],
                                                                             "add")], "n"),
    }[before]
    return model([*first[0], N("MatMul", [first[1], w("a", 64, 32)], ["p"], "one"),
                  N("Gemm", [first[1], w("b", 32, 64), w("c", 32)], ["q"], "two", transB=1),
                  N("Add", ["p", "q"], ["y"], "sum")], {"x": ["n", 64]}, ["y"], w.made)


@pytest.mark.parametrize("before", ["none", "norm", "mul", "gemm", "add"])
@pytest.mark.parametrize("folding", [True, False])
@pytest.mark.parametrize("alpha", [0.5, 0.8])
def test_results_stay(before, folding, alpha):
    changed = Model(layers(before))
    smooth(changed, Reader(), alpha, folding)
    made = changed.to_proto()
    onnx.checker.check_model(made, full_check=True)
    muls = sum(node.name.endswith("_smooth_mul") for node in made.graph.node)
    # The products in front of "n" have a Mul of their own behind the input.
    assert muls == (before in ("none", "gemm", "add")) + (not folding and before != "none")
    for seed in range(10, 13):
        exact, other = (sardonyx.InferenceSession(one.SerializeToString()).run(None, values(seed))[0]
                        for one in (layers(before), made))
        np.testing.assert_allclose(other, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


def signal_to_noise(path, proto):
    """In dB, of a quantized model against the float one."""
    exact, other = (sardonyx.InferenceSession(one).run(None, values(20))[0].astype(np.float64)
                    for one in (proto.SerializeToString(), str(path)))
    return 20 * np.log10(np.linalg.norm(exact) / np.linalg.norm(exact - other))


@pytest.mark.parametrize("before", ["none", "norm", "mul"])
def test_quantized_models_come_nearer(tmp_path, before):
    """By 6 dB and more, where few channels are loud and their weights are as small as others."""
    proto = layers(before)
    quiet = np.where(LOUD > 1, 0.02, 1.0)[:, None]
    for name, turn in (("a", False), ("b", True)):
        tensor = next(one for one in proto.graph.initializer if one.name == name)
        array = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(
            (array.T * quiet).T.copy() if turn and array.shape[0] == 64 else
            (array * (quiet.T if turn else quiet)).astype(np.float32), name))
    found = {}
    for name, options in (("plain", {}), ("smooth", {"SmoothQuant": True, "SmoothQuantAlpha": 0.5})):
        ours.quantize_static(proto, tmp_path / f"{name}.onnx", Reader(), extra_options=options,
                             op_types_to_quantize=["MatMul", "Gemm"])
        found[name] = signal_to_noise(tmp_path / f"{name}.onnx", proto)
    assert found["smooth"] > found["plain"] + 6, found


@pytest.mark.parametrize(("before", "folding", "count"), [("none", True, 1), ("norm", True, 0), ("norm", False, 1)])
def test_new_nodes_stay_floats(tmp_path, before, folding, count):
    """Factors that no weight in front of the product takes, or may take, are nodes."""
    ours.quantize_static(layers(before), tmp_path / "q.onnx", Reader(),
                         extra_options={"SmoothQuant": True, "SmoothQuantFolding": folding})
    assert contents(str(tmp_path / "q.onnx"))[0]["", "Mul"] == count


def test_wrong_arguments(tmp_path):
    for options, reader, message in (({"SmoothQuantAlpha": 2}, Reader(), "0 to 1"), ({}, Reader(0), "no data"),
                                     ({}, None, "needs data")):
        with pytest.raises(ValueError, match=message):
            ours.quantize_static(layers("none"), tmp_path / "q.onnx", reader,
                                 extra_options={"SmoothQuant": True, **options})
