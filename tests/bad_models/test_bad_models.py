"""Every bad model and input causes an error that names place and operator, what was expected and what was found."""
import numpy as np
import onnx
import operator_calls
import pytest
import real_models
import sardonyx
import small_models

OPTIONS = sardonyx.SessionOptions()
OPTIONS.log_severity_level = 4
OPTIONS.intra_op_num_threads = 1


def made(element, shape):
    """An input that fits, for what is only seen by a run."""
    dims = [dim if isinstance(dim, int) and dim > 0 else 32 for dim in shape]
    return np.zeros(dims, {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}[element])


def error_of(data, inputs, level=OPTIONS.graph_optimization_level):
    OPTIONS.graph_optimization_level = level
    try:
        session = sardonyx.InferenceSession(data, OPTIONS)
        if inputs is None:
            inputs = {port.name: made(port.type, port.shape) for port in session.get_inputs()}
        session.run(None, inputs)
    except Exception as error:  # noqa: BLE001  (which it is, is asserted)
        return type(error).__name__, str(error)
    return "", "no error"


def check(code, words, found):
    kind, message = found
    codes = code if isinstance(code, tuple) else (code,)
    missing = [word for word in words if word.lower() not in message.lower()]
    assert kind in codes and not missing, f"expected {codes} with {missing}, found {kind}: {message}"


SMALL = {**small_models.ROWS, **operator_calls.ROWS}
LEVELS = {"as it is": sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL, "optimized": OPTIONS.graph_optimization_level}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", SMALL)
def test_a_small_model(name, level):
    data, code, words, inputs = small_models.build(SMALL[name])
    check(code, words, error_of(data, inputs, LEVELS[level]))


@pytest.mark.parametrize("name", real_models.CHANGES)
def test_a_real_model_with_one_change(name):
    data, words = real_models.build(name)
    check(real_models.CHANGES[name][1], words, error_of(data, None))


@pytest.mark.parametrize("which", real_models.PATHS)
def test_the_real_models_are_good(which):
    assert error_of(real_models.PATHS[which]().read_bytes(), None) == ("", "no error")


def named(name):
    """A wrong node of this name (bytes)."""
    mark = b"a name of many letters"
    data = small_models.build((small_models.one("y = Relu(x, x)").replace("[it]", "[here]"), "", [], None))[0]
    model = onnx.load_from_string(data)
    model.graph.node[0].name = mark.decode()
    data = model.SerializeToString()
    assert len(name) <= len(mark)
    return data.replace(mark, name.ljust(len(mark)))


@pytest.mark.parametrize("name,shown", [(b"\x1b[31m red", "'\\x1b[31m red"), (b"bell \x07", "'bell \\x07"),
                                        (b"\xff\xfe", "'\\xff\\xfe"), ("größe".encode(), "'größe")])
def test_names_are_made_readable(name, shown):
    kind, message = error_of(named(name), None)
    assert kind == "InvalidGraph" and shown in message and "expected 1 inputs, found 2" in message, message


@pytest.mark.parametrize("field", ["name", "op_type", "domain"])
def test_long_names_are_shortened(field):
    model = onnx.load_from_string(small_models.build((small_models.one("y = Relu(x, x)"), "", [], None))[0])
    setattr(model.graph.node[0], field, "n" * 3_000_000)
    kind, message = error_of(model.SerializeToString(), None)
    assert kind == "InvalidGraph" and "nnnn" in message and "bytes) ..." in message and len(message) < 5000


def test_there_are_enough():
    assert len(real_models.CHANGES) >= 40
    assert len(SMALL) + len(real_models.CHANGES) >= 120
