"""cmake/cached_compiler.sh - compilations with a precompiled header, served from the cache by the header's checksum."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Folder:
    """A folder with a header that is precompiled, a source that includes it, and a cache of its own."""

    def __init__(self, path, compiler):
        self.path, self.compiler = path, compiler
        self.gnu = compiler == "g++"
        self.header = path / ("common.hxx.gch" if self.gnu else "common.hxx.pch")
        self.variables = os.environ | {"CCACHE_DIR": str(path / "cache")}
        self.variables.pop("CCACHE_DISABLE", None)
        (path / "main.cpp").write_text("int main() { return kCode; }\n")
        (path / "common.hxx.cxx").write_text("")

    def cached(self, *arguments):
        script = ROOT / "cmake/cached_compiler.sh"
        subprocess.run([script, "ccache", self.compiler, *arguments], cwd=self.path, env=self.variables, check=True)

    def write_header(self, code):
        (self.path / "common.hxx").write_text(f"#pragma once\ninline constexpr int kCode = {code};\n")

    def precompile(self, code, cached=True):
        self.write_header(code)
        flags = (["-x", "c++-header", "-include", self.path / "common.hxx"] if self.gnu else
                 ["-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", "-Xclang", "-include", "-Xclang",
                  self.path / "common.hxx", "-x", "c++-header"])
        flags += ["-o", self.header, "-c", self.path / "common.hxx.cxx"]
        if cached:
            self.cached(*flags)
        else:
            self.header.unlink()
            subprocess.run([self.compiler, *flags], cwd=self.path, check=True)

    def compile(self):
        """The code that the program returns."""
        flags = (["-fpch-preprocess", "-include", self.path / "common.hxx"] if self.gnu else
                 ["-Xclang", "-include-pch", "-Xclang", self.header, "-Xclang", "-fno-pch-timestamp", "-Xclang",
                  "-include", "-Xclang", self.path / "common.hxx"])
        self.cached(*flags, "-o", self.path / "main.o", "-c", self.path / "main.cpp")
        subprocess.run([self.compiler, "main.o", "-o", "main"], cwd=self.path, check=True)
        return subprocess.run([self.path / "main"]).returncode

    def hits(self):
        said = subprocess.check_output(["ccache", "--print-stats"], env=self.variables, text=True)
        counts = dict(line.split("\t") for line in said.splitlines())
        return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])


@pytest.fixture(params=["g++", "clang++"])
def folder(request, tmp_path):
    return Folder(tmp_path, request.param)


def test_a_file_with_a_precompiled_header_is_served_again(folder):
    folder.precompile(3)
    assert folder.compile() == 3 and folder.hits() == 0
    assert folder.compile() == 3 and folder.hits() == 1


def test_a_file_is_served_by_the_checksum_of_the_header(folder):
    folder.precompile(3)
    assert folder.compile() == 3
    # With the checksum of another header the same compilation is another one.
    pathlib.Path(f"{folder.header}.sum").write_text("another")
    assert folder.compile() == 3 and folder.hits() == 0


def test_a_changed_header_is_not_served(folder):
    folder.precompile(3)
    assert folder.compile() == 3
    folder.precompile(4)
    assert folder.compile() == 4
    served = folder.hits()
    folder.precompile(3)
    assert folder.compile() == 3 and folder.hits() == served + 2  # the header and the file


def test_a_header_made_without_the_script_is_not_taken_for_the_one_before(folder):
    folder.precompile(3)
    assert folder.compile() == 3
    folder.precompile(4, cached=False)
    assert folder.compile() == 4
