"""InferenceSession, OrtValue and IOBinding, as onnxruntime has them, over the C interface."""
import json
import os
import random
import warnings

import numpy as np

from sardonyx import _core, missing
from sardonyx.options import RunOptions, SessionOptions

# ONNX's TensorProto.DataType and the C interface number the three newest types differently.
_FROM_ONNX = {24: 26, 25: 24, 26: 25}
_TO_ONNX = {ours: onnx for onnx, ours in _FROM_ONNX.items()}

_TENSOR, _SEQUENCE, _MAP, _SPARSE = 1, 2, 3, 5  # ONNXType


def get_available_providers():
    return _core.available_providers()


def get_all_providers():
    return get_available_providers()


def get_device():
    return "CPU"


def get_version_string():
    """The version of ONNX Runtime whose interface this is."""
    return _core.version_string()


def get_build_info():
    return _core.build_info()


sardonyx_version = _core.own_version_string()


def set_default_logger_severity(severity):
    _core.set_log_level(severity)


def set_default_logger_verbosity(verbosity):  # noqa: ARG001  (the verbose level has one grade)
    """Accepted for compatibility: the verbose level has one grade."""


def disable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def enable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def set_seed(seed):
    """Seeds Python's own choices; operators without a seed attribute draw from the system's entropy."""
    random.seed(seed)


class ModelMetadata:
    def __init__(self, values):
        self.producer_name = values["producer_name"]
        self.graph_name = values["graph_name"]
        self.domain = values["domain"]
        self.description = values["description"]
        self.graph_description = values["graph_description"]
        self.version = values["version"]
        self.custom_metadata_map = values["custom_metadata_map"]


def _normalized_providers(providers, provider_options):
    """[(name, options)] from names, (name, options) pairs, or names with a list of options beside them."""
    providers = list(providers or [])
    if provider_options is not None:
        if len(providers) != len(provider_options):
            raise ValueError(f"'providers' and 'provider_options' should be the same length if both are given, found "
                             f"{len(providers)} and {len(provider_options)}.")
        if any(not isinstance(name, str) for name in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        return list(zip(providers, provider_options, strict=True))
    result = []
    for entry in providers:
        if isinstance(entry, str):
            result.append((entry, {}))
        elif isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], dict):
            result.append(entry)
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return result


def _with_what_is_there(providers):
    """Leaves out providers of another build with one warning, where the CPU is asked for beside them."""
    available = get_available_providers()
    absent = [name for name, _ in providers if name not in available]
    if not absent:
        return providers
    text = f"expected providers among {available}, found {', '.join(repr(name) for name in absent)}"
    if all(name != "CPUExecutionProvider" for name, _ in providers):
        raise _core.InvalidArgument(f"{text}; add 'CPUExecutionProvider' to run on the CPU where they are missing")
    warnings.warn(f"{text}; their nodes run on the others", UserWarning, stacklevel=4)
    return [entry for entry in providers if entry[0] in available]


