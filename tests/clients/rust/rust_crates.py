"""Rust: crates on three releases of ort, each of which loads the library that ORT_DYLIB_PATH names."""
import shutil

import transformers_small
from client import PROGRAMS, compare_printed, must, need

CRATES = {"fastembed": "7.5.0", "magika": "1.1.0", "silero-vad-rust": "6.2.2", "voice_activity_detector": "0.2.1"}
NAME = "Rust: " + ", ".join(CRATES)
VERSION = ", ".join(CRATES.values())
KIND = "library"
RUNS = "vectors and ranks of texts, types of files, voice activity; with ort 2.0.0-rc.15, rc.12 and rc.10"
DYNAMIC = 'default-features = false, features = ["load-dynamic"'
# By program: what its project depends on. A crate that names no release of ort gets the one that it was written for.
PROJECTS = {
    "embeddings": ('fastembed = { version = "=7.5.0", default-features = false, '
                   'features = ["onnx", "ort-load-dynamic"] }', 'anyhow = "1"'),
    "types": ('magika = "=1.1.0"', f'ort = {{ version = "=2.0.0-rc.12", {DYNAMIC}, "api-18"] }}'),
    "silero": ('silero-vad-rust = "=6.2.2"', 'anyhow = "1"', f'ort = {{ version = "=2.0.0-rc.10", {DYNAMIC}] }}',
               'ort-sys = "=2.0.0-rc.10"'),
    "detector": ('voice_activity_detector = { version = "=0.2.1", features = ["load-dynamic"] }',),
}


def install(place):
    need("cargo")
    for name, dependencies in PROJECTS.items():
        source = place / name / "src"
        source.mkdir(parents=True)
        (place / name / "Cargo.toml").write_text("\n".join(
            ["[package]", f'name = "{name}"', 'version = "0.1.0"', 'edition = "2021"', "[dependencies]",
             *dependencies, ""]))
        shutil.copy(PROGRAMS / f"rust/{name}.rs", source / "main.rs")
        shutil.copy(PROGRAMS / "rust/sound.rs", source)
        must("cargo", "build", "--quiet", cwd=place / name,
             env={"CARGO_TARGET_DIR": str(place / "target"), "ORT_SKIP_DOWNLOAD": "1"}, timeout=3600)
        shutil.copy(place / "target/debug" / name, place / name / "program")
    shutil.rmtree(place / "target")
    transformers_small.make(place / "models")


def run(place, side):
    files = [str(path) for path in sorted(PROGRAMS.glob("*/*")) if path.is_file()]
    arguments = {"embeddings": [place / "models"], "types": files}
    results = {}
    for name in PROJECTS:
        printed = compare_printed(place / name, side, place / name / "program", *arguments.get(name, ()),
                                  env={"ORT_DYLIB_PATH": str(side.library)}, cwd=place)
        results |= {f"{name}: {test}": outcome for test, outcome in printed.items()}
    return results
