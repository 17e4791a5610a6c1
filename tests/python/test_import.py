"""`import sardonyx` and a run import few modules: programs that end soon wait for them."""
import subprocess
import sys

import onnx

MODEL = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y) { y = Neg (x) }""").SerializeToString()
# What took most of the time once: asyncio alone three quarters of it.
SLOW = ("asyncio", "json", "logging", "ml_dtypes", "onnx", "random", "socket", "ssl", "subprocess")
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
