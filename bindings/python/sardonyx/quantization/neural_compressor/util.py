"""What the modules of this package share."""
import logging

import numpy as np

from sardonyx.quantization.quant_utils import find_by_name as _find

logger = logging.getLogger("neural_compressor")
MAXIMUM_PROTOBUF = 2**31  # in bytes: larger models have their weights in files of their own


def simple_progress_bar(total, i):
    """Prints how far something is: `i` of `total`."""
    done = 20 * i // total
    print(f"\rProgress: [{'#' * done}{' ' * (20 - done)}] {100 * i / total:.2f}%", end="")


def find_by_name(name, item_list):
    """The first item of that name; None if there is none."""
    return _find(name, item_list)


def to_numpy(data):
    """An array of an array, of numbers, or of a tensor of PyTorch: bfloat16 becomes float32."""
    if isinstance(data, np.ndarray):
        return data
    if not hasattr(data, "detach"):
        return np.array(data)
    tensor = data.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
