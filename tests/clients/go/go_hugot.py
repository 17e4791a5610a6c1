"""Go: hugot's pipelines, with the tokenizers of Hugging Face as a static library of Rust."""
import json
import shutil

import transformers_small
from client import PROGRAMS, compare_printed, must, need

NAME = "Go: github.com/knights-analytics/hugot"
VERSION = "0.5.2"
KIND = "library"
RUNS = "pipelines on four small random models with and without options, compared with stock's"


def install(place):
    need("go", "gcc", "cargo")
    source = place / "source"
    source.mkdir()
    require = f"github.com/knights-analytics/hugot v{VERSION}"
    (source / "go.mod").write_text(f"module client\n\ngo 1.24\n\nrequire {require}\n")
    shutil.copy(PROGRAMS / "go/hugot.go", source / "main.go")
    must("go", "mod", "tidy", cwd=source)
    tokenizers = json.loads(must("go", "list", "-m", "-json", "github.com/daulet/tokenizers", cwd=source))["Dir"]
    shutil.copytree(tokenizers, place / "tokenizers")
    must("chmod", "-R", "u+w", place / "tokenizers")
    must("cargo", "build", "--quiet", "--release", cwd=place / "tokenizers",
         env={"CARGO_TARGET_DIR": str(place / "target")}, timeout=3600)
    must("go", "build", "-tags", "ORT", "-o", place / "program", ".", cwd=source,
         env={"CGO_LDFLAGS": f"-L{place / 'target/release'}"})
    shutil.rmtree(place / "target")
    transformers_small.make(place / "models")


def run(place, side):
    return compare_printed(place, side, place / "program", side.library, place / "models", cwd=place)
