"""A finding in the watched library is reported even where the program expects that its child ends."""
import subprocess

import pytest
import watched_interface

# The library of a client, and the program that calls it in a child, as tests/capi/every_function does.
LIBRARY = """
#include <cstdlib>
extern "C" int Answer(int fault) {
  char* bytes = static_cast<char*>(std::calloc(8, 1));
  const int answer = fault == 1 ? bytes[7 + fault] : fault == 2 ? 2147483646 + fault : bytes[7];
  std::free(bytes);
  if (fault == 3) std::free(std::malloc(static_cast<size_t>(1) << 60));
  return answer;
}"""
PROGRAM = """
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 2;
  if (fork() == 0) _exit(((int (*)(int))dlsym(library, "Answer"))(atoi(arguments[2])) != 0);
  wait(NULL);
  return 0;
}"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    (folder / "bin").mkdir()
    for name, text, flags in (("library.cpp", LIBRARY, ["-shared", "-fPIC", "-fsanitize=address,undefined",
                                                        "-fno-sanitize-recover=all", "-o", folder / "library.so"]),
                              ("program.c", PROGRAM, ["-ldl", "-o", folder / "program"])):
        (folder / name).write_text(text)
        compiler = "clang++" if name.endswith(".cpp") else "clang"
        subprocess.run([compiler, folder / name, *flags], check=True)
    return watched_interface.write_script(folder, folder / "program"), folder


@pytest.mark.parametrize("fault, words", [
    (0, None),
    (1, "heap-buffer-overflow"),
    (2, "signed integer overflow"),
    (3, None),  # a size that no memory has: only a warning
])
def test_a_fault_of_a_child_is_found(program, fault, words):
    script, folder = program
    for report in folder.glob("report.*"):
        report.unlink()
    subprocess.run([script, folder / "library.so", str(fault)], check=True)
    found = watched_interface.findings(folder)
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_the_peer_is_opened_without_the_runtime(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho ${LD_PRELOAD:-nothing}\n")
    program.chmod(0o755)
    script = watched_interface.write_script(tmp_path, program)
    for library, loaded in (("site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1", "nothing"),
                            ("lib/libonnxruntime.so.1", str(watched_interface.runtime()))):
        done = subprocess.run([script, library], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == loaded
