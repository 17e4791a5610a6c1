"""Every bad model and input ends in an error that says where, which operator, what was expected and what was found."""
import numpy as np
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


def error_of(data, inputs):
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


@pytest.mark.parametrize("name", small_models.ROWS)
def test_a_small_model(name):
    data, code, words, inputs = small_models.build(name)
    check(code, words, error_of(data, inputs))


@pytest.mark.parametrize("name", real_models.CHANGES)
def test_a_real_model_with_one_change(name):
    data, words = real_models.build(name)
    check(real_models.CHANGES[name][1], words, error_of(data, None))


@pytest.mark.parametrize("which", real_models.PATHS)
def test_the_real_models_are_good(which):
    assert error_of(real_models.PATHS[which]().read_bytes(), None) == ("", "no error")


def test_there_are_enough():
    assert len(real_models.CHANGES) >= 40
    assert len(small_models.ROWS) + len(real_models.CHANGES) >= 120