class InferenceSession:
    """A model ready to run. Any number of threads may call `run` at once.

    `path_or_bytes`: a file name (str or path object) or the bytes of a model. Errors are the exceptions of this package
    (NoSuchFile, InvalidProtobuf, InvalidGraph, NotImplemented ...); each names file and node and says what was expected
    and what was found.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._model = path_or_bytes
        self._model_path = None if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._disabled = list(kwargs.pop("disabled_optimizers", None) or [])
        for name in kwargs:
            missing.warn_not_honoured(f"InferenceSession({name}=...)")
        self._chosen = _normalized_providers(providers, provider_options)
        self._fallback = True
        self._create()

    def _create(self):
        options = self._sess_options
        self._chosen = _with_what_is_there(self._chosen)
        wanted = [(name, values) for name, values in self._chosen if name != "CPUExecutionProvider" or values]
        if wanted or self._disabled:
            options = options._copy()
        for name, values in wanted:
            options.add_provider(name, values)
        if self._disabled:
            key = "optimization.disable_specified_optimizers"
            before = [options.get_session_config_entry(key)] if options.has_session_config_entry(key) else []
            options.add_session_config_entry(key, ";".join([*before, *self._disabled]))
        self._session = _core.Session(self._model, options._handle)
        self._inputs = self._session.inputs
        self._outputs = self._session.outputs
        self._overridable = self._session.overridable_initializers
        self._output_names = [output.name for output in self._outputs]
        self._required = [port.name for port in self._inputs if not port.type.startswith("optional")]

    # ---- what the model is ----
    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def get_overridable_initializers(self):
        return self._overridable

    def get_modelmeta(self):
        return ModelMetadata(self._session.metadata())

    def get_session_options(self):
        return self._sess_options

    def get_providers(self):
        names = [name for name, _ in self._chosen]
        return names if "CPUExecutionProvider" in names else [*names, "CPUExecutionProvider"]

    def get_provider_options(self):
        options = {name: {str(k): str(v) for k, v in values.items()} for name, values in self._chosen}
        return {name: options.get(name, {}) for name in self.get_providers()}

    def set_providers(self, providers=None, provider_options=None):
        self._chosen = _normalized_providers(providers, provider_options)
        self._create()

    def placement(self):
        """Which provider runs which node: dicts with node, op_type, provider and, if another refused, reason."""
        return json.loads(self._session.placement())

    # ---- runs ----
    def _validate_input(self, feed_input_names):
        missing = [name for name in self._required if name not in feed_input_names]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed_input_names)}).")

    def run(self, output_names, input_feed, run_options=None):
        """The outputs named (None: all) as a list of NumPy arrays; sequences as lists, maps as dicts.

        `input_feed`: {input name: array or OrtValue}. Contiguous arrays are used in place. The GIL is
        released; Ctrl-C ends the run.
        """
        self._validate_input(input_feed.keys())
        feed = {name: value._handle if isinstance(value, OrtValue) else value for name, value in input_feed.items()}
        return self._session.run(list(output_names) if output_names else self._output_names, feed,
                                 run_options._handle if run_options is not None else None)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """As `run`, with OrtValue in and out."""
        self._validate_input(input_dict_ort_values.keys())
        feed = {name: value._handle for name, value in input_dict_ort_values.items()}
        values = self._session.run_with_values(list(output_names) if output_names else self._output_names, feed,
                                               run_options._handle if run_options is not None else None)
        return [OrtValue(value) for value in values]

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """`run` on another thread, which calls callback(outputs, user_data, error text) at its end."""
        import threading

        def work():
            try:
                outputs, error = self.run(output_names, input_feed, run_options), ""
            except Exception as failure:  # noqa: BLE001  (handed to the callback)
                outputs, error = [], str(failure)
            callback(outputs, user_data, error)

        threading.Thread(target=work, name="sardonyx run_async").start()

    def io_binding(self):
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        iobinding._handle.run(self._session, run_options._handle if run_options is not None else None)

    def disable_fallback(self):
        self._fallback = False

    def enable_fallback(self):
        self._fallback = True

    def __getattr__(self, name):
        missing.refuse("InferenceSession", name, missing.SESSION)

    # ---- life ----
    def close(self):
        """Frees the model now instead of when the last reference goes."""
        self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def __getstate__(self):
        return {"model": self._model, "options": self._sess_options, "chosen": self._chosen, "disabled": self._disabled}

    def __setstate__(self, state):
        self._model = state["model"]
        self._model_path = None if isinstance(self._model, bytes) else os.fspath(self._model)
        self._sess_options = state["options"]
        self._chosen = state["chosen"]
        self._disabled = state["disabled"]
        self._fallback = True
        self._create()


class OrtDevice:
    """Where memory lies. This build knows the host only."""

    def __init__(self, device_type="cpu", device_id=0):
        self._type, self._id = device_type, device_id

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):  # noqa: ARG004  (the host has no vendor)
        if ort_device_name != "cpu":
            raise NotImplementedError(f"device '{ort_device_name}' is not implemented in Sardonyx; there is 'cpu'")
        return OrtDevice(ort_device_name, device_id)

    def device_type(self):
        return self._type

    def device_id(self):
        return self._id

    def device_vendor_id(self):
        return 0

    def device_mem_type(self):
        return 0


def _element_type(given):
    """The C interface's number for a TensorProto.DataType number or a dtype."""
    if isinstance(given, int):
        return _FROM_ONNX.get(given, given)
    number = _core.element_type_of(np.dtype(given))
    if number == 0:
        raise ValueError(f"no ONNX element type for {given!r}")
    return number


def _require_host(device_type):
    if device_type not in ("cpu", "CPU"):
        raise NotImplementedError(f"device '{device_type}' is not implemented in Sardonyx; there is 'cpu'")


