"""Small models for examples: mul_1.onnx, sigmoid.onnx and logreg_iris.onnx."""
import pathlib


def get_example(name):
    """The absolute path of the model `name`."""
    path = pathlib.Path(__file__).resolve().parent / name
    if not path.exists():
        raise FileNotFoundError(f"expected an example among {sorted(p.name for p in path.parent.glob('*.onnx'))}, "
                                f"found '{name}'")
    return str(path)
