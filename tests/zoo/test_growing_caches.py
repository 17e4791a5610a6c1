"""Decoders of the zoo whose caches grow by a token a step give the bits that a fresh session gives."""

import model_zoo
import numpy as np
import pytest
import sardonyx

pytestmark = pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())
SOURCE = 100  # rows of the encoder's states
STEPS, FRESH_EVERY = 60, 6
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64}


def feeds_of(session, past, step):
    rng = np.random.default_rng(step)
    sizes = {"past": past, "source": SOURCE}
    feeds = {}
    for port in session.get_inputs():
        shape = [sizes.get(size, size) for size in port.shape]
        dtype = TYPES[port.type]
        feeds[port.name] = np.full(shape, step, dtype) if dtype == np.int64 else rng.standard_normal(shape, dtype)
    return feeds


@pytest.mark.parametrize("name", ["whisper_tiny_decoder", "t5_small_decoder"])
@pytest.mark.parametrize("mode", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
def test_steps_of_a_decoder(name, mode):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 2
    options.execution_mode = getattr(sardonyx.ExecutionMode, mode)
    path = model_zoo.path(name)
    session = sardonyx.InferenceSession(path, options)
    for step in range(STEPS):
        feeds = feeds_of(session, 7 + step, step)
        results = session.run(None, feeds)
        if step % FRESH_EVERY:
            continue
        fresh = sardonyx.InferenceSession(path, options).run(None, feeds)
        for ours, wanted in zip(results, fresh, strict=True):
            np.testing.assert_array_equal(ours, wanted, err_msg=str(step))
