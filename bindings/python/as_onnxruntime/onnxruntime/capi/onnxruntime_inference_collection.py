"""The classes of the package `onnxruntime`: those of sardonyx, with the peer's behaviour where the two differ."""
import contextlib

import sardonyx
from sardonyx import OrtValue, SparseTensor, copy_tensors, inference
from sardonyx.missing import warn

from onnxruntime._later import later as _later
from onnxruntime.capi import _pybind_state as C  # noqa: N812  (the peer's name)

__getattr__, __dir__, _LATER = _later(globals(), {
    "onnxruntime.capi._binding": ("IOBinding",),
    "onnxruntime.capi._compiling": (
        "GetInitializerLocationFunc", "GetInitializerLocationWrapperFunc", "ModelCompiler",
        "make_get_initializer_location_func_wrapper",
    ),
    "sardonyx": ("OrtDeviceVendorId",),
})
_VENDORS = {"cuda": "NVIDIA", "dml": "MICROSOFT", "cann": "HUAWEI", "webgpu": "NONE"}

Session = sardonyx.InferenceSession
_ERRORS = (C.EPFail, C.EngineError, C.Fail, C.InvalidArgument, C.InvalidGraph, C.NotImplemented, C.RuntimeException)


@contextlib.contextmanager
def _runtime_errors():
    """In ONNX Runtime, what fails with bound values is a RuntimeError, and programs catch it as one."""
    try:
        yield
    except _ERRORS as error:
        raise RuntimeError(str(error)) from error


class InferenceSession(Session):
    """A session for programs that were written for ONNX Runtime: a provider that is missing is a warning, not an error,
    unless the options have the entry `sardonyx.strict_providers` = 1. The same goes for a list of providers that is
    none, unless `enable_fallback=0` is given. If a provider fails in a run, the run is repeated on the CPU with a
    warning, and the session stays there; `disable_fallback` or strict providers leave it at the error."""

    _strict_providers = False
    _binding_class = property(lambda _self: __getattr__("IOBinding"))
    _dicts_are_of_floats = True
    _fallback_providers = ["CPUExecutionProvider"]  # noqa: RUF012  (a list in ONNX Runtime too)

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        fallback = int(kwargs.pop("enable_fallback", 1)) == 1
        providers = _as_list(providers)
        try:
            inference._normalized_providers(providers, provider_options)
        except ValueError as error:
            if not fallback or _asks_for_strict_providers(sess_options):
                raise
            warn(f"{error} The nodes run on CPUExecutionProvider instead.")
            providers, provider_options, fallback = list(self._fallback_providers), None, False
        self._sess_options_initial = sess_options
        super().__init__(path_or_bytes, sess_options, providers, provider_options, **kwargs)
        self._fallback = fallback

    def run(self, output_names, input_feed, run_options=None):
        return self._or_on_cpu(super().run, output_names, input_feed, run_options)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        return self._or_on_cpu(super().run_with_ort_values, output_names, input_dict_ort_values, run_options)

    def _or_on_cpu(self, run, *arguments):
        try:
            return run(*arguments)
        except C.EPFail as error:
            if not self._fallback or _asks_for_strict_providers(self._sess_options_initial):
                raise
            warn(f"{error}; from now on the session runs on CPUExecutionProvider.")
        self.set_providers(list(self._fallback_providers))
        self.disable_fallback()  # it happens once
        return run(*arguments)

    def run_with_iobinding(self, iobinding, run_options=None):
        with _runtime_errors():
            super().run_with_iobinding(iobinding, run_options)

    def set_providers(self, providers=None, provider_options=None):
        super().set_providers(_as_list(providers), provider_options)

    # Names without promise, which programs use all the same.
    _sess = property(lambda self: _SessionBelow(self))
    _inputs_meta = property(lambda self: self.get_inputs())
    _outputs_meta = property(lambda self: self.get_outputs())
    _overridable_initializers = property(lambda self: self.get_overridable_initializers())
    _model_meta = property(lambda self: self.get_modelmeta())
    _model_bytes = property(lambda self: self._model if isinstance(self._model, bytes) else None)
    _providers = property(lambda self: self.get_providers())
    _provider_options = property(lambda self: self.get_provider_options())
    _enable_fallback = property(lambda self: self._fallback)


