"""Compiled models: writing them, their data in functions of the program, and what is known of their compatibility."""
import operator
import os

from sardonyx import _core
from sardonyx.devices import OrtEpDevice, OrtHardwareDevice
from sardonyx.enumerations import Enumeration, GraphOptimizationLevel, OrtCompileApiFlags
from sardonyx.values import OrtValue


class OrtCompiledModelCompatibility(Enumeration):
    EP_NOT_APPLICABLE = 0
    EP_SUPPORTED_OPTIMAL = 1
    EP_SUPPORTED_PREFER_RECOMPILATION = 2
    EP_UNSUPPORTED = 3


class OrtDeviceEpIncompatibilityReason(Enumeration):
    NONE = 0
    DRIVER_INCOMPATIBLE = 1
    DEVICE_INCOMPATIBLE = 2
    MISSING_DEPENDENCY = 4
    UNKNOWN = -2**31


class OrtExternalInitializerInfo:
    """Where the data of an initializer lies: the file, and the offset and size in bytes."""

    __slots__ = ("_filepath", "_file_offset", "_byte_size")

    def __init__(self, filepath, file_offset, byte_size):
        self._filepath, self._file_offset = os.fsdecode(filepath), operator.index(file_offset)
        self._byte_size = operator.index(byte_size)
        if self._byte_size < 0:
            raise TypeError(f"byte_size: expected 0 or more, found {byte_size}")

    @property
    def filepath(self):
        return self._filepath

    @property
    def file_offset(self):
        return self._file_offset

    @property
    def byte_size(self):
        return self._byte_size


class _Lent:
    """Memory that the library lends for the time of a call of the program's function. Its size can be asked later."""

    __slots__ = ("_view", "size", "_ended")

    def __init__(self):
        raise TypeError(f"{type(self).__name__}: only the library makes objects of it")

    @classmethod
    def _made(cls, view):
        self = object.__new__(cls)
        self._view, self.size, self._ended = view, len(view) if view is not None else 0, False
        return self

    def _require_call(self):
        if self._ended:
            raise RuntimeError(f"{type(self).__name__}: expected a use during the call that got it, found one after it")

    def _part(self, offset, length):
        offset = operator.index(offset)
        if offset < 0 or length < 0 or offset + length > self.size:
            raise ValueError(f"expected a range in {self.size} bytes, found {length} bytes at {offset}")
        return self._view[offset:offset + length]

    def _end(self):
        self._ended = True
        if self._view is not None:
            self._view.release()
            self._view = None


class OrtEpContextData(_Lent):
    """What a provider stores outside of a compiled model; it can only be read in the call that gets it."""

    __slots__ = ()

    def read(self, offset=0, length=None):
        """A copy of `length` bytes; None: all that follow the offset."""
        self._require_call()
        return bytes(self._part(offset, self.size - offset if length is None else operator.index(length)))


class OrtEpContextDataBuffer(_Lent):
    """Memory for what a provider reads. The call that gets it allocates it once, then writes into it."""

    __slots__ = ("_allocate", "max_size", "is_allocated")

    def allocate(self, size):
        self._require_call()
        size = operator.index(size)
        if self.is_allocated:
            raise RuntimeError("OrtEpContextDataBuffer: it is already allocated")
        if not 0 <= size <= self.max_size:
            raise ValueError(f"expected a size of at most {self.max_size} bytes, found {size}")
        self._view = self._allocate(size)
        self.size, self.is_allocated = size, True

    def write(self, data, offset=0):
        """Copies an object with a contiguous buffer into the memory."""
        self._require_call()
        if not self.is_allocated:
            raise RuntimeError("OrtEpContextDataBuffer: expected allocate() before write()")
        source = memoryview(data).cast("B")
        self._part(offset, len(source))[:] = source

    def _end(self):
        super()._end()
        self._allocate = None


def writer_of_data(function):
    """For the library, from a function of a name and OrtEpContextData."""
    def write(name, view):
        data = OrtEpContextData._made(view)
        try:
            function(name, data)
        finally:
            data._end()

    return write


def reader_of_data(function, most):
    """For the library, from a function of a name and an OrtEpContextDataBuffer of at most so many bytes."""
    def read(name, allocate):
        buffer = OrtEpContextDataBuffer._made(None)
        buffer._allocate, buffer.max_size, buffer.is_allocated = allocate, most, False
        try:
            function(name, buffer)
        finally:
            buffer._end()

    return read


def require_callable(function, name):
    if not callable(function):
        raise TypeError(f"{name}: expected a function, found {type(function).__name__}")