class OrtValue:
    """A tensor, sequence or map that stays in the runtime's form between runs."""

    def __init__(self, handle, numpy_obj=None):
        self._handle = handle
        self._numpy_obj = numpy_obj

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, /, device_type="cpu", device_id=0):  # noqa: ARG003
        """Uses the array's memory if it is contiguous."""
        _require_host(device_type)
        return cls(_core.ValueHandle.from_numpy(np.asarray(numpy_obj)), numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, /, onnx_element_type):
        """The array's bytes as elements of an ONNX type that NumPy lacks (bfloat16 in uint16, float8 in uint8 ...)."""
        return cls(_core.ValueHandle.from_array_with_type(np.asarray(data), _element_type(onnx_element_type)), data)

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, /, device_type="cpu", device_id=0, vendor_id=-1):  # noqa: ARG003
        _require_host(device_type)
        return cls(_core.ValueHandle.empty(list(shape), _element_type(element_type)))

    def numpy(self):
        """A copy as NumPy array (list, dict for sequences and maps)."""
        return self._handle.numpy()

    def __array__(self, dtype=None, copy=None):  # noqa: ARG002
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def shape(self):
        return self._handle.shape()

    def element_type(self):
        """The number of ONNX's TensorProto.DataType."""
        number = self._handle.element_type()
        return _TO_ONNX.get(number, number)

    def data_type(self):
        kind = self._handle.kind()
        if kind == _TENSOR:
            return f"tensor({_core.element_type_name(self._handle.element_type())})"
        return {_SEQUENCE: "seq", _MAP: "map", _SPARSE: "sparse_tensor"}.get(kind, "unknown")

    def data_ptr(self):
        return self._handle.data_ptr()

    def tensor_size_in_bytes(self):
        return self._handle.size_in_bytes()

    def device_name(self):
        return "cpu"

    def has_value(self):
        return self._handle.has_value()

    def is_tensor(self):
        return self._handle.kind() == _TENSOR

    def is_sparse_tensor(self):
        return self._handle.kind() == _SPARSE

    def is_tensor_sequence(self):
        return self._handle.kind() == _SEQUENCE

    def update_inplace(self, np_arr):
        """Writes the array's elements into this tensor's memory. The size must agree."""
        array = np.ascontiguousarray(np_arr)
        if array.nbytes != self.tensor_size_in_bytes():
            raise ValueError(f"expected {self.tensor_size_in_bytes()} bytes, found {array.nbytes}")
        import ctypes

        ctypes.memmove(self.data_ptr(), array.ctypes.data, array.nbytes)

    def __getattr__(self, name):
        missing.refuse("OrtValue", name, missing.VALUE)

    def __reduce__(self):
        return OrtValue.ortvalue_from_numpy, (self.numpy(),)


class SparseTensor:
    def __init__(self, *_args, **_kwargs):
        raise NotImplementedError("SparseTensor is not implemented in Sardonyx")


class IOBinding:
    """Inputs and outputs that stay bound between runs."""

    def __init__(self, session):
        self._handle = _core.BindingHandle(session._session)
        self._session = session

    def bind_cpu_input(self, name, arr_on_cpu):
        self.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(arr_on_cpu))

    def bind_ortvalue_input(self, name, ortvalue):
        self._handle.bind_input(name, ortvalue._handle)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):  # noqa: ARG002
        _require_host(device_type)
        self._handle.bind_input(name, _value_at(element_type, shape, buffer_ptr))

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):  # noqa: ARG002
        _require_host(device_type)
        if buffer_ptr is None:
            self._handle.bind_output_to_host(name)
        else:
            self._handle.bind_output(name, _value_at(element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name, ortvalue):
        self._handle.bind_output(name, ortvalue._handle)

    def synchronize_inputs(self):
        """Nothing to wait for on the host."""

    def synchronize_outputs(self):
        """Nothing to wait for on the host."""

    def get_outputs(self):
        return [OrtValue(value) for value in self._handle.outputs()]

    def get_outputs_as_ortvaluevector(self):
        return self.get_outputs()

    def copy_outputs_to_cpu(self):
        return [value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self):
        self._handle.clear_inputs()

    def clear_binding_outputs(self):
        self._handle.clear_outputs()


def _value_at(element_type, shape, buffer_ptr):
    """A tensor over the caller's memory, which must outlive it."""
    import ctypes
    import math

    number = _element_type(element_type)
    dtype = np.dtype(_core.numpy_dtype(number))
    count = math.prod(shape)
    memory = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(buffer_ptr)
    array = np.frombuffer(memory, dtype=np.uint8).view(dtype).reshape(shape)
    return _core.ValueHandle.from_array_with_type(array, number)


__all__ = [
    "IOBinding", "InferenceSession", "ModelMetadata", "OrtDevice", "OrtValue", "RunOptions", "SessionOptions",
    "SparseTensor",
]
