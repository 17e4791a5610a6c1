"""LoRA adapters: files of ONNX Runtime's are read here and ours there, and runs use their parameters."""
import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx
from sardonyx.adapters import AdapterFormat, LoraAdapter

MODEL = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 18]>
    g (float[2,3] x, float[2,3] a) => (float[2,3] y) <float[2,3] a = {0, 0, 0, 0, 0, 0}> { y = Add(x, a) }
    """).SerializeToString()
VALUES = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.arange(4), "half": np.ones((2, 2), np.float16),
          "empty": np.zeros((0, 5), np.uint8), "scalar": np.array(7.5)}


def write_ours(path, without=None):
    made = AdapterFormat()
    made.adapter_version, made.model_version = 3, 7
    made.parameters = {name: sardonyx.OrtValue.ortvalue_from_numpy(array) for name, array in VALUES.items()
                       if name != without}
    made.export_adapter(path)


def write_theirs(path):
    made = onnxruntime.AdapterFormat()
    made.set_adapter_version(3)
    made.set_model_version(7)
    made.set_parameters({name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in VALUES.items()})
    made.export_adapter(str(path))


def test_a_file_of_onnx_runtime_is_read(tmp_path):
    write_theirs(tmp_path / "a.onnx_adapter")
    found = AdapterFormat.read_adapter(tmp_path / "a.onnx_adapter")
    assert (found.format_version, found.adapter_version, found.model_version) == (1, 3, 7)
    assert set(found.parameters) == set(VALUES)
    for name, value in found.parameters.items():
        np.testing.assert_array_equal(value.numpy(), VALUES[name])
        assert value.numpy().dtype == VALUES[name].dtype


def test_onnx_runtime_reads_a_file_of_ours(tmp_path):
    write_ours(tmp_path / "a.onnx_adapter", without="scalar")  # which it writes, but does not read
    found = onnxruntime.AdapterFormat.read_adapter(str(tmp_path / "a.onnx_adapter"))
    assert (found.get_format_version(), found.get_adapter_version(), found.get_model_version()) == (1, 3, 7)
    assert set(found.get_parameters()) == set(VALUES) - {"scalar"}
    for name, value in found.get_parameters().items():
        np.testing.assert_array_equal(value.numpy(), VALUES[name])


def test_runs_use_the_parameters(tmp_path):
    made = AdapterFormat()
    made.parameters = {"a": sardonyx.OrtValue.ortvalue_from_numpy(VALUES["a"])}
    made.export_adapter(tmp_path / "a.onnx_adapter")
    adapter = LoraAdapter()
    options = sardonyx.RunOptions()
    options.add_active_adapter(adapter)  # nothing was loaded into it, so it adds nothing
    adapter.Load(str(tmp_path / "a.onnx_adapter"))
    options.add_active_adapter(adapter)
    del adapter
    session, x = sardonyx.InferenceSession(MODEL), np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x}, options)[0], x + VALUES["a"])
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)
    np.testing.assert_array_equal(session.run(None, {"x": x, "a": x}, options)[0], x + VALUES["a"])


@pytest.mark.parametrize("adapter", [None, "text", 5])
def test_what_is_not_an_adapter_is_refused(adapter):
    """ONNX Runtime's process ends at None."""
    with pytest.raises(TypeError, match=f"expected a LoraAdapter, found '{type(adapter).__name__}'"):
        sardonyx.RunOptions().add_active_adapter(adapter)


def test_values_outlive_the_file_and_the_adapter(tmp_path):
    write_ours(tmp_path / "a.onnx_adapter")
    value = AdapterFormat.read_adapter(tmp_path / "a.onnx_adapter").parameters["a"]
    (tmp_path / "a.onnx_adapter").unlink()
    np.testing.assert_array_equal(value.numpy(), VALUES["a"])


@pytest.mark.parametrize(("content", "said"), [
    (b"", "identifier TORT"), (b"no adapter at all", "identifier TORT"),
    (b"\x0c\0\0\0TORT" + b"\xff" * 60, "damaged or cut off")])
def test_another_file_is_refused_by_name(tmp_path, content, said):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(RuntimeError, match=f"bad: adapter: expected a.*{said}"):
        LoraAdapter().Load(tmp_path / "bad")
    with pytest.raises(RuntimeError, match="not_there"):
        LoraAdapter().Load(tmp_path / "not_there")
