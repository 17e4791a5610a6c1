"""Sessions and bindings as ONNX Runtime's extension module has them: below the classes of the package."""
import sardonyx

from onnxruntime.capi._values import OrtValueVector


class InferenceSession(sardonyx.InferenceSession):
    """A session in two steps: `InferenceSession(options, path or bytes, ...)`, then `initialize_session`."""

    _strict_providers = False
    _dicts_are_of_floats = True

    def __init__(self, options, path_or_bytes, is_path, read_config_from_model):  # noqa: ARG002
        self._arguments = path_or_bytes, options

    def initialize_session(self, providers, provider_options, disabled_optimizers):
        options = provider_options if providers and provider_options else None
        super().__init__(*self._arguments, providers or None, options, disabled_optimizers=disabled_optimizers)

    session_options = property(lambda self: self.get_session_options())
    inputs_meta = property(lambda self: self.get_inputs())
    outputs_meta = property(lambda self: self.get_outputs())
    overridable_initializers = property(lambda self: self.get_overridable_initializers())
    model_meta = property(lambda self: self.get_modelmeta())
    input_meminfos = property(lambda self: self.get_input_memory_infos())
    output_meminfos = property(lambda self: self.get_output_memory_infos())
    input_epdevices = property(lambda self: self.get_input_epdevices())
    get_profiling_start_time_ns = property(lambda self: sardonyx.InferenceSession.get_profiling_start_time_ns(self))

    def run_async(self, output_names, input_feed, callback, user_data, run_options):
        super().run_async(output_names, input_feed, callback, user_data, run_options)

    def run_with_ort_values(self, feed, output_names, run_options):
        return OrtValueVector(super().run_with_ort_values(output_names, feed, run_options))

    def create_ortvalue_from_shape_and_onnx_type(self, shape, element_type, device):
        return self.create_ortvalue_from_shape_and_type(shape, element_type, device)

    def set_tuning_results(self, results, error_on_invalid):
        super().set_tuning_results(results, error_on_invalid=error_on_invalid)

    def is_webgpu_graph_capture_enabled(self):
        return False

    def webgpu_context_id(self):
        """-1: the session does not run on WebGPU."""
        return -1


class SessionIOBinding(sardonyx.IOBinding):
    """Inputs and outputs that stay bound; devices are objects here, and arrays are bound with `bind_input` too."""

    @classmethod
    def _below(cls, binding):
        """The same binding as the extension module has it."""
        made = cls.__new__(cls)
        made._handle, made._session = binding._handle, binding._session
        return made

    def bind_input(self, name, *values):
        """Binds an array, or (device, element type, shape, address)."""
        if len(values) == 1:
            return self.bind_cpu_input(name, *values)
        device, element_type, shape, address = values
        return super().bind_input(name, device, None, element_type, shape, address)

    def bind_output(self, name, device, *memory):
        """Binds memory of a device: (element type, shape, address), or what the run allocates there."""
        super().bind_output(name, device, None, *memory)

    def get_outputs(self):
        return OrtValueVector(super().get_outputs())
