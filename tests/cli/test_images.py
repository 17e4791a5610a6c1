"""Images as inputs of the tool: layouts, sizes and normalization, compared with Pillow."""
import os
import pathlib
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
RANDOM = np.random.default_rng(5)
PIXELS = RANDOM.integers(0, 256, (30, 44, 3), np.uint8)


def sardonyx(*arguments, expect=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PIXELS).save("photo.png")
    smooth = np.stack(np.meshgrid(np.linspace(0, 255, 44), np.linspace(0, 255, 30)), -1)
    Image.fromarray(np.concatenate([smooth, smooth[..., :1]], -1).astype(np.uint8)).save("smooth.jpg", quality=95)


def model(shape, element=TensorProto.FLOAT):
    x, y = (helper.make_tensor_value_info(name, element, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "image", [x], [y])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")


def through(shape, *arguments, element=TensorProto.FLOAT, file="photo.png"):
    model(shape, element)
    sardonyx("run", "m.onnx", "--input", file, "--output", "y.npy", *arguments)
    return np.load("y.npy")


@pytest.mark.parametrize(("shape", "arguments", "want"), [
    ([1, 3, 30, 44], [], PIXELS.transpose(2, 0, 1)[None]),
    (["n", 3, "h", "w"], [], PIXELS.transpose(2, 0, 1)[None]),
    ([2, "h", "w", 3], [], np.stack([PIXELS] * 2)),
    (["h", "w", "c"], ["--layout", "hwc"], PIXELS),
    ([3, 30, 44], ["--channels", "bgr"], PIXELS.transpose(2, 0, 1)[::-1]),
])
def test_layouts_without_a_change_of_size(shape, arguments, want):
    np.testing.assert_allclose(through(shape, *arguments), want / np.float32(255), atol=1e-6)


def test_means_and_deviations_are_channels():
    got = through([1, 3, 30, 44], "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    want = ((PIXELS / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)[None]
    np.testing.assert_allclose(got, want, atol=1e-5)
    got = through([1, 3, 30, 44], "--scale", "1", "--mean", "127.5", "--std", "127.5")
    np.testing.assert_allclose(got, PIXELS.transpose(2, 0, 1)[None] / 127.5 - 1, atol=1e-5)


def test_integers_are_the_pixels():
    np.testing.assert_array_equal(through([30, 44, 3], element=TensorProto.UINT8), PIXELS)


@pytest.mark.parametrize("size", [(60, 88), (15, 22), (7, 40), (64, 9)])
def test_sizes_are_changed_as_pillow_does(size):
    got = through([1, *size, 3], "--scale", "1")
    want = np.asarray(Image.fromarray(PIXELS).resize(size[::-1], Image.Resampling.BILINEAR), np.float32)
    assert np.abs(got[0] - want).max() < 1.5  # Pillow rounds to whole numbers twice


def test_the_size_fills_open_dimensions():
    assert through([1, 3, "h", "w"], "--size", "16x24").shape == (1, 3, 16, 24)


def test_crop_takes_the_middle_and_pad_keeps_all():
    cropped = through([1, 30, 30, 3], "--fit", "crop", "--scale", "1")
    np.testing.assert_allclose(cropped[0], PIXELS[:, 7:37], atol=1e-4)
    padded = through([1, 44, 44, 3], "--fit", "pad", "--scale", "1")
    np.testing.assert_allclose(padded[0, 7:37], PIXELS, atol=1e-4)
    assert not padded[0, :7].any() and not padded[0, 37:].any()


def test_jpeg_and_grey():
    got = through([1, 3, 30, 44], "--scale", "1", file="smooth.jpg")
    want = np.asarray(Image.open("smooth.jpg"), np.float32).transpose(2, 0, 1)
    assert np.abs(got[0] - want).max() <= 6 and np.abs(got[0] - want).mean() < 1.5  # decoders differ in chroma
    grey = through([1, 1, 30, 44], "--scale", "1")
    assert np.abs(grey[0, 0] - np.asarray(Image.open("photo.png").convert("L"), np.float32)).max() < 2


@pytest.mark.parametrize(("shape", "arguments", "message"), [
    ([1, 3, 30, 44], ["--input", "broken.png"], "'broken.png': expected an image (PNG, JPEG, BMP, GIF ...), found"),
    ([1, 3, 30, 44], ["--input", "absent.jpg"], "cannot read 'absent.jpg'"),
    ([1, 5, 30, 44], ["--input", "photo.png"], "expected 1, 3 or 4 channels in layout nchw, found 5"),
    ([7], ["--input", "photo.png"], "expected the shape of an image, as [N, 3, H, W], found float [7]"),
    ([1, 3, 30, 44], ["--input", "photo.png", "--mean", "1,2"], "--mean: expected 1 number or 3"),
    ([1, 3, 30, 44], ["--input", "photo.png", "--size", "9x9"], "the model fixes the height of 'x' to 30"),
    ([1, 3, "h", "w"], ["--input", "photo.png", "--size", "nine"], "as in 480x640, found 'nine'"),
    ([1, 3, 30, 44], ["--input", "photo.png", "--layout", "hwc"], "expected a layout of 4 dimensions"),
])
def test_what_does_not_fit_is_said(shape, arguments, message):
    pathlib.Path("broken.png").write_bytes(b"\x89PNG but no more")
    model(shape)
    assert message in sardonyx("run", "m.onnx", *arguments, expect=1)
