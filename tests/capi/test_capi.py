"""The C interface from outside: layout of the headers, exported symbols, plain C programs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
LIBRARY = BUILD / "lib/libsardonyx.so"
GENERATOR = ROOT / "tools/abi/generate.py"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def compiler():
    found = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert found, "expected a C compiler on the PATH"
    return found


def compile_asserts(folder, include):
    source = folder / "abi_asserts.c"
    assert run(sys.executable, GENERATOR, "--asserts", source).returncode == 0
    return run(compiler(), "-std=gnu11", "-fsyntax-only", "-I", include, source)


def test_generated_files_are_what_the_tables_say():
    done = run(sys.executable, GENERATOR, "--check")
    assert done.returncode == 0, done.stdout


def test_headers_have_the_layout_of_the_tables(tmp_path):
    done = compile_asserts(tmp_path, ROOT / "include")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(("wrong", "right"), [
    # Two slots swapped, a parameter's type, an enumerator's value.
    ("*SessionGetOutputCount)(", "*SessionGetInputCount)("),
    ("*IsTensor)(const OrtValue* value, size_t* out)", "*IsTensor)(const OrtValue* value, int* out)"),
    ("ORT_EP_FAIL = 12", "ORT_EP_FAIL = 11"),
])
def test_a_planted_fault_in_the_layout_is_found(tmp_path, wrong, right):
    shutil.copytree(ROOT / "include", tmp_path / "include")
    header = tmp_path / "include/onnxruntime_c_api.h"
    text = header.read_text()
    assert right in text
    changed = text.replace(wrong, "@").replace(right, wrong).replace("@", right)
    assert changed != text
    header.write_text(changed)
    assert compile_asserts(tmp_path, tmp_path / "include").returncode != 0


@pytest.mark.parametrize("header", ["onnxruntime_c_api.h", "onnxruntime_ep_c_api.h", "onnxruntime_training_c_api.h",
                                    "sardonyx_c_api.h"])
@pytest.mark.parametrize("language", ["c99", "c++17"])
def test_headers_compile_alone_without_warnings(header, language, tmp_path):
    source = tmp_path / ("a.c" if language == "c99" else "a.cpp")
    source.write_text(f'#include "{header}"\n')
    command = compiler() if language == "c99" else (shutil.which("c++") or "g++")
    done = run(command, f"-std={language}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I",
               ROOT / "include", source)
    assert done.returncode == 0, done.stderr


EXPORTED = ("OrtGetApiBase", *(f"OrtSessionOptionsAppendExecutionProvider_{name}"
                               for name in ("CPU", "CUDA", "Tensorrt", "ROCM", "MIGraphX", "Dnnl")))


def test_only_the_interface_is_exported():
    names = {line.split()[-1] for line in run("nm", "-D", "--defined-only", LIBRARY).stdout.splitlines()
             if line.split()[-2] != "A"}
    plain = {name.split("@")[0] for name in names}
    assert plain == {*EXPORTED, "SardonyxGetApi"}


def test_every_function_has_the_symbol_version_of_every_release():
    """Linked programs ask for the one of the release that they were built with, patch releases included; those of
    Debian for that of the minor release."""
    names = {line.split()[-1].replace("@@", "@")
             for line in run("nm", "-D", "--defined-only", LIBRARY).stdout.splitlines()}
    expected = {f"{name}@VERS_1.{minor}{patch}" for name in EXPORTED for minor in range(41)
                for patch in ["", *(f".{patch}" for patch in range(10))]}
    assert expected - names == set()


def build_old_client(folder, release):
    """A program linked with a library of that release's symbol version, which prints our version."""
    folder.mkdir()
    (folder / "old.c").write_text("const void* OrtGetApiBase(void) { return 0; }\n")
    (folder / "old.map").write_text(f"VERS_{release} {{ global: OrtGetApiBase; local: *; }};\n")
    (folder / "client.c").write_text(
        '#include <stdio.h>\n#include "onnxruntime_c_api.h"\n'
        "int main(void) { return puts(OrtGetApiBase()->GetVersionString()) < 0; }\n")
    old = folder / "libonnxruntime.so.1"
    assert run(compiler(), "-shared", "-fPIC", "-o", old, folder / "old.c", "-Wl,-soname,libonnxruntime.so.1",
               f"-Wl,--version-script={folder / 'old.map'}").returncode == 0
    done = run(compiler(), "-o", folder / "client", folder / "client.c", "-I", ROOT / "include", old)
    assert done.returncode == 0, done.stderr
    return folder / "client"


