"""With the flags of the build, the sanitizers find the faults that they are for."""
import pathlib
import re
import subprocess

import fuzz
import pytest
import run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]

FAULTS = {
    "thread": ("data race", """
        volatile int shared_count = 0;
        int main() {
          const auto count = [] { for (int i = 0; i < 1000; ++i) shared_count = shared_count + 1; };
          std::thread other(count);
          count();
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


def flags_of(sanitizers):
    toolchain = (ROOT / "cmake/toolchain.cmake").read_text()
    own = re.search(r"add_compile_options\(-fsanitize=\$\{SDX_SANITIZE\} (.*)\)", toolchain)[1].split()
    return ["-std=c++20", "-O1", f"-fsanitize={sanitizers}", *own]


@pytest.mark.parametrize("sanitizers", FAULTS)
def test_a_fault_is_seen(sanitizers, tmp_path):
    message, text = FAULTS[sanitizers]
    source = tmp_path / "fault.cpp"
    source.write_text("#include <thread>\n#include <vector>\n" + text)
    program = tmp_path / "fault"
    subprocess.run(["c++", *flags_of(sanitizers), source, "-o", program], check=True)
    wrapper = run_tests.fixed_addresses() if sanitizers == "thread" else []
    done = subprocess.run([*wrapper, program], capture_output=True, text=True)
    assert done.returncode != 0 and message in done.stderr


# What the fuzz targets leave to the address sanitizer: faults that two checks of undefined behaviour would report, too.
LEFT_FAULTS = {
    "null pointer": "Pair* volatile pair = nullptr; return pair->second;",
    "outside of an object": "int one = 1; Pair* volatile pair = reinterpret_cast<Pair*>(&one); return pair->second;",
}


@pytest.mark.parametrize("fault", LEFT_FAULTS)
def test_what_fuzz_targets_leave_to_the_address_sanitizer_is_seen(fault, tmp_path):
    toolchain = (ROOT / "cmake/toolchain.cmake").read_text()
    of_fuzz = re.search(r"if\(SDX_FUZZ\)\n  add_compile_options\((.*)\)", toolchain)[1].split()
    source, program = tmp_path / "fault.cpp", tmp_path / "fault"
    source.write_text(f"struct Pair {{ int first, second; }};\nint main() {{ {LEFT_FAULTS[fault]} }}\n")
    subprocess.run([fuzz.COMPILER, *flags_of("address,undefined"), *of_fuzz, source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode != 0 and "ERROR: AddressSanitizer" in done.stderr


# What a kernel as those of src/kernels may do wrong with seven floats in a block of the heap; first, what is right.
VECTOR_USES = {
    "right": "y = Load(x, FirstLanes(n));",
    "whole vector": "y = Load(x);",
    "one lane too many": "y = Load(x + 4, FirstLanes(n - 3));",
    "behind the last": "y = Load(x + 7, FirstLanes(n - 6));",
    "store": "Store(x + 6, y, FirstLanes(n - 5));",
    "table": "y = LookUp(x, UintVec{} + unsigned(n));",
}
VECTOR_KERNEL = """
#include <cstdlib>
#include "kernels/simd/select_i32.h"
namespace sardonyx::kernels::SDX_ISA {
__attribute__((noinline)) Vec Kernel(float* x, int n, int use) {
  Vec y = {};
  switch (use) { USES }
  return y;
}
}
int main(int count, char** arguments) {
  using namespace sardonyx::kernels::SDX_ISA;
  float* x = static_cast<float*>(std::calloc(7, sizeof(float)));
  const Vec y = Kernel(x, count + 5, std::atoi(arguments[1]));
  std::free(x);
  return static_cast<int>(Sum(y));
}
"""
NEEDS = {"x86-64-v3": "avx2", "x86-64-v4": "avx512f"}  # a flag in /proc/cpuinfo by -march; others are not tried


def vector_isas():
    """Name and flags of the ISAs of cmake/isa.cmake that this machine has."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text().split()
    lines = re.findall(r'"(\w+) (-march=(\S+)[^"]*)"', (ROOT / "cmake/isa.cmake").read_text())
    return [(isa, flags.split()) for isa, flags, level in lines if NEEDS.get(level) in cpu]


@pytest.mark.parametrize("isa, isa_flags", vector_isas())
def test_faults_of_vector_code_are_seen_as_the_fuzz_targets_are_built(isa, isa_flags, tmp_path):
    source, program = tmp_path / "kernel.isa.cpp", tmp_path / "kernel"
    cases = (f"case {number}: {use} break;" for number, use in enumerate(VECTOR_USES.values()))
    source.write_text(VECTOR_KERNEL.replace("USES", " ".join(cases)))
    text = (ROOT / "cmake/isa.cmake").read_text()
    of_vectors = re.search(r"set\(SDX_ISA_FUZZ_FLAGS ([^)]*)\)", text)[1].split()
    flags = [*flags_of("address,undefined"), *of_vectors, *isa_flags, f"-DSDX_ISA={isa}", f"-I{ROOT / 'src'}"]
    subprocess.run([fuzz.COMPILER, *flags, source, "-o", program], check=True)
    for number, use in enumerate(VECTOR_USES):
        done = subprocess.run([program, str(number)], capture_output=True, text=True)
        seen = done.returncode != 0 and "ERROR: AddressSanitizer" in done.stderr
        assert seen == (use != "right"), f"{use}: {done.stderr}"
