"""ReduceLogSumExp over any axes, against float64: large and small numbers, infinities and NaN."""
import itertools

import numpy as np
import onnx.parser
import pytest
import sardonyx


def run(x, axes):
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 18]>
        g (float{list(x.shape)} x) => (float[] y) <int64[{len(axes)}] axes = {{{", ".join(map(str, axes))}}}>
        {{ y = ReduceLogSumExp<keepdims = 0>(x, axes) }}""")
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return sardonyx.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


def expected(x, axes):
    x = x.astype(np.float64)
    largest = np.max(x, axis=axes, keepdims=True)  # NaN if there is one
    shift = np.where(np.isinf(largest), 0, largest)
    with np.errstate(all="ignore"):
        y = np.log(np.sum(np.exp(x - shift), axis=axes, keepdims=True)) + shift
    return np.squeeze(np.where(np.isinf(largest), largest, y), axes)


AXES = [axes for n in (1, 2, 3) for axes in itertools.combinations(range(3), n)]


@pytest.mark.parametrize("shape", [(3, 40, 600), (1, 17, 5), (70, 3, 2), (2, 1, 257)])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("scale", [0.01, 1, 300])
def test_sums_of_powers(shape, axes, scale):
    x = (np.random.default_rng(7).standard_normal(shape) * scale).astype(np.float32)
    want = expected(x, axes)
    np.testing.assert_allclose(run(x, axes), want, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("axes", AXES)
def test_infinities_and_nan(axes):
    x = np.zeros((4, 30, 20), np.float32)
    x[0, :, 1], x[1, 2, 3], x[2, 5, 4] = -np.inf, np.inf, np.nan
    x[:, :, 7] = -np.inf
    x[3, 4, 9], x[3, 5, 9] = np.inf, np.nan
    np.testing.assert_allclose(run(x, axes), expected(x, axes), rtol=1e-6, atol=1e-6)
