"""The sanitizers, with the build's own flags, see the faults that they are for."""
import pathlib
import re
import subprocess

import pytest
import run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]

FAULTS = {
    "thread": ("data race", """
        int shared_count = 0;
        int main() {
          std::thread other([] { ++shared_count; });
          ++shared_count;
          other.join();
        }"""),
    "address,undefined": ("heap-buffer-overflow", """
        int main(int count, char**) {
          std::vector<char> bytes(8);
          return bytes.data()[7 + count];
        }"""),
    "undefined,address": ("signed integer overflow", """
        int main(int count, char**) { return 2147483647 + count; }"""),
}


@pytest.mark.parametrize("sanitizers", FAULTS)
def test_a_fault_is_seen(sanitizers, tmp_path):
    message, text = FAULTS[sanitizers]
    toolchain = (ROOT / "cmake/toolchain.cmake").read_text()
    flags = re.search(r"add_compile_options\(-fsanitize=\$\{SDX_SANITIZE\} (.*)\)", toolchain)[1].split()
    source = tmp_path / "fault.cpp"
    source.write_text("#include <thread>\n#include <vector>\n" + text)
    program = tmp_path / "fault"
    subprocess.run(["c++", "-std=c++20", f"-fsanitize={sanitizers}", *flags, source, "-o", program], check=True)
    wrapper = run_tests.fixed_addresses() if sanitizers == "thread" else []
    done = subprocess.run([*wrapper, program], capture_output=True, text=True)
    assert done.returncode != 0 and message in done.stderr
