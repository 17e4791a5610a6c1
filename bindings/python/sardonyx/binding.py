"""IOBinding: inputs and outputs that stay bound between runs, on the host or on devices."""
from sardonyx import _core, missing
from sardonyx.devices import place_of
from sardonyx.values import OrtValue, OrtValueVector, tensor_at


class IOBinding:
    """Inputs and outputs that stay bound between runs."""

    _iobinding = property(lambda self: self)  # in ONNX Runtime a binding of the extension module

    def __init__(self, session):
        self._handle = _core.BindingHandle(session._session)
        self._session = session

    def bind_cpu_input(self, name, arr_on_cpu):
        self.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(arr_on_cpu))

    def bind_ortvalue_input(self, name, ortvalue):
        self._handle.bind_input(name, ortvalue._handle)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """`device_type`: a name or, where a name does not say the vendor, an OrtDevice."""
        self._handle.bind_input(name, tensor_at(element_type, shape, buffer_ptr, place_of(device_type, device_id)))

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """To memory of the caller, or to what each run allocates on the device; `device_type` as of bind_input."""
        place = place_of(device_type, device_id)
        if buffer_ptr is None:
            self._handle.bind_output_to(name, place)
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._handle.bind_output(name, tensor_at(element_type, shape, buffer_ptr, place))

    def bind_ortvalue_output(self, name, ortvalue):
        self._handle.bind_output(name, ortvalue._handle)

    def synchronize_inputs(self):
        """Returns when the session's devices have done all that they were given."""
        self._handle.synchronize_inputs()

    def synchronize_outputs(self):
        self._handle.synchronize_outputs()

    def get_outputs(self):
        return [OrtValue(value) for value in self._handle.outputs()]

    def get_outputs_as_ortvaluevector(self):
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self):
        """Copies of the outputs, which later runs do not change; get_outputs() returns the values themselves."""
        return [value.numpy().copy() if value.is_tensor() else value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self):
        self._handle.clear_inputs()

    def clear_binding_outputs(self):
        self._handle.clear_outputs()

    def __getattr__(self, name):
        missing.refuse("IOBinding", name)
