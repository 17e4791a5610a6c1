"""The lists of operators and kernels, compared with ONNX Runtime's."""
import json
import os
import pathlib
import subprocess
import sys

import onnx
import pytest

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
PROGRAM = """
import json
from onnxruntime.capi import _pybind_state as C
def params(rows):
    return [[p.name, p.typeStr, sorted(p.types), int(p.option), p.isHomogeneous] for p in rows]
schemas = [[s.domain, s.name, s.since_version, s.deprecated, s.min_input, s.max_input, s.min_output, s.max_output,
            params(s.inputs), params(s.outputs),
            sorted([name, a.name, int(a.type), a.required] for name, a in s.attributes.items()),
            sorted([t.type_param_str, sorted(t.allowed_type_strs)] for t in s.type_constraints)]
           for s in C.get_all_operator_schema()]
kernels = [[k.domain, k.op_name, k.provider, *k.version_range, k.type_constraints] for k in C.get_all_opkernel_def()]
try:
    C.get_registered_ep_kernel_defs("Nobody")
except RuntimeError as error:
    refused = "Nobody" in str(error)
cpu = len(C.get_registered_ep_kernel_defs("CPUExecutionProvider")) == len(kernels)
print(json.dumps({"schemas": schemas, "kernels": kernels, "refused": refused, "cpu": cpu}))
"""


def lists(path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONPATH": str(path)}, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def both():
    return lists(BUILD / "as_onnxruntime"), lists("")


def test_schemas_of_both_are_the_same(both):
    ours, theirs = ({(s[0], s[1], s[2]): s[3:] for s in found["schemas"]} for found in both)
    # Operators of the inner domain are each runtime's own; opset 18's GroupNormalization is deprecated in the standard,
    # which opset 21 says.
    common = [key for key in theirs if key in ours and key[0] != "com.ms.internal.nhwc"]
    common.remove(("", "GroupNormalization", 18))
    assert len(common) > 700 and {key for key in theirs if key[0] in ("", "ai.onnx.ml", "com.microsoft")} <= set(ours)
    assert {key: (ours[key], theirs[key]) for key in common if ours[key] != theirs[key]} == {}


def test_a_kernel_is_one_of_a_schema_and_runs_types_of_it(both):
    # A constraint that no parameter uses has the standard's types, whose maps are spelled otherwise.
    schemas = {(s[0], s[1], s[2]): dict(s[11]) | {p[1]: p[2] for p in (*s[8], *s[9])} for s in both[0]["schemas"]}
    for domain, name, provider, first, last, constraints in both[0]["kernels"]:
        allowed = schemas[domain, name, first]
        assert provider == "CPUExecutionProvider" and first <= last
        assert all(types and set(types) <= set(allowed[key]) for key, types in constraints.items()), (domain, name)


def test_kernels_cover_those_of_the_peer_in_the_standard(both):
    ours, theirs = ({(k[0], k[1]) for k in found["kernels"] if k[0] in ("", "ai.onnx.ml")} for found in both)
    known = {(s.domain, s.name) for s in onnx.defs.get_all_schemas()}
    assert len(theirs & known) > 150 and (theirs & known) - ours == set()
    assert both[0]["refused"] and both[0]["cpu"] and both[1]["refused"]
