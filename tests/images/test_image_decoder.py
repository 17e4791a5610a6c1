"""ImageDecoder: every format gives what Pillow gives, and damaged or hostile files give errors."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

import numpy as np
import onnx
import pictures
import pytest
import sardonyx
from onnx import TensorProto, helper

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
LOSSLESS, LOSSY = pictures.lossless(), pictures.lossy()
FORMATS = ["RGB", "BGR", "Grayscale"]


def model(pixel_format="RGB", data=None):
    node = helper.make_node("ImageDecoder", ["file"], ["pixels"], name="photo", pixel_format=pixel_format)
    files = [helper.make_tensor_value_info("file", TensorProto.UINT8, [None])]
    pixels = [helper.make_tensor_value_info("pixels", TensorProto.UINT8, [None, None, None])]
    constants = [] if data is None else [helper.make_tensor("file", TensorProto.UINT8, [len(data)], data, raw=True)]
    graph = helper.make_graph([node], "g", files if data is None else [], pixels, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(made)
    return made.SerializeToString()


SESSIONS = {pixel_format: sardonyx.InferenceSession(model(pixel_format)) for pixel_format in FORMATS}


def decode(data, pixel_format="RGB"):
    return SESSIONS[pixel_format].run(None, {"file": np.frombuffer(data, np.uint8)})[0]


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("name", LOSSLESS)
def test_lossless_pictures_have_pillows_pixels(name, pixel_format):
    np.testing.assert_array_equal(decode(LOSSLESS[name], pixel_format),
                                  pictures.by_pillow(LOSSLESS[name], pixel_format))


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("name", LOSSY)
def test_lossy_pictures_are_within_rounding_of_pillows(name, pixel_format):
    found, wanted = decode(LOSSY[name], pixel_format), pictures.by_pillow(LOSSY[name], pixel_format)
    assert found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).max() <= 2


@pytest.mark.parametrize("kind", pictures.sixteen_bits())
def test_of_16_bits_the_upper_8_count(kind):
    data, samples = pictures.sixteen_bits()[kind]
    np.testing.assert_array_equal(decode(data, "Grayscale")[:, :, 0], samples >> 8)
    np.testing.assert_array_equal(decode(data), np.repeat((samples >> 8)[:, :, None], 3, axis=2))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, rows, kind=2, interlaced=0):
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_interlaced_png():
    """Seven passes over a picture of 8 x 8 pixels, each with the pixels of its own grid."""
    pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    grids = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b"".join(b"\0" + line.tobytes() for y, x, down, right in grids for line in pixels[y::down, x::right])
    np.testing.assert_array_equal(decode(png(8, 8, rows, interlaced=1)), pixels)


def test_runs_of_bmp():
    palette = np.array([[i * 7 % 256, i * 5 % 256, i * 3 % 256] for i in range(256)], np.uint8)
    indices = np.zeros((pictures.HEIGHT, pictures.WIDTH), int)
    indices[-1] = [1] * 5 + [2] * 32
    indices[-2, :3] = [7, 8, 9]
    indices[-2, 3:37] = 4
    indices[-4, 3:33] = 6
    indices[-5] = 5
    np.testing.assert_array_equal(decode(pictures.run_length_bmp()), palette[indices])


def test_a_constant_file_is_decoded_too():
    data = LOSSLESS["png color"]
    np.testing.assert_array_equal(sardonyx.InferenceSession(model("RGB", data)).run(None, {})[0],
                                  pictures.by_pillow(data, "RGB"))


@pytest.mark.parametrize("name", [name for name in {**LOSSLESS, **LOSSY} if "orientation" not in name])
def test_truncated_files_give_an_error_that_names_the_node(name):
    data = {**LOSSLESS, **LOSSY}[name]
    for size in (len(data) // 2, len(data) * 9 // 10):
        if "animation" in name and size > len(data) // 2:
            continue  # only its first picture counts
        with pytest.raises(sardonyx.InvalidArgument, match=r"\[ImageDecoder\] node 'photo'"):
            decode(data[:size])


@pytest.mark.parametrize("data,words", [
    (b"", "found 0 bytes of none of these formats"),
    (b"GIF89a" + bytes(100), "found 106 bytes of none of these formats"),
    (png(60_000, 60_000, b"\0"), "at most 178956970 pixels, found 60000 x 60000"),
    (png(16_000, 11_000, b"\0"), "ends too early|Not enough"),
    (png(0, 5, b"\0"), "PNG image is damaged"),
    (b"P6 4000000000 4000000000 255\n", "at most 178956970 pixels"),
    (b"P6 5000 5000 255\n" + bytes(99), "expected at least 75000000 bytes of pixels, found 99"),
    (b"P6 0 5 255\n", "expected an image with pixels, found 0 x 5"),
    (b"P6 -3 5 255\n", "expected a number in the PNM image, found '-3'"),
    (b"P2 1 1 70000\n5\n", "largest value of 1 to 65535"),
    (b"P2 1 1 7\n8\n", "expected values up to 7 in the PNM image, found 8"),
    (b"BM" + bytes(12) + struct.pack("<IiiHHI", 40, 1, 1, 1, 24, 9) + bytes(99), "24 bits with compression 9"),
])
def test_hostile_files(data, words):
    with pytest.raises(sardonyx.InvalidArgument, match=words):
        decode(data)


def test_an_unknown_pixel_format_is_refused():
    node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format="CMYK")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [None])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, None)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(sardonyx.Fail, match="expected RGB, BGR or Grayscale, found 'CMYK'"):
        sardonyx.InferenceSession(made.SerializeToString())


def test_damaged_files_never_crash():
    """In a process of its own, whose end shows a crash."""
    program = pathlib.Path(__file__).with_name("decode_damaged.py")
    done = subprocess.run([sys.executable, program, "4000", "3"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    decoded, refused = map(int, done.stdout.split())
    assert decoded + refused == 4000 and decoded > 400 and refused > 1000


def test_without_the_component_one_error_says_how_to_get_it(tmp_path):
    """The library alone in a folder: other operators run, and this one says what is missing."""
    shutil.copytree(BUILD / "python/sardonyx", tmp_path / "python/sardonyx")
    (tmp_path / "lib").mkdir()
    shutil.copy(BUILD / "lib/libsardonyx.so", tmp_path / "lib")
    (tmp_path / "model.onnx").write_bytes(model())
    command = [sys.executable, "-c", "import sardonyx; sardonyx.InferenceSession('model.onnx')"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "python")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    for words in ("NOT_IMPLEMENTED", "[ImageDecoder] node 'photo'", "without the component for images",
                  f"there is no libsardonyx_images.so in {tmp_path / 'lib'}", "tools/setup.py"):
        assert words in done.stderr
    shutil.copy(BUILD / "lib/libsardonyx_images.so", tmp_path / "lib")
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)


def test_the_library_itself_links_no_decoder():
    needed = subprocess.run(["readelf", "-d", BUILD / "lib/libsardonyx.so"], capture_output=True, text=True, check=True)
    for name in ("jpeg", "png", "webp", "tiff", "openjp2", "images"):
        assert name not in needed.stdout
