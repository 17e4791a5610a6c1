"""Each check of the tree: green on sound code, red on the fault that it is for.

A check that has never been seen red proves nothing, so every fault here is planted in a temporary copy.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import check_isa_symbols
import checks
import lint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def compile_object(folder, name, text, *flags):
    source = write(folder / f"{name}.cpp", text)
    target = folder / f"{name}.o"
    subprocess.run([COMPILER, "-std=c++20", "-c", source, "-o", target, *flags], check=True)
    return str(target)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with the real configuration and checkers, which the checks take for the tree."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__", "abi", "schema"))
    for name in (".clang-format", ".clang-tidy", "ruff.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    for module in (checks, lint):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


# ---- layers ----


def layer_findings(tree):
    command = [sys.executable, tree / "tools/check_layers.py", tree]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode else ""


@pytest.fixture
def layered(tree):
    write(tree / "src/base/error.h", "#include <string>\n")
    write(tree / "src/ir/graph.h", '#include "base/error.h"\n')
    write(tree / "src/kernels/gemm/gemm.h", '#include "base/error.h"\n')
    return tree


def test_layers_are_green_on_allowed_includes(layered):
    assert layer_findings(layered) == ""


def test_layers_are_red_on_a_kernel_that_knows_the_graph(layered):
    write(layered / "src/kernels/gemm/gemm.cpp", '#include "kernels/gemm/gemm.h"\n#include "ir/graph.h"\n')
    assert "src/kernels/gemm/gemm.cpp:2: kernels may not include ir/graph.h" in layer_findings(layered)


def test_layers_are_red_on_a_tool_that_reaches_behind_the_c_tables(layered):
    write(layered / "tools/cli/peek.cpp", '#include "ir/graph.h"\n')
    assert "tools may not include ir/graph.h" in layer_findings(layered)


def test_layers_are_red_on_a_folder_without_a_row(layered):
    write(layered / "src/magic/wand.h", "\n")
    assert "src/magic/wand.h: its folder has no row" in layer_findings(layered)


def test_layers_are_red_on_a_cycle_in_the_table(layered):
    table = layered / "tools/layers.txt"
    table.write_text(table.read_text().replace("\nbase\n", "\nbase                 ir\n"))
    assert "layers.txt: base uses ir, which is not above it" in layer_findings(layered)


# ---- symbols of ISA objects ----

SOUND_KERNEL = """
namespace sardonyx::kernels::avx512 {
static float Twice(float x) { return 2 * x; }
float Dot(const float* a, long n) { float s = 0; for (long i = 0; i < n; ++i) s += Twice(a[i]); return s; }
}
"""
FAULTY_KERNEL = """#include <algorithm>
namespace sardonyx::kernels::avx512 { float Larger(float a, float b) { return std::max(a, b); } }
"""


def test_isa_symbols_are_green_when_all_code_is_in_the_namespace_of_its_isa(tmp_path):
    built = compile_object(tmp_path, "sound", SOUND_KERNEL, "-O0")
    assert check_isa_symbols.check({"avx512": [built]}) == []


def test_isa_symbols_are_red_on_an_inline_function_of_the_standard_library(tmp_path):
    built = compile_object(tmp_path, "fault", FAULTY_KERNEL, "-O0")
    assert any("std::max<float>" in finding for finding in check_isa_symbols.check({"avx512": [built]}))


def test_isa_symbols_allow_highway_targets_that_no_two_isas_share(tmp_path):
    def built(name, isa, target):
        text = (f"namespace hwy::{target} {{ inline float Sqrt(float x) {{ return x; }} }}\n"
                f"namespace sardonyx::kernels::{isa} {{ float F(float x) {{ return hwy::{target}::Sqrt(x); }} }}")
        return [compile_object(tmp_path, name, text, "-O0")]

    isas = {"avx2": built("a", "avx2", "N_AVX2"), "avx512": built("b", "avx512", "N_AVX3")}
    assert check_isa_symbols.check(isas) == []
    isas["avx512"] = built("c", "avx512", "N_AVX2")
    assert "hwy::N_AVX2 is compiled for both avx2 and avx512" in check_isa_symbols.check(isas)[0]


def test_isa_symbols_know_which_functions_of_highway_are_constants(monkeypatch):
    constants = ["hwy::detail::Relations<float>::Unsigned hwy::SignMask<float>()",
                 "hwy::SizeTag<hwy::detail::Relations<float>::is_float?(512) : (1024)> hwy::IsFloatTag<float>()"]
    work = ["void hwy::CopyBytes<8ul>(void const*, void*)", "hwy::Abort(char const*, int, char const*, ...)"]
    monkeypatch.setattr(check_isa_symbols, "defined", lambda objects: [("x.o", name) for name in objects])
    assert check_isa_symbols.check({"avx2": constants}) == []
    assert len(check_isa_symbols.check({"avx2": work})) == len(work)
    assert check_isa_symbols.highway_target("_ZN3hwy6N_AVX26detail21FixConversionOverflow") == "N_AVX2"


# ---- static initialisers ----


def static_init_findings(*objects):
    done = subprocess.run([ROOT / "tools/check_static_init.sh", *objects], capture_output=True, text=True)
    return done.stdout if done.returncode else ""


def test_static_initialisers_are_green_on_tables(tmp_path):
    built = compile_object(tmp_path, "table", "extern const int kTable[]; constexpr int kTable[] = {1, 2};", "-O2")
    assert static_init_findings(built) == ""


def test_static_initialisers_are_red_on_a_global_string(tmp_path):
    text = '#include <string>\nstd::string name = "a text so long that it is allocated";\n'
    assert "_GLOBAL__sub_I" in static_init_findings(compile_object(tmp_path, "global", text, "-O2"))


def test_static_initialisers_are_red_on_a_library_that_is_not_there(tmp_path):
    assert "no such file" in static_init_findings(tmp_path / "nothing.a")


# ---- warnings ----


def test_the_build_is_red_on_an_orphan_function(tmp_path):
    """With the real flags: a function without a declaration is a kernel that no table names."""
    database = json.loads((ROOT / "build/release/compile_commands.json").read_text())
    entry = next(entry for entry in database if entry["file"].endswith("src/kernels/dispatch.cpp"))

    def compile_planted(text):
        source = write(tmp_path / "planted.cpp", text)
        command = entry["command"].replace(entry["file"], str(source)).split()
        command[command.index("-o") + 1] = str(tmp_path / "planted.o")
        return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)

    declared = compile_planted("int Two();\nint Two() { return 2; }\n")
    assert declared.returncode == 0, declared.stderr
    orphan = compile_planted("int Orphan() { return 1; }\n")
    assert orphan.returncode != 0 and "no previous declaration" in orphan.stderr


# ---- lint ----


def test_clang_format_is_red_on_bad_layout_and_mends_it(tree):
    shutil.rmtree(tree / "tools/cli")
    sound = write(tree / "src/base/a.cpp", "int One() { return 1; }\n")
    assert lint.clang_format(lint.sources(), fix=False) == []
    sound.write_text("int One()\n{ return   1; }\n")
    assert "src/base/a.cpp" in lint.clang_format(lint.sources(), fix=False)[0]
    lint.clang_format(lint.sources(), fix=True)
    assert sound.read_text() == "int One() { return 1; }\n"


def test_ruff_is_red_on_an_unused_import(tree):
    assert lint.ruff(fix=False) == []
    write(tree / "tools/planted.py", "import os\n")
    assert any("F401" in finding for finding in lint.ruff(fix=False))


@pytest.fixture
def tidied(tree, monkeypatch):
    def findings(text):
        source = write(tree / "src/base/planted.cpp", text)
        entry = {"file": str(source), "directory": str(tree), "command": f"c++ -std=c++20 -c {source}"}
        write(tree / "build/release/compile_commands.json", json.dumps([entry]))
        return "\n".join(lint.clang_tidy(["src/base/planted.cpp"]))

    monkeypatch.setattr(checks, "configure", lambda folder: [])
    return findings


def test_clang_tidy_is_green_on_sound_code(tidied):
    assert tidied("static int Sum(int number) { return number + 1; }\nint main() { return Sum(-1); }\n") == ""


def test_clang_tidy_is_red_on_a_name_in_the_wrong_case(tidied):
    assert "readability-identifier-naming" in tidied("int main() {\n  int TheAnswer = 0;\n  return TheAnswer;\n}\n")
    assert "readability-identifier-naming" in tidied("class lower {};\nint main() { return sizeof(lower) == 0; }\n")


def test_clang_tidy_is_red_on_a_function_of_more_than_60_lines(tidied):
    lines = "".join(f"  sum += {i};\n" for i in range(70))
    assert "readability-function-size" in tidied(f"int main() {{\n  int sum = 0;\n{lines}  return sum;\n}}\n")


def test_changed_files_are_those_that_differ_from_main(tree):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tree, check=True)

    write(tree / "src/base/old.cpp", "\n")
    git("add", "-A")
    git("commit", "-qm", "base: begin")
    git("checkout", "-qb", "work")
    write(tree / "src/base/new.cpp", "\n")
    assert lint.changed(None) == {"src/base/new.cpp"}
    git("add", "-A")
    git("commit", "-qm", "base: add new")
    assert lint.changed(None) == {"src/base/new.cpp"}
    assert lint.commit_subjects() == []
    git("commit", "-q", "--allow-empty", "-m", "Fixed stuff")
    assert "Fixed stuff" in lint.commit_subjects()[0]