@pytest.mark.parametrize("release", ["1.0.0", "1.4.0", "1.10.0", "1.16.2", "1.23.0", "1.28.2", "1.31.1", "1.40.9"])
def test_a_program_linked_with_another_release_finds_the_library(tmp_path, release):
    """As the Node and Java bindings are: by the name libonnxruntime.so.1 and the symbol version of their release. The
    loader says nothing, warnings included."""
    client = build_old_client(tmp_path / "old", release)
    done = run(client, env=os.environ | {"LD_LIBRARY_PATH": str(BUILD / "lib"), "LD_BIND_NOW": "1"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.fullmatch(r"1\.31\.\d+", done.stdout.strip())


def test_a_binding_finds_the_library_that_its_program_has_opened(tmp_path):
    """As the Java binding does: the program opens the library by its path, in a folder that the loader does not search,
    and then the binding, which was linked with ONNX Runtime."""
    (tmp_path / "binding.c").write_text("const void* OrtGetApiBase(void);\n"
                                        "const void* Base(void) { return OrtGetApiBase(); }\n")
    done = run(compiler(), "-shared", "-fPIC", "-o", tmp_path / "binding.so", tmp_path / "binding.c",
               BUILD / "lib/libonnxruntime.so.1")
    assert done.returncode == 0, done.stderr
    program = ("import ctypes, sys\nfirst = ctypes.CDLL(sys.argv[1])\nbinding = ctypes.CDLL(sys.argv[2])\n"
               "first.OrtGetApiBase.restype = binding.Base.restype = ctypes.c_void_p\n"
               "assert first.OrtGetApiBase() == binding.Base()")
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = run(sys.executable, "-c", program, BUILD / "lib/libonnxruntime.so.1", tmp_path / "binding.so",
               env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("file", "answers"), [
    ("libonnxruntime.so.1.14.1", True), ("libonnxruntime.so.1.18.0", True), ("libonnxruntime.so.1.9.0", True),
    ("libonnxruntime.so.1.19.0", False), ("libonnxruntime.so.1.31.1", False), ("libother.so.1.14.1", False)])
def test_a_file_named_as_a_release_answers_to_that_release_s_name(tmp_path, file, answers):
    """Until 1.18 the library called itself libonnxruntime.so.1.18.0, with its whole version, and bindings ask for that.
    Files of other names go by libonnxruntime.so.1."""
    wanted = file if answers else "libonnxruntime.so.1"
    (tmp_path / "stub.c").write_text("const void* OrtGetApiBase(void) { return 0; }\n")
    (tmp_path / "binding.c").write_text("const void* OrtGetApiBase(void);\n"
                                        "const void* Base(void) { return OrtGetApiBase(); }\n")
    for arguments in (("stub.so", tmp_path / "stub.c", f"-Wl,-soname,{wanted}"),
                      ("binding.so", tmp_path / "binding.c", tmp_path / "stub.so")):
        done = run(compiler(), "-shared", "-fPIC", "-o", tmp_path / arguments[0], *arguments[1:])
        assert done.returncode == 0, done.stderr
    (tmp_path / "there").mkdir()
    library = tmp_path / "there" / file
    shutil.copy(BUILD / "lib/libonnxruntime.so.1", library)
    program = ("import ctypes, sys\nfirst = ctypes.CDLL(sys.argv[1])\nbinding = ctypes.CDLL(sys.argv[2])\n"
               "first.OrtGetApiBase.restype = binding.Base.restype = ctypes.c_void_p\n"
               "assert first.OrtGetApiBase() == binding.Base()\n"
               "lines = [one.split() for one in open('/proc/self/maps') if sys.argv[1] in one]\n"
               "assert lines and not any('w' in one[1] and 'x' in one[1] for one in lines)")
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = run(sys.executable, "-c", program, library, tmp_path / "binding.so", env=environment)
    assert done.returncode == 0, done.stderr


def test_the_c_program_passes():
    done = run(BUILD / "bin/capi_program", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b\d{3,} checks, 0 failed", done.stdout)


def test_the_cpp_program_passes():
    done = run(BUILD / "bin/capi_program_cpp", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x, float[4,N] w) => (float[N,N] y, float[N,4] z, float[N,4] s)
{ y = MatMul(x, w)
  z = Tanh(x)
  s = Softmax <axis = -1> (x) }"""


def test_a_c_client_gets_the_same_from_onnx_runtime(tmp_path):
    import onnxruntime
    peers = list(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*"))
    assert peers, "expected the C library of ONNX Runtime beside its Python module"
    model = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), model)
    ours = run(BUILD / "bin/capi_run_model", LIBRARY, model, 5)
    theirs = run(BUILD / "bin/capi_run_model", peers[0], model, 5)
    assert ours.returncode == 0, ours.stderr
    for our_line, their_line in zip(ours.stdout.splitlines(), theirs.stdout.splitlines(), strict=True):
        our_head, our_numbers = our_line.split("] ")
        their_head, their_numbers = their_line.split("] ")
        assert our_head == their_head
        assert [float(n) for n in our_numbers.split()] == pytest.approx([float(n) for n in their_numbers.split()],
                                                                       rel=1e-4, abs=1e-6)
