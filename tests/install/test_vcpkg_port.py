"""The port for vcpkg in packaging/vcpkg: its steps, taken without vcpkg, and its list of dependencies."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PORT = ROOT / "packaging/vcpkg/sardonyx"


def test_its_steps_find_what_they_name(tmp_path):
    steps = ROOT / "tests/install/vcpkg_steps.cmake"
    done = subprocess.run(["cmake", f"-DPORT={PORT}", f"-DBUILD={BUILD}",
                           f"-DCURRENT_PACKAGES_DIR={tmp_path}", "-P", steps], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("share/Sardonyx/SardonyxConfig.cmake", "share/onnxruntime/onnxruntimeConfig.cmake", "share/copyright",
                 "tools/sardonyx/sardonyx", "include/sardonyx/onnxruntime_c_api.h", "lib/libonnxruntime.so.1"):
        assert (tmp_path / file).exists(), file
    assert not (tmp_path / "lib/cmake").exists()


def test_it_asks_for_what_the_project_asks_for():
    port, project = (json.loads(path.read_text()) for path in (PORT / "vcpkg.json", ROOT / "vcpkg.json"))
    needed = {entry for entry in port["dependencies"] if isinstance(entry, str)}
    assert needed == set(project["dependencies"])
    assert {entry["name"] for entry in port["dependencies"] if isinstance(entry, dict) and entry["host"]} == {
        "flatbuffers", "vcpkg-cmake", "vcpkg-cmake-config"}
    for key in ("name", "version", "description", "license"):
        assert port[key] == project[key]
