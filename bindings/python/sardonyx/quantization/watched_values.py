"""Sessions that give values from within a model, of models of any size."""
import contextlib
import os
import tempfile

from sardonyx.model import Model
from sardonyx.quantization.quant_types import MODEL_SIZE_THRESHOLD

_GRAPH = 1 << 26  # bytes that all but the weights takes, at most


@contextlib.contextmanager
def watching(model, names, providers=None):
    """A session of a sardonyx.model.Model, whose outputs are the named values. The model stays as it is: what runs is a
    copy, on disk where it does not fit into 2 GB."""
    import sardonyx

    size = sum(one.size for graph in model.graphs if graph is not None for one in graph.initializers.values())
    providers = providers or ["CPUExecutionProvider"]
    if size + _GRAPH < MODEL_SIZE_THRESHOLD:
        watched = _with_outputs(Model(model), names)
        yield sardonyx.InferenceSession(watched.to_bytes(), providers=providers)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy, watched = (os.path.join(folder, name) for name in ("copy.onnx", "watched.onnx"))
        model.save(copy, "copy.data")
        _with_outputs(Model(copy), names).save(watched, "watched.data")
        yield sardonyx.InferenceSession(watched, providers=providers)


def _with_outputs(model, names):
    for name in list(model.graph.outputs):
        model.graph.remove_output(name)
    for name in names:
        model.graph.add_output(name)
    return model
