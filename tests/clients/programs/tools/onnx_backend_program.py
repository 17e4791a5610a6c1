"""Runs ONNX's own tests of backends on `onnxruntime.backend`, but those that download models. Arguments: none."""
import unittest
import warnings

import onnx.backend.test
import onnxruntime
import onnxruntime.backend


class Lines(unittest.TestResult):
    """Prints `ok NAME` or `failed NAME: why` for each test that is not skipped."""

    def addSuccess(self, test):  # noqa: N802
        print(f"ok {test.id().rpartition('.')[2]}", flush=True)

    def addFailure(self, test, error):  # noqa: N802
        why = str(error[1]).replace("\n", " ")
        print(f"failed {test.id().rpartition('.')[2]}: {type(error[1]).__name__}: {why[:300]}", flush=True)

    addError = addFailure  # noqa: N815


warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)
runner = onnx.backend.test.BackendTest(onnxruntime.backend, __name__)
for name, cases in sorted(runner.test_cases.items()):
    if "RealModel" not in name:
        unittest.defaultTestLoader.loadTestsFromTestCase(cases).run(Lines())
print("end")
