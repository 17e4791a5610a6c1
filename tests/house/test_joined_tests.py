"""cmake/write_joined_tests.cmake - unit tests compiled as one source (SDX_JOINED_TESTS)."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST = """// A comment; with "[brackets]" and a \\\\ in it.
#include <cstdio>

namespace sardonyx {
namespace {

int Value() { return RESULT; }
const bool printed = std::printf("%d %s:%d;", Value(), __FILE__, __LINE__) > 0;

}  // namespace
}  // namespace sardonyx
"""


def join(folder, **texts):
    files = [folder / f"{name}_test.cpp" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text)
    source = folder / "joined.cpp"
    script = ROOT / "cmake/write_joined_tests.cmake"
    return source, subprocess.run(["cmake", "-P", script, source, *files], capture_output=True, text=True)


def test_tests_may_declare_the_same_names_and_keep_their_places(tmp_path):
    source, done = join(tmp_path, first=TEST.replace("RESULT", "1"), second=TEST.replace("RESULT", "2"))
    assert done.returncode == 0, done.stderr
    with open(source, "a", encoding="utf-8") as file:
        file.write("int main() {}\n")
    program = tmp_path / "program"
    subprocess.run(["g++", "-Wall", "-Wmissing-declarations", "-Werror", source, "-o", program], check=True)
    printed = subprocess.check_output([program], text=True)
    assert printed == f"1 {tmp_path}/first_test.cpp:8;2 {tmp_path}/second_test.cpp:8;"


def test_a_test_without_its_unnamed_namespace_is_refused(tmp_path):
    _, done = join(tmp_path, first=TEST, second=TEST.replace("namespace {\n", "").replace("}  // namespace\n", ""))
    assert done.returncode != 0 and "second_test.cpp: expected one unnamed" in " ".join(done.stderr.split())