class ModelCompiler:
    """Writes a model as the providers of `sess_options` have compiled it.

    Weights go into the model, or those of at least a size into a file; or `get_initializer_location_func` says for each
    where it is: it gets the name, an OrtValue, and where the weight is in the input, an OrtExternalInitializerInfo or
    None, and gives such an object, after it has written the weight there, or None for the model.
    """

    _value_class = OrtValue

    def __init__(self, sess_options, input_model_path_or_bytes, embed_compiled_data_into_model=False,
                 external_initializers_file_path=None, external_initializers_size_threshold=1024,
                 flags=OrtCompileApiFlags.NONE, graph_optimization_level=GraphOptimizationLevel.ORT_DISABLE_ALL,
                 get_initializer_location_func=None):
        model = input_model_path_or_bytes
        if not isinstance(model, (str, os.PathLike, bytes)):
            raise TypeError(f"model: expected a path or bytes, found {type(model).__name__}")
        if not model:
            raise ValueError("model: expected a path or bytes, found an empty object")
        self._path = None if isinstance(model, bytes) else os.fsdecode(model)
        weights = external_initializers_file_path or ""
        if not isinstance(weights, (str, os.PathLike)):
            raise TypeError(f"external_initializers_file_path: expected a path, found {type(weights).__name__}")
        locate = None
        if get_initializer_location_func is not None:
            if weights:
                raise ValueError("expected external_initializers_file_path or get_initializer_location_func, found "
                                 "both")
            require_callable(get_initializer_location_func, "get_initializer_location_func")
            locate = self._locator(get_initializer_location_func)
        if not hasattr(sess_options, "_handle"):
            raise TypeError(f"sess_options: expected SessionOptions, found {type(sess_options).__name__}")
        self._handle = _core.CompilerHandle(
            sess_options._handle, model if self._path is None else self._path, bool(embed_compiled_data_into_model),
            os.fsdecode(weights), external_initializers_size_threshold, int(flags), int(graph_optimization_level),
            locate)

    def _locator(self, function):
        value_class = self._value_class

        def locate(name, value, known):
            answer = function(name, value_class(value), None if known is None else OrtExternalInitializerInfo(*known))
            if answer is not None and not isinstance(answer, OrtExternalInitializerInfo):
                raise TypeError(f"get_initializer_location_func: expected an OrtExternalInitializerInfo or None for "
                                f"'{name}', found {type(answer).__name__}")
            return None if answer is None else (answer.filepath, answer.file_offset, answer.byte_size)

        return locate

    def compile_to_file(self, output_model_path=None):
        """Without a path, beside the input: "model_ctx.onnx" for "model.onnx"."""
        path = output_model_path
        if not path:
            if self._path is None:
                raise _core.InvalidArgument("compile_to_file: expected a path, because the model is not from a file")
            path = os.path.splitext(self._path)[0] + "_ctx.onnx"
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"output_model_path: expected a path, found {type(path).__name__}")
        self._handle.to_file(os.fsdecode(path))

    def compile_to_bytes(self):
        return self._handle.to_bytes()

    def compile_to_stream(self, write_function):
        """Calls the function with the model, in parts: bytes."""
        require_callable(write_function, "write_function")
        self._handle.to_function(write_function)

    def set_ep_context_data_write_func(self, write_func):
        """Lets a function receive what providers store outside of the model: a name and an OrtEpContextData. It may be
        called by several threads at once."""
        require_callable(write_func, "write_func")
        self._handle.set_data_function(writer_of_data(write_func))

    def clear_ep_context_data_write_func(self):
        self._handle.set_data_function(None)


def _of_compatibility(function, *arguments):
    """These functions raise a RuntimeError in ONNX Runtime, whatever the code is."""
    try:
        return function(*arguments)
    except (_core.Fail, _core.InvalidArgument, _core.NoSuchFile, _core.InvalidProtobuf, _core.InvalidGraph,
            _core.NoModel) as error:
        raise RuntimeError(str(error)) from error


def get_compatibility_info_from_model(path, provider):
    """What a provider has written of the compiled model in a file, for its own use; None if it has not."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected a path, found {type(path).__name__}")
    return _of_compatibility(_core.compatibility_info, os.fsdecode(path), provider)


def get_compatibility_info_from_model_bytes(model, provider):
    """The same of a model in an object with a buffer."""
    return _of_compatibility(_core.compatibility_info_of_bytes, bytes(memoryview(model)), provider)


def get_model_compatibility_for_ep_devices(devices, info):
    """Whether a compiled model fits devices of one provider: an OrtCompiledModelCompatibility."""
    if not all(isinstance(device, OrtEpDevice) for device in devices):
        raise TypeError(f"devices: expected OrtEpDevices, found {[type(device).__name__ for device in devices]}")
    handles = [device._handle for device in devices]
    return OrtCompiledModelCompatibility(_of_compatibility(_core.model_compatibility, handles, info))


def get_hardware_devices():
    """The devices of this machine, whether a provider can use them or not."""
    return [OrtHardwareDevice(values) for values in _core.hardware_devices()]


def get_hardware_device_ep_incompatibility_details(provider, device):
    """Why a provider cannot use a device: a dict of reasons_bitmask (OrtDeviceEpIncompatibilityReason), notes and
    error_code."""
    if not isinstance(device, OrtHardwareDevice):
        raise TypeError(f"device: expected an OrtHardwareDevice, found {type(device).__name__}")
    return _core.device_incompatibility(provider, device._handle)
