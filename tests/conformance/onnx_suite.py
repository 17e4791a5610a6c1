"""Runs the official suite (onnx.backend.test) on Sardonyx, case by case.

usage: onnx_suite.py [--update] [--verbose] [NAME_PART ...]

Prints each case that does not pass. --update writes not_passing.txt, the list of cases whose operators are not
implemented yet, with the reason. A case that fails for another reason is never added.
"""
import collections
import pathlib
import re
import sys
import unittest

import numpy as np
import onnx
import onnx.backend.base
import onnx.backend.test.runner
import sardonyx

LIST = pathlib.Path(__file__).with_name("not_passing.txt")
# NOT_IMPLEMENTED must say which operator, in which version, and for which type or variant.
NAMED = re.compile(r"NOT_IMPLEMENTED : .*\[\w+\] .*: .*version \d+ .*is not implemented")

_options = sardonyx.SessionOptions()
_options.intra_op_num_threads = 1
_options.log_severity_level = 3


class Prepared(onnx.backend.base.BackendRep):
    def __init__(self, model):
        self.session = sardonyx.InferenceSession(model.SerializeToString(), _options)
        self.names = [value.name for value in model.graph.input]

    def run(self, inputs, **_kwargs):
        # The suite gives inputs in the order of the graph, without those that have an initializer.
        required = {port.name for port in self.session.get_inputs()}
        names = [name for name in self.names if name in required] if len(inputs) < len(self.names) else self.names
        return self.session.run(None, dict(zip(names, inputs, strict=False)))


class SardonyxBackend(onnx.backend.base.Backend):
    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):  # noqa: ARG003  (every model is)
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):  # noqa: ARG003
        return Prepared(model)


class Runner(onnx.backend.test.runner.Runner):
    full_name = ""  # of the case that runs

    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        """The suite's comparison, which fails on sequences of scalars: their items are compared as outputs are."""
        if RANDOM in cls.full_name:
            assert_random_bits(ref_outputs, outputs)
            return
        atol = NOISE.get(cls.full_name, atol)
        assert len(ref_outputs) == len(outputs), f"{len(outputs)} outputs instead of {len(ref_outputs)}"
        for want, got in zip(ref_outputs, outputs, strict=True):
            if isinstance(got, list) and isinstance(want, list):
                cls.assert_similar_outputs(want, got, rtol, atol, model_dir)
            else:
                super().assert_similar_outputs([want], [got], rtol, atol, model_dir)


# Cases whose reference data can't be met to the digit; what is asked of them instead, and why.
#
# Drawn from a generator that the standard does not name: type and shape are compared, and that all are 0 or 1.
RANDOM = "test_bernoulli"
NOISE = {  # case: atol
    # The exact result is 0 and the reference holds float32 rounding noise of 1.9e-7, above the suite's atol of 1e-7.
    # ONNX Runtime fails these, too.
    "NodeModel/test_dft_inverse": 1e-6,
    "NodeModel/test_dft_inverse_opset19": 1e-6,
}


def assert_random_bits(ref_outputs, outputs):
    for want, got in zip(ref_outputs, outputs, strict=True):
        assert got.dtype == want.dtype, f"{got.dtype} instead of {want.dtype}"
        assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
        assert set(np.unique(got.astype(np.float64))) <= {0.0, 1.0}, "a Bernoulli draw is 0 or 1"


def category(suite):
    return suite.__name__.removeprefix("OnnxBackend").removesuffix("Test")


def cases():
    """{name: a function that runs the case or raises}"""
    runner = Runner(SardonyxBackend, __name__)
    found = {}
    for suite in runner.test_cases.values():
        for name in unittest.defaultTestLoader.getTestCaseNames(suite):
            if name.endswith("_cpu"):
                found[f"{category(suite)}/{name.removesuffix('_cpu')}"] = (suite, name)
    return found


def run(suite, name):
    """("passed" | "not implemented" | "failed", reason)"""
    full = f"{category(suite)}/{name.removesuffix('_cpu')}"
    Runner.full_name = full
    try:
        getattr(suite(name), name)()
    except unittest.SkipTest as skip:
        return "failed", f"skipped: {skip}"
    except sardonyx.NotImplemented as error:
        return ("not implemented" if NAMED.search(str(error)) else "failed"), str(error)
    except BaseException as error:  # noqa: BLE001  (whatever it is, the case failed)
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def expected():
    """{name: reason} of the cases that are known not to be implemented."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def short(reason):
    return " ".join(reason.split())[:300]


def main(arguments):
    update, parts = "--update" in arguments, [a for a in arguments if not a.startswith("--")]
    counts, missing = collections.Counter(), {}
    for name, case in cases().items():
        if parts and not any(part in name for part in parts):
            continue
        outcome, reason = run(*case)
        counts[outcome] += 1
        if outcome == "not implemented":
            missing[name] = short(reason)
        if outcome == "failed" or (outcome != "passed" and "--verbose" in arguments):
            print(f"{outcome}\t{name}\t{short(reason)}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['not implemented']} not implemented")
    if update and not parts:
        head = "# Cases of onnx.backend.test that need operators which are not implemented. Cases are only removed.\n"
        LIST.write_text(head + "".join(f"{name}\t{missing[name]}\n" for name in sorted(missing)))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
