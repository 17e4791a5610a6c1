"""The wheel installs and runs in a new virtual environment, without the build tree."""
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

import pytest
import wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PROGRAM = """
import importlib.metadata, pathlib, sys
import numpy as np
import sardonyx

session = sardonyx.InferenceSession("model.onnx")
print(session.run(None, {"x": np.float32([[1, 0, 0]])})[0].tolist())
text = pathlib.Path("/proc/self/maps").read_text()
print("libraries:", sorted({line.split()[-1] for line in text.splitlines() if "sardonyx" in line or "onnx" in line}))
print("licence:", importlib.metadata.metadata("sardonyx")["License-Expression"])
print("files:", sorted(str(f) for f in importlib.metadata.files("sardonyx") if f.suffix in (".so", ".pyi", ".typed")))
"""
PROGRAM_FOR_ONNX_RUNTIME = """
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
print(session.run(None, {"x": np.float32([[1, 0, 0]])})[0].tolist(), bool(onnxruntime.sardonyx_version))
"""
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
first (float[batch, 3] x) => (float[batch, 2] y) <float[3, 2] weight = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, weight) }
"""
IMAGE_MODEL = """<ir_version: 10, opset_import: ["" : 20]>
photo (uint8[size] file) => (uint8[height, width, 3] pixels) { pixels = ImageDecoder(file) }
"""
IMAGE_PROGRAM = """
import numpy as np, sardonyx
file = np.frombuffer(b"P3 1 1 255 255 127 0", np.uint8)
print(sardonyx.InferenceSession("image.onnx").run(None, {"file": file})[0].tolist())
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheel.build_wheel(BUILD, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory, built):
    """A virtual environment with NumPy and ml_dtypes alone, so that pip finds the wheel's dependencies there."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder / "venv")
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    for path in pathlib.Path(sysconfig.get_path("platlib")).iterdir():
        if re.match(r"(numpy|ml_dtypes)($|[-.])", path.name):
            (site / path.name).symlink_to(path)
    python = folder / "venv/bin/python"
    clean = {"PATH": os.environ["PATH"], "PYTHONNOUSERSITE": "1"}
    run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", built, env=clean)
    (folder / "model.txt").write_text(MODEL)
    run(BUILD / "bin/sardonyx", "optimize", folder / "model.txt", "-o", folder / "model.onnx")
    return folder, python, clean


def test_it_runs_without_the_build_tree(environment):
    folder, python, clean = environment
    output = run(python, "-c", PROGRAM, cwd=folder, env=clean)
    assert "[[1.0, 2.0]]" in output and "licence: Apache-2.0" in output
    assert "libsardonyx.so" in output and "__init__.pyi" in output and "py.typed" in output
    assert str(ROOT / "build") not in output and str(BUILD) not in output
    run(python, "-m", "pip", "check", "--disable-pip-version-check", env=clean)


def test_numpy_and_ml_dtypes_are_its_only_dependencies(built):
    with zipfile.ZipFile(built) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        needed = re.findall(r"^Requires-Dist: (\w+)", archive.read(name).decode(), re.M)
    assert needed == ["numpy", "ml_dtypes"]


def test_its_record_is_right_and_the_same_tree_gives_the_same_bytes(built, tmp_path):
    with zipfile.ZipFile(built) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(name).decode()))}
        assert set(rows) == set(archive.namelist())
        for path, (digest, size) in rows.items():
            data = archive.read(path)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert path == name or (digest, size) == (f"sha256={found}", str(len(data)))
    assert wheel.build_wheel(BUILD, tmp_path).read_bytes() == built.read_bytes()


def test_its_libraries_are_stripped_and_find_each_other(built, tmp_path):
    with zipfile.ZipFile(built) as archive:
        archive.extractall(tmp_path)
    libraries = sorted((tmp_path / "sardonyx").glob("*.so"))
    assert {library.name.split(".")[0] for library in libraries} == {"_core", "libsardonyx", "libsardonyx_images"}
    for library in libraries:
        sections = run("readelf", "-SW", library)
        assert ".symtab" not in sections and ".debug_info" not in sections
        assert "[$ORIGIN]" in run("readelf", "-d", library) or library.name.startswith("libsardonyx")
        assert str(ROOT).encode() not in library.read_bytes()
    assert built.stat().st_size < 20e6


def test_it_decodes_images_and_holds_the_licences_of_the_decoders(environment, built, tmp_path):
    folder, python, clean = environment
    (tmp_path / "model.txt").write_text(IMAGE_MODEL)
    run(BUILD / "bin/sardonyx", "optimize", tmp_path / "model.txt", "-o", folder / "image.onnx")
    assert run(python, "-c", IMAGE_PROGRAM, cwd=folder, env=clean) == "[[[255, 127, 0]]]\n"
    with zipfile.ZipFile(built) as archive:
        licences = [name for name in archive.namelist() if "/licenses/" in name]
    assert {"LICENSE.libjpeg-turbo", "LICENSE.libtiff"} <= {name.split("/")[-1] for name in licences}


def test_the_tag_is_that_of_the_newest_symbols(built, tmp_path, monkeypatch):
    glibc, cpp = (2, 17), (0,)
    with zipfile.ZipFile(built) as archive:
        for name in (name for name in archive.namelist() if name.endswith(".so")):
            library = tmp_path / pathlib.Path(name).name
            library.write_bytes(archive.read(name))
            asked = re.findall(r"\*UND\*.*?\((GLIBC|GLIBCXX)_([\d.]+)\)", run("objdump", "-T", library))
            assert asked
            for prefix, version in asked:
                numbers = tuple(map(int, version.split(".")))
                glibc, cpp = (max(glibc, numbers), cpp) if prefix == "GLIBC" else (glibc, max(cpp, numbers))
    needed = max([glibc, *(wheel.GLIBC_OF_GLIBCXX[has] for has in wheel.GLIBC_OF_GLIBCXX if has <= cpp)])
    assert f"-manylinux_{needed[0]}_{needed[1]}_" in built.name

    foreign = tmp_path / "libforeign.so"  # and a library that needs another one gives no wheel
    run("gcc", "-shared", "-x", "c", "/dev/null", "-Wl,--no-as-needed", "-lz", "-o", foreign)
    with pytest.raises(SystemExit, match="libforeign.so needs libz.so.1"):
        wheel.platform_tag([foreign])


def test_the_wheel_onnxruntime_replaces_onnx_runtime(environment, tmp_path):
    """Installed beside the wheel sardonyx, it satisfies what other packages require, and runs models."""
    folder, python, clean = environment
    other = wheel.build_onnxruntime_wheel(BUILD, tmp_path)
    assert wheel.build_onnxruntime_wheel(BUILD, tmp_path / "again").read_bytes() == other.read_bytes()
    install = [python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check"]
    tried = [python, "-m", "sardonyx.as_onnxruntime", "-c", PROGRAM_FOR_ONNX_RUNTIME]  # before anything is installed
    assert run(*tried, cwd=folder, env=clean) == "[[1.0, 2.0]] True\n"
    run(*install, other, env=clean)
    assert run(python, "-c", PROGRAM_FOR_ONNX_RUNTIME, cwd=folder, env=clean) == "[[1.0, 2.0]] True\n"
    assert "onnxruntime" in run(*install, "onnxruntime>=1.20", env=clean)  # it is there already
    run(python, "-m", "pip", "check", "--disable-pip-version-check", env=clean)
    load = "import ctypes, onnxruntime as o, os; f = os.path.dirname(o.__file__) + '/capi/libonnxruntime.so.1.31.1'"
    run(python, "-c", f"{load}; ctypes.CDLL(f).OrtGetApiBase()", env=clean)
