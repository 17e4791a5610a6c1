"""The blocks of docs/write_a_provider.md are the files of examples/provider, which build and run in both runtimes."""
import os
import re
import subprocess
import sys

import documents
import onnx.parser
import pytest
from documents import BUILD, ROOT, blocks, run

PAGE = "docs/write_a_provider.md"
MODEL = """<ir_version: 9, opset_import: ["" : 21]>
g (float[n] x) => (float[n] y) { a = Abs(x)  s = Sqrt(a)  y = Exp(s) }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as the page's commands build it, and a model."""
    folder = tmp_path_factory.mktemp("provider")
    (folder / "model.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    lines = [line for block in blocks(PAGE) if block.language == "console" for line in block.text.splitlines()]
    assert [line.split()[0] for line in lines] == ["cmake", "cmake", "python"]
    for line in lines[:2]:
        words = line.replace("build/example_provider", str(folder / "build")).replace("examples/", f"{ROOT}/examples/")
        run(words.split())
    return folder


@pytest.mark.parametrize("name", ["provider.cpp", "CMakeLists.txt", "run.py"])
def test_the_pages_blocks_are_the_complete_file(name):
    path = f"examples/provider/{name}"
    found = [block.text for block in blocks(PAGE) if block.path == path]
    assert "\n".join(found) == (ROOT / path).read_text()


@pytest.mark.parametrize("host", ["sardonyx", "onnxruntime"])
def test_the_example_runs_as_the_page_says(folder, host):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "as_onnxruntime") if host == "sardonyx" else ""}
    done = subprocess.run([sys.executable, ROOT / "examples/provider/run.py", folder / "build/libexample_provider.so",
                           folder / "model.onnx"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = next(block.text for block in blocks(PAGE) if block.path == "output").splitlines()
    got = done.stdout.splitlines()

    def numbers(line):
        return [float(number) for number in re.findall(r"[-\d.]+", line)]

    assert sorted(got[:-1]) == sorted(wanted[:-1])
    assert numbers(got[-1]) == pytest.approx(numbers(wanted[-1]), rel=1e-6)


def test_a_host_that_is_too_old_is_told_so(folder):
    """ONNX Runtime 1.22 has no table of version 23: GetApi answers NULL for it."""
    program = """
#include <cstring>
#include "onnxruntime_c_api.h"
#include <dlfcn.h>
int main(int, char** argv) {
  static const OrtApi* newest = nullptr;
  void* host = dlopen(argv[1], RTLD_NOW);
  auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(host, "OrtGetApiBase"))();
  newest = base->GetApi(1);
  static OrtApiBase old{[](uint32_t version) -> const OrtApi* { return version < 23 ? newest : nullptr; },
                        [] { return "1.22.0"; }};
  using Create = OrtStatus* (*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, size_t, size_t*);
  auto create = reinterpret_cast<Create>(dlsym(dlopen(argv[2], RTLD_NOW), "CreateEpFactories"));
  OrtEpFactory* factory = nullptr;
  size_t count = 0;
  OrtStatus* status = create("example", &old, nullptr, &factory, 1, &count);
  return status != nullptr && std::strstr(newest->GetErrorMessage(status), "version 23 or newer") ? 0 : 1;
}
"""
    (folder / "old.cpp").write_text(program)
    run(["c++", "-std=c++20", f"-I{ROOT / 'include'}", folder / "old.cpp", "-o", folder / "old", "-ldl"])
    run([folder / "old", BUILD / "lib/libsardonyx.so", folder / "build/libexample_provider.so"])


def test_the_blocks_have_a_kind_that_is_tested():
    assert {block.path for block in documents.blocks(PAGE) if block.language != "console"} == {
        "examples/provider/provider.cpp", "examples/provider/CMakeLists.txt", "examples/provider/run.py", "output"}