class _SessionBelow:
    """A session with the names that ONNX Runtime's extension module has for its properties."""

    _RENAMED = {"inputs_meta": "get_inputs", "outputs_meta": "get_outputs", "model_meta": "get_modelmeta",
                "overridable_initializers": "get_overridable_initializers", "session_options": "get_session_options",
                "input_meminfos": "get_input_memory_infos", "output_meminfos": "get_output_memory_infos",
                "input_epdevices": "get_input_epdevices", "get_profiling_start_time_ns": "get_profiling_start_time_ns"}

    def __init__(self, session):
        self._session = session

    def run_with_ort_values(self, feed, output_names, run_options):
        values = self._session.run_with_ort_values(output_names, feed, run_options)
        return C.OrtValueVector([C.OrtValue(value) for value in values])

    def __getattr__(self, name):
        if name in self._RENAMED:
            return getattr(self._session, self._RENAMED[name])()
        return getattr(self._session, name)


def _asks_for_strict_providers(options):
    return (options is not None and options.has_session_config_entry(inference.STRICT_PROVIDERS)
            and options.get_session_config_entry(inference.STRICT_PROVIDERS) == "1")


def _as_list(providers):
    """ONNX Runtime takes one name for a list of letters, warns of each, and runs the model on the CPU."""
    if not isinstance(providers, str):
        return providers
    warn(f"expected a list of providers, found {providers!r}, which is taken for a list of one")
    return [providers]


class OrtDevice:
    """The device that memory belongs to."""

    def __init__(self, c_ort_device):
        if not isinstance(c_ort_device, C.OrtDevice):
            raise ValueError(f"expected an onnxruntime.capi.onnxruntime_pybind11_state.OrtDevice, found "
                             f"{type(c_ort_device).__name__}; OrtDevice.make takes a name")
        self._device = c_ort_device

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):
        """The device of this name ("cpu", "cuda", "gpu" ...) and number; -1: the vendor that the name implies."""
        kind = get_ort_device_type(ort_device_name)
        if vendor_id < 0:
            vendor_id = get_vendor_id_for_device_type(ort_device_name) or 0
        return OrtDevice(C.OrtDevice(kind, C.OrtDevice.default_memory(), int(vendor_id), device_id))

    def _get_c_device(self):
        return self._device

    def device_id(self):
        return self._device.device_id()

    def device_type(self):
        """The kind of the device; 0 is the host."""
        return self._device.device_type()

    def device_vendor_id(self):
        return self._device.vendor_id()

    def device_mem_type(self):
        return self._device.mem_type()


class AdapterFormat:
    """A file of LoRA parameters: to be written (set_..., export_adapter), or read (read_adapter, get_...)."""

    def __init__(self, adapter=None):
        self._adapter = C.AdapterFormat() if adapter is None else adapter

    @staticmethod
    def read_adapter(file_path):
        """The contents of a file."""
        return AdapterFormat(C.AdapterFormat.read_adapter(file_path))

    def export_adapter(self, file_path):
        """Writes the file."""
        self._adapter.export_adapter(file_path)

    def get_format_version(self):
        return self._adapter.format_version

    def set_adapter_version(self, adapter_version):
        self._adapter.adapter_version = adapter_version

    def get_adapter_version(self):
        return self._adapter.adapter_version

    def set_model_version(self, model_version):
        self._adapter.model_version = model_version

    def get_model_version(self):
        return self._adapter.model_version

    def set_parameters(self, params):
        """Sets the parameters: OrtValues by name."""
        self._adapter.parameters = params

    def get_parameters(self):
        """OrtValues by name; they share the memory of a file that was read."""
        return {name: OrtValue(value) for name, value in self._adapter.parameters.items()}


def get_ort_device_type(device_type):
    """The number of a kind of device."""
    if device_type not in ("cpu", "cuda", "gpu", "webgpu", "npu", "cann", "dml"):
        raise ValueError(f"expected a device among cpu, cuda, gpu, webgpu, npu, cann and dml, found '{device_type}'")
    return getattr(C.OrtDevice, device_type)()


def get_vendor_id_for_device_type(device_type):
    """The vendor that the name of a kind of device implies, or None."""
    return sardonyx.OrtDeviceVendorId[_VENDORS[device_type]] if device_type in _VENDORS else None


def check_and_normalize_provider_args(providers, provider_options, available_provider_names):
    """([names], [options]) from the arguments of a session; warns of names that are not available."""
    pairs = inference._normalized_providers(providers, provider_options)
    for name, _ in pairs:
        if name not in available_provider_names:
            warn(f"expected providers among {list(available_provider_names)}, found '{name}'")
    texts = [{str(key): str(value) for key, value in options.items()} for _, options in pairs]
    return [name for name, _ in pairs], texts


__all__ = [
    "AdapterFormat", "InferenceSession", "OrtDevice", "OrtValue", "Session", "SparseTensor",
    "check_and_normalize_provider_args", "copy_tensors", "get_ort_device_type", "get_vendor_id_for_device_type",
    *_LATER,
]
