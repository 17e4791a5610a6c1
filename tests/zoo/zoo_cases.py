"""tests/zoo/zoo_cases.py - how a model of the zoo is tested: levels, sizes, comparison, tolerances.

tolerances.tsv has a row for each model that amplifies rounding; the tolerance of all others is 1e-4. rounding.py
measures the rows: how far ONNX Runtime differs from itself.
"""
import dataclasses
import functools
import math
import pathlib

import compare_values
import model_zoo

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL")
DEFAULT = 1e-4
SEEDS = 32  # behind every row of tolerances.tsv: a larger number for one model only would be a looser rule for it
TOLERANCES = pathlib.Path(__file__).with_name("tolerances.tsv")
HEADER = f"""# Tolerances above 1e-4, written by rounding.py, every row with {SEEDS} seeds for each size of a model.
# Model, error, detections without a partner, and what was measured."""


@dataclasses.dataclass(frozen=True)
class Tolerance:
    error: float = DEFAULT
    unmatched: int = 0  # detections that may be in one set only
    reason: str = ""


@functools.cache
def tolerances():
    rows = {}
    for line in TOLERANCES.read_text().splitlines() if TOLERANCES.exists() else ():
        if line and not line.startswith("#"):
            name, error, unmatched, reason = line.split("\t")
            rows[name] = Tolerance(float(error), int(unmatched), reason)
    return rows


def tolerance(name):
    return tolerances().get(name, Tolerance())


def round_up(value):
    """To two digits, upwards."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.1e}")


def write_tolerances(measured):
    """Renews the rows of the measured models, each measured with SEEDS seeds."""
    lines = [line for line in TOLERANCES.read_text().splitlines()
             if not line.startswith("#") and line.split("\t")[0] not in measured]
    for name, row in measured.items():
        if row["error"] > DEFAULT or row["unmatched"]:
            error = max(DEFAULT, round_up(row["error"]))
            lines.append(f"{name}\t{error:.1e}\t{row['unmatched']}\tONNX Runtime differs from itself by "
                         f"{row['error']:.2e} ({row['where']}; {SEEDS} seeds)")
    TOLERANCES.write_text("\n".join([HEADER, *sorted(lines)]) + "\n")


def sum_exactly(engine, options):
    """Without VNNI, ONNX Runtime's sums of products of uint8 and int8 overflow unless it is told that they must not."""
    if engine.__name__ == "onnxruntime":
        options.add_session_config_entry("session.x64quantprecision", "1")


def open_session(engine, path, level, threads=2):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    sum_exactly(engine, options)
    return engine.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(session, feed):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def compare(name, got, want):
    return compare_values.compare_outputs(got, want, model_zoo.TABLES.get(name))
