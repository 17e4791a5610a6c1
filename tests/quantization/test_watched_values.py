"""Values from within a model are the same whether the copy that runs is in memory or, as of over 2 GB, on disk."""
import numpy as np
import pytest
import sardonyx.quantization.matmul_nbits_quantizer as nbits
import sardonyx.quantization.watched_values as watched_values
from quantized_models import Reader, feed, mlp
from sardonyx.model import Model


@pytest.mark.parametrize("threshold", [1 << 31, 1])
def test_the_model_stays_as_it_is(monkeypatch, threshold):
    monkeypatch.setattr(watched_values, "MODEL_SIZE_THRESHOLD", threshold)
    model, values = Model(mlp()), feed(mlp())
    with watched_values.watching(model, ["a", "a3"]) as session:
        product, positive = session.run(["a", "a3"], values)
        assert [one.name for one in session.get_outputs()] == ["a", "a3"]
    assert product.shape == positive.shape == (2, 80) and product.min() < 0 <= positive.min()
    assert model.graph.outputs == ["z"]


def test_gptq_of_a_model_on_disk(monkeypatch):
    arrays = []
    for threshold in (1 << 31, 1):
        monkeypatch.setattr(watched_values, "MODEL_SIZE_THRESHOLD", threshold)
        quantizer = nbits.MatMulNBitsQuantizer(mlp(), block_size=16,
                                               algo_config=nbits.GPTQWeightOnlyQuantConfig(Reader(mlp())))
        quantizer.process()
        graph = quantizer.changed.graph
        arrays.append({name: graph.tensor(name) for name in graph.initializers})
    assert set(arrays[0]) == set(arrays[1]) and any("_Q4" in name for name in arrays[0])
    for name, array in arrays[0].items():
        np.testing.assert_array_equal(arrays[1][name], array)
