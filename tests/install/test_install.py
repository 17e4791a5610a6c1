"""The installed library outside the tree: a CMake package, a pkg-config file, a folder that can be moved."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
first (float[batch, 3] x) => (float[batch, 2] y) <float[3, 2] weight = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, weight) }
"""
CLIENT = """#include <stdio.h>
#include <onnxruntime_c_api.h>
int main(void) { return puts(OrtGetApiBase()->GetVersionString()) < 0; }
"""


def run(*command, code=0, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")  # where it lies is not known to it
    return folder / "moved"


@pytest.fixture(scope="module")
def project(tmp_path_factory, prefix):
    """The example as someone's own project, with a model beside it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "examples/cpp", folder / "src")
    (folder / "model.txt").write_text(MODEL)
    run(prefix / "bin/sardonyx", "optimize", folder / "model.txt", "-o", folder / "model.onnx")
    return folder


def check(program, project, **environment):
    output = run(program, project / "model.onnx", 3, env=os.environ | environment)
    assert output.startswith("y [ 1 2 ] 1.3 1.6\n3 runs, "), output
    assert "error 3: " in (text := run(program, "no.onnx", code=1, env=os.environ | environment)) and "no.onnx" in text


def test_find_package(prefix, project):
    run("cmake", "-S", project / "src", "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja")
    run("cmake", "--build", project / "build")
    check(project / "build/run_model", project)


def test_find_package_refuses_another_version(prefix, project):
    text = (project / "src/CMakeLists.txt").read_text()
    (project / "newer").mkdir()
    newer = text.replace("find_package(Sardonyx 0.1", "find_package(Sardonyx 9.0")
    (project / "newer/CMakeLists.txt").write_text(newer)
    said = run("cmake", "-S", project / "newer", "-B", project / "newer/build", f"-DCMAKE_PREFIX_PATH={prefix}", code=1)
    assert 'compatible with requested version "9.0"' in " ".join(said.split())


def test_find_package_under_the_name_of_onnx_runtime(prefix, project):
    """A project that was made for ONNX Runtime is configured and built unchanged."""
    folder = project / "made_for_onnx_runtime"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(client LANGUAGES C)\nfind_package(onnxruntime 1.20 REQUIRED)\n"
        "add_executable(client client.c)\ntarget_link_libraries(client PRIVATE onnxruntime::onnxruntime)\n")
    (folder / "client.c").write_text(CLIENT)
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja")
    run("cmake", "--build", folder / "build")
    assert run(folder / "build/client").startswith("1.31.")


def test_the_static_library(prefix, project):
    """It has the same interface, needs nothing else of ours, and does not clash with a program's own names."""
    (archive,) = prefix.glob("lib*/**/libsardonyx.a")
    visible = {line.split()[-1] for line in run("nm", "--defined-only", "--extern-only", archive).splitlines()
               if len(line.split()) == 3 and line.split()[1] in "TDBR"}
    assert visible == {"OrtGetApiBase", "SardonyxGetApi",
                       *(f"OrtSessionOptionsAppendExecutionProvider_{provider}"
                         for provider in ("CPU", "CUDA", "Tensorrt", "ROCM", "MIGraphX", "Dnnl"))}
    folder = project / "static"
    folder.mkdir()
    text = (project / "src/CMakeLists.txt").read_text()
    (folder / "CMakeLists.txt").write_text(text.replace("Sardonyx::sardonyx", "Sardonyx::static"))
    shutil.copy(project / "src/run_model.cpp", folder)
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja")
    run("cmake", "--build", folder / "build")
    assert "libsardonyx" not in run("readelf", "-d", folder / "build/run_model")
    check(folder / "build/run_model", project)


def test_pkg_config_under_the_name_of_onnx_runtime(prefix, tmp_path):
    (file,) = prefix.glob("lib*/**/libonnxruntime.pc")
    environment = os.environ | {"PKG_CONFIG_PATH": str(file.parent)}
    assert run("pkg-config", "--modversion", "libonnxruntime", env=environment).startswith("1.31.")
    flags = run("pkg-config", "--cflags", "--libs", "libonnxruntime", env=environment).split()
    (tmp_path / "client.c").write_text(CLIENT)
    run("gcc", tmp_path / "client.c", *flags, "-o", tmp_path / "client")
    libraries = os.environ | {"LD_LIBRARY_PATH": str(file.parents[1])}
    assert run(tmp_path / "client", env=libraries).startswith("1.31.")


def test_pkg_config(prefix, project):
    (file,) = prefix.glob("lib*/**/sardonyx.pc")
    environment = os.environ | {"PKG_CONFIG_PATH": str(file.parent)}
    flags = run("pkg-config", "--cflags", "--libs", "sardonyx", env=environment).split()
    run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", project / "src/run_model.cpp", *flags, "-o",
        project / "by_hand")
    check(project / "by_hand", project, LD_LIBRARY_PATH=str(file.parents[1]))


def test_the_c_interface_alone_serves_c_and_cpp17(prefix, project):
    for name, compiler in (("c.c", ["gcc", "-std=c99"]), ("c.cpp", ["g++", "-std=c++17"])):
        source = project / name
        source.write_text('#include "onnxruntime_c_api.h"\n#include "sardonyx_c_api.h"\n'
                          "int main(void) { return OrtGetApiBase()->GetApi(ORT_API_VERSION) == 0; }\n")
        (library,) = prefix.glob("lib*/**/libsardonyx.so")
        run(*compiler, f"-I{prefix / 'include/sardonyx'}", source, f"-L{library.parent}", "-lsardonyx",
            f"-Wl,-rpath,{library.parent}", "-o", project / "c")
        run(project / "c")


def test_nothing_installed_knows_the_build_tree(prefix):
    assert "sardonyx 0." in run(prefix / "bin/sardonyx", "--version")
    files = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"sardonyx", "libsardonyx.so", "sardonyx.hpp", "SardonyxConfig.cmake", "sardonyx.pc", "LICENSE"} <= {
        path.name for path in files}
    for path in files:
        data = path.read_bytes()
        if data[:4] == b"\x7fELF":
            data = run("readelf", "-d", path).encode()
        assert str(BUILD).encode() not in data and str(ROOT).encode() not in data, path
