"""What our libraries need: only the C and C++ runtime, nothing that could clash with the libraries of a program."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
RUN_TIME = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux[-a-z0-9_]*|libpthread|libdl|librt)\.so(\.\d+)?$")


def needed(path):
    text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def foreign(path, also=()):
    return [name for name in needed(path) if not RUN_TIME.match(name) and name not in also]


def test_the_library_needs_the_run_time_only():
    assert needed(BUILD / "lib/libsardonyx.so")
    assert foreign(BUILD / "lib/libsardonyx.so") == []


def test_the_python_module_needs_the_library_besides():
    (module,) = (BUILD / "python/sardonyx").glob("_core*.so")
    assert foreign(module, also=["libsardonyx.so"]) == []


def test_the_tool_needs_the_library_besides():
    assert foreign(BUILD / "bin/sardonyx", also=["libsardonyx.so"]) == []


def test_the_check_sees_a_foreign_library(tmp_path):
    source = tmp_path / "foreign.c"
    source.write_text("#include <zlib.h>\nconst char* Version(void) { return zlibVersion(); }\n")
    library = tmp_path / "libforeign.so"
    subprocess.run(["cc", "-shared", "-fPIC", source, "-lz", "-o", library], check=True)
    assert foreign(library) == ["libz.so.1"]
