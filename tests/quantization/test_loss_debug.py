"""qdq_loss_debug, the calibration table and the command of preprocess do what ONNX Runtime's do."""
import inspect
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime.quantization as peer
import onnxruntime.quantization.qdq_loss_debug as theirs
import pytest
import sardonyx.quantization as ours
import sardonyx.quantization.qdq_loss_debug as mine
from quantized_models import Reader, cnn, feed, mlp


@pytest.mark.parametrize("options", [{}, {"per_channel": True}, {"activation_type": ours.QuantType.QUInt8}], ids=str)
@pytest.mark.parametrize("make", [mlp, cnn])
def test_errors_of_values_and_weights(tmp_path, make, options):
    onnx.save(make(), tmp_path / "f.onnx")
    ours.quantize_static(tmp_path / "f.onnx", tmp_path / "q.onnx", Reader(make()), **options)
    matched = {}
    for library in (mine, theirs):
        values = {}
        for name in ("f", "q"):
            path = str(tmp_path / f"{name}_{library.__name__}.onnx")
            library.modify_model_output_intermediate_tensors(str(tmp_path / f"{name}.onnx"), path)
            values[name] = library.collect_activations(path, Reader(make()))
        entries = library.create_activation_matching(values["q"], values["f"])
        weights = library.create_weight_matching(str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx"))
        # A value that the float model does not have (it was merged away) has no error against it.
        for entry in entries.values():
            entry.setdefault("float", None)
        matched[library] = library.compute_activation_error(entries), weights
    (found, weights), (wanted, other_weights) = matched[mine], matched[theirs]
    assert set(found) == set(wanted) and set(weights) == set(other_weights) and len(found) > 3
    for name, entry in wanted.items():
        for key, value in entry.items():
            assert abs(found[name][key] - value) < 1 or value > 60, (name, key)
    # ONNX Runtime's functions fail for a weight that is one number, and subtract zero points in 8 bits.
    assert min(mine.compute_weight_error(weights).values()) > 25


def test_numbers_and_wrong_arguments(tmp_path):
    x, y = np.float32([1, 2, 3]), np.float32([1, 2, 3.1])
    for pair in ((x, y), ([x, y], [y, y]), (x, x), (np.zeros(3), np.zeros(3))):
        assert mine.compute_signal_to_quantization_noice_ratio(*pair) == pytest.approx(
            theirs.compute_signal_to_quantization_noice_ratio(*pair))
    with pytest.raises(RuntimeError, match="2 and 1"):
        mine.compute_signal_to_quantization_noice_ratio([x, y], [x])
    onnx.save(mlp(), tmp_path / "f.onnx")
    mine.modify_model_output_intermediate_tensors(tmp_path / "f.onnx", tmp_path / "a.onnx", ["Relu"], True)
    found = mine.collect_activations(str(tmp_path / "a.onnx"), [feed(mlp())])
    assert set(found) == {"a2", "a3"}
    with pytest.raises(RuntimeError, match="none"):
        mine.collect_activations(str(tmp_path / "a.onnx"), [])
    for name, other in vars(theirs).items():
        if inspect.isfunction(other) and other.__module__ == theirs.__name__ and name[0] != "_":
            assert list(inspect.signature(getattr(mine, name)).parameters) == list(inspect.signature(other).parameters)


def test_tables_of_ranges(tmp_path):
    for name, library in (("ours", ours), ("peer", peer)):
        data = library.TensorsData(library.CalibrationMethod.MinMax, {
            "b": (np.float32(-1), np.float32(2.5)), "a": (np.float32(-3), np.float32(0.125))})
        os.makedirs(tmp_path / name)
        library.write_calibration_table(data, str(tmp_path / name))
    for file in ("calibration.cache", "calibration.flatbuffers"):
        assert (tmp_path / "ours" / file).read_bytes() == (tmp_path / "peer" / file).read_bytes()
    assert '"a"' in (tmp_path / "ours/calibration.json").read_text()


def test_the_command_that_prepares(tmp_path):
    onnx.save(mlp(), tmp_path / "f.onnx")
    command = [sys.executable, "-m", "sardonyx.quantization.preprocess", "--output", str(tmp_path / "p.onnx"),
               "--input"]
    subprocess.run([*command, str(tmp_path / "f.onnx"), "--skip_optimization", "True"], check=True)
    assert {entry.key for entry in onnx.load(tmp_path / "p.onnx").metadata_props} >= {"onnx.quant.pre_process"}
    failed = subprocess.run([*command, str(tmp_path / "none.onnx")], capture_output=True, text=True)
    assert failed.returncode == 1 and "none.onnx" in failed.stderr and "Traceback" not in failed.stderr
