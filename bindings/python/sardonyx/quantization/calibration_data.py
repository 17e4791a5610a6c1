"""What calibration takes and gives: readers of data, ranges of tensors, and the JSON files that ranges are kept in."""
import abc
import contextlib
import json
import os
import tempfile
from enum import Enum
from pathlib import Path

import numpy as np

_FLOATS = ("avg", "std", "lowest", "highest", "hist_edges")
_FIELDS = (*_FLOATS, "hist", "bins")
_CLASS = "CLS"  # the key of a JSON object's class


class CalibrationMethod(Enum):
    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class CalibrationDataReader(metaclass=abc.ABCMeta):
    """Gives the inputs of one run after the other. Every class with a `get_next` counts as one."""

    @classmethod
    def __subclasshook__(cls, subclass):
        return True if callable(getattr(subclass, "get_next", None)) else NotImplemented

    @abc.abstractmethod
    def get_next(self) -> dict:
        """The inputs of the next run by name; None when there are no more."""
        raise NotImplementedError

    def __iter__(self):
        return self

    def __next__(self):
        inputs = self.get_next()
        if inputs is None:
            raise StopIteration
        return inputs

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __len__: a reader that is read in parts needs it")

    def set_range(self, start_index: int, end_index: int):
        raise NotImplementedError(f"{type(self).__name__} has no set_range: a reader that is read in parts needs it")


class TensorData:
    """What is known of the values of a tensor: any of lowest, highest, avg, std, hist, hist_edges and bins."""

    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            if name not in _FIELDS:
                raise ValueError(f"expected one of {', '.join(_FIELDS)}, found '{name}'")
            if name in _FLOATS and getattr(value, "dtype", None) not in (np.float16, np.float32):
                found = getattr(value, "dtype", type(value).__name__)
                raise ValueError(f"expected an array of float16 or float32 as '{name}', found {found}")
            setattr(self, name, value)
        self._attrs = list(kwargs)

    @property
    def range_value(self):
        return self._pair("lowest", "highest")

    @property
    def avg_std(self):
        return self._pair("avg", "std")

    def _pair(self, first, second):
        for name in (first, second):
            if not hasattr(self, name):
                raise AttributeError(f"expected data with '{name}', found only {', '.join(self._attrs) or 'nothing'}")
        return getattr(self, first), getattr(self, second)

    def to_dict(self):
        return {name: getattr(self, name) for name in self._attrs} | {_CLASS: "TensorData"}

    @classmethod
    def from_dict(cls, d: dict) -> "TensorData":
        """The other way round, also from what JSON made of it."""
        return cls(**{name: _from_json(name, value) for name, value in d.items() if name != _CLASS})


def _from_json(name, value):
    if isinstance(value, dict) and value.get(_CLASS) == "numpy.array":
        return np.array(value["data"], dtype=np.dtype(value["dtype"]))
    if name in _FLOATS and isinstance(value, (int, float)):
        return np.array(value, dtype=np.float32)
    return value


class TensorsData:
    """The TensorData of tensors by name. Tuples stand for them: (lowest, highest), and with histograms
    (lowest, highest, hist, bins)."""

    def __init__(self, calibration_method, data: dict[str, TensorData | tuple]):
        self.calibration_method = calibration_method
        self.data = {name: self._entry(name, value) for name, value in data.items()}

    def _entry(self, name, value):
        if not isinstance(name, str):
            raise TypeError(f"expected the name of a tensor, found '{type(name).__name__}'")
        if isinstance(value, TensorData):
            return value
        if isinstance(value, tuple) and len(value) == 2 and self.calibration_method == CalibrationMethod.MinMax:
            return TensorData(lowest=value[0], highest=value[1])
        if isinstance(value, tuple) and len(value) == 4:
            return TensorData(lowest=value[0], highest=value[1], hist=value[2], bins=value[3])
        found = f"a tuple of {len(value)}" if isinstance(value, tuple) else f"'{type(value).__name__}'"
        raise TypeError(f"tensor '{name}': expected a TensorData or a tuple of two (MinMax) or four, found {found}")

    def __iter__(self):
        return iter(self.data)

    def __contains__(self, key):
        return key in self.data

    def __getitem__(self, key):
        return self.data[key]

    def __setitem__(self, key, value):
        if key not in self.data:
            raise RuntimeError(f"expected a tensor that has data already, found '{key}'")
        self.data[key] = value

    def keys(self):
        return self.data.keys()

    def values(self):
        return self.data.values()

    def items(self):
        return self.data.items()

    def to_dict(self):
        return {_CLASS: "TensorsData", "data": self.data, "calibration_method": self.calibration_method}

    @classmethod
    def from_dict(cls, d: dict) -> "TensorsData":
        """The other way round, also from what JSON made of it."""
        method = d["calibration_method"]
        if isinstance(method, dict) and method.get(_CLASS) == "CalibrationMethod":
            method = CalibrationMethod[method["value"].rpartition(".")[2]]
        return cls(method, {name: TensorData.from_dict(entry) for name, entry in d["data"].items()})


class CalibrationCacheEncoder(json.JSONEncoder):
    """Writes ranges, arrays and numbers of NumPy as ONNX Runtime's files of ranges hold them."""

    def default(self, obj):
        if isinstance(obj, (TensorData, TensorsData)):
            return obj.to_dict()
        if isinstance(obj, np.ndarray):
            return {"data": obj.tolist(), "dtype": str(obj.dtype), _CLASS: "numpy.array"}
        if isinstance(obj, CalibrationMethod):
            return {_CLASS: "CalibrationMethod", "value": str(obj)}
        if isinstance(obj, (np.integer, np.floating)):
            return obj.item()
        return super().default(obj)


def save_tensors_data(tensors_data: TensorsData, path: str | Path, *, smooth_quant: bool = False) -> None:
    """Writes ranges to a JSON file, which is there as a whole or not at all. `smooth_quant` notes whether they are
    those of a smoothed model."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    number, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(number, "w") as file:
            json.dump(tensors_data.to_dict() | {"smooth_quant": smooth_quant}, file, cls=CalibrationCacheEncoder)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def load_tensors_data(path: str | Path) -> TensorsData:
    """The ranges that save_tensors_data wrote, here or in ONNX Runtime."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"expected a file of ranges, found nothing at '{path}'")
    if not path.is_file():
        raise ValueError(f"expected a file of ranges, found that '{path}' is none")
    with path.open() as file:
        return TensorsData.from_dict(json.load(file))
