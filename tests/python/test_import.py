"""`import sardonyx` and a run import few modules: programs that end soon wait for them."""
import subprocess
import sys

import onnx

MODEL = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y) { y = Neg (x) }""").SerializeToString()
# What took most of the time once: asyncio alone three quarters of it, then our enumerations a sixth.
SLOW = ("asyncio", "json", "logging", "ml_dtypes", "onnx", "random", "socket", "ssl", "subprocess", "threading",
        "sardonyx.adapters", "sardonyx.allocators", "sardonyx.binding", "sardonyx.compile", "sardonyx.enumerations")
PROGRAM = """import sys, numpy as np
x, before = np.ones(2, np.float32), set(sys.modules)
import sardonyx
sardonyx.InferenceSession(sys.stdin.buffer.read(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
print(*sorted(set(sys.modules) - before))"""


def test_a_run_imports_no_slow_modules():
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=MODEL, capture_output=True, timeout=60, check=True)
    imported = done.stdout.decode().split()
    assert "sardonyx.inference" in imported
    assert not set(SLOW) & set(imported)


def test_names_that_are_imported_later_are_there_and_listed():
    program = """import sardonyx
assert set(sardonyx.__all__) <= set(dir(sardonyx))
print(sardonyx.compile.ModelCompiler is sardonyx.ModelCompiler, sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL)
print(sardonyx.SessionOptions().graph_optimization_level is sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL)
from sardonyx import *
print(OrtSparseFormat.__name__, IOBinding.__name__, LoraAdapter.__name__)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True, text=True)
    assert done.stdout == "True GraphOptimizationLevel.ORT_ENABLE_ALL\nTrue\nOrtSparseFormat IOBinding LoraAdapter\n"
