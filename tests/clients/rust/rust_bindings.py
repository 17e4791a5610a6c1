"""Rust: the first binding, which is linked with the library, and gline-rs on ort 2.0.0-rc.9, which loads it."""
import shutil
import sys

import models
from client import PROGRAMS, compare_printed, must, need

sys.path.insert(0, str(PROGRAMS / "rust"))
import entity_models  # noqa: E402

CRATES = {"onnxruntime": "0.0.14", "gline-rs": "1.1.0"}
NAME = "Rust: " + ", ".join(CRATES)
VERSION = ", ".join(CRATES.values())
KIND = "library"
RUNS = "all types of elements and options of a binding from the time of 1.8, entities in texts, compared with stock's"
PROJECTS = {
    "first": ('onnxruntime = "=0.0.14"',),
    "entities": ('gline-rs = { version = "=1.1.0", features = ["load-dynamic"] }', 'orp = "1"'),
}


def install(place):
    from run import stock_library
    need("cargo")
    library = place / "link/lib/libonnxruntime.so"
    library.parent.mkdir(parents=True)
    library.symlink_to(stock_library())
    for name, dependencies in PROJECTS.items():
        source = place / name / "src"
        source.mkdir(parents=True)
        (place / name / "Cargo.toml").write_text("\n".join(
            ["[package]", f'name = "{name}"', 'version = "0.1.0"', 'edition = "2021"', "[dependencies]",
             *dependencies, ""]))
        shutil.copy(PROGRAMS / f"rust/{name}.rs", source / "main.rs")
        must("cargo", "build", "--quiet", cwd=place / name, timeout=3600,
             env={"CARGO_TARGET_DIR": str(place / "target"), "ORT_SKIP_DOWNLOAD": "1", "ORT_STRATEGY": "system",
                  "ORT_LIB_LOCATION": str(place / "link")})
        shutil.copy(place / "target/debug" / name, place / name / "program")
    shutil.rmtree(place / "target")
    models.make(place / "models")
    entity_models.make(place / "entities/models")


def run(place, side):
    library = place / side.name / "libonnxruntime.so.1"
    shutil.rmtree(place / side.name, ignore_errors=True)
    library.parent.mkdir()
    library.symlink_to(side.library)
    results = {}
    for name, folder in (("first", place / "models"), ("entities", place / "entities/models")):
        printed = compare_printed(place / name, side, place / name / "program", folder, cwd=place,
                                  env={"ORT_DYLIB_PATH": str(side.library), "LD_LIBRARY_PATH": str(library.parent)})
        results |= {f"{name}: {test}": outcome for test, outcome in printed.items()}
    return results
