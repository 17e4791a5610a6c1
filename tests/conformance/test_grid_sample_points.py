"""GridSample between four pixels: points inside, on the borders, far outside and NaN, against float64 by hand."""
import numpy as np
import onnx.parser
import pytest
import sardonyx


def sampled(x, grid, padding, align_corners):
    """The bilinear rule of the standard, point by point."""
    batch, channels, height, width = x.shape
    y = np.zeros((batch, channels, *grid.shape[1:3]))
    for place in np.ndindex(batch, *grid.shape[1:3]):
        where = []
        for normalized, size in zip(grid[place].astype(np.float64), (width, height), strict=True):
            at = (normalized + 1) / 2 * (size - 1) if align_corners else ((normalized + 1) * size - 1) / 2
            at = -2.0 if np.isnan(at) else np.clip(at, -2, size + 1)
            where.append(np.clip(at, 0, size - 1) if padding == "border" else at)
        left, top = (int(np.floor(at)) for at in where)
        for row, column in np.ndindex(2, 2):
            weight = (1 - abs(where[0] - left - column)) * (1 - abs(where[1] - top - row))
            h, w = top + row, left + column
            if padding == "border":
                h, w = min(h, height - 1), min(w, width - 1)
            if 0 <= h < height and 0 <= w < width:
                y[place[0], :, place[1], place[2]] += weight * x[place[0], :, h, w]
    return y


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 1, 1, 1), (1, 2, 1, 9), (1, 1, 40, 33)])
def test_points_between_pixels(shape, padding, align_corners):
    numbers = np.random.default_rng(sum(shape))
    x = numbers.normal(size=shape).astype(np.float32)
    grid = numbers.uniform(-1.3, 1.3, (shape[0], 11, 13, 2)).astype(np.float32)
    grid[0, 0, :8] = [[-1, -1], [1, 1], [-1, 1], [0, 0], [1e30, 0], [0, -np.inf], [np.nan, 0.5], [0.999999, -1.000001]]
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 22]> g (float{list(shape)} x, float{list(grid.shape)} g) => (y) '
        f'{{ y = GridSample<mode="linear", padding_mode="{padding}", align_corners={align_corners}>(x, g) }}')
    session = sardonyx.InferenceSession(model.SerializeToString())
    y, = session.run(None, {"x": x, "g": grid})
    np.testing.assert_allclose(y, sampled(x, grid, padding, align_corners), rtol=1e-4, atol=2e-5 * max(shape))


def test_a_pixel_outside_is_no_infinity_times_zero():
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 22]> g (float[1,1,2,20] x, float[1,1,20,2] g) '
                                    '=> (y) { y = GridSample<mode="linear", align_corners=1>(x, g) }')
    x = np.ones((1, 1, 2, 20), np.float32)
    x[0, 0, 0, 0] = np.inf
    grid = np.zeros((1, 1, 20, 2), np.float32)
    grid[..., 0] = np.linspace(1, 1.2, 20)  # from the last column outwards
    y, = sardonyx.InferenceSession(model.SerializeToString()).run(None, {"x": x, "g": grid})
    assert np.isfinite(y).all() and y[0, 0, 0, 0] == 1 and y[0, 0, 0, -1] == 0
