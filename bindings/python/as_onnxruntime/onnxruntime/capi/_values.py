"""Values and devices as ONNX Runtime's extension module has them: below the classes of the package, with its names."""
import sardonyx
from sardonyx import values
from sardonyx.devices import place_of

_CPU, _GPU, _FPGA, _NPU = range(4)


class OrtDevice:
    """A kind of device (see the static methods), its number, vendor (a PCI number) and kind of memory."""

    def __init__(self, *numbers):
        if len(numbers) not in (3, 4):
            raise TypeError(f"expected (type, memory type, id) or (type, memory type, vendor, id), found {numbers}")
        self._type, self._memory, *vendor, self._id = map(int, numbers)
        self._vendor = vendor[0] if vendor else 0

    def device_type(self):
        return self._type

    def device_id(self):
        return self._id

    def vendor_id(self):
        return self._vendor

    def mem_type(self):
        return self._memory

    cpu = staticmethod(lambda: _CPU)
    cuda = gpu = webgpu = dml = staticmethod(lambda: _GPU)
    fpga = staticmethod(lambda: _FPGA)
    npu = cann = staticmethod(lambda: _NPU)
    default_memory = staticmethod(lambda: 0)


class OrtValue(sardonyx.OrtValue):
    """A value of the extension module: one of the package, with static methods that take devices as objects."""

    @staticmethod
    def ortvalue_from_numpy(array, device):
        return OrtValue(sardonyx.OrtValue.ortvalue_from_numpy(array, device), array)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(array, onnx_element_type):
        return OrtValue(sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx_element_type), array)

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device):
        return OrtValue(sardonyx.OrtValue.ortvalue_from_shape_and_type(shape, element_type, device))

    @staticmethod
    def ortvalue_from_shape_and_onnx_type(shape, element_type, device):
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device)

    @staticmethod
    def ortvalue_from_shape_and_type_for_memory_info(shape, element_type, memory_info):
        return OrtValue(sardonyx.OrtValue.ortvalue_from_shape_and_type(shape, element_type, memory_info=memory_info))

    @staticmethod
    def ortvalue_from_shape_and_onnx_type_for_memory_info(shape, element_type, memory_info):
        return OrtValue.ortvalue_from_shape_and_type_for_memory_info(shape, element_type, memory_info)

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        return OrtValue(sparse_tensor)

    @staticmethod
    def from_dlpack(data, is_bool_tensor=False):
        made = sardonyx.OrtValue.from_dlpack(data)
        if is_bool_tensor and made.data_type() == "tensor(uint8)":
            made = sardonyx.OrtValue.ortvalue_from_numpy(made.numpy().view(bool))
        return OrtValue(made)

    def as_sparse_tensor(self):
        return SparseTensor(super().as_sparse_tensor())

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)

    def device_name(self):
        return super().device_name().capitalize()


class SparseTensor:
    """A sparse tensor of the extension module."""

    def __init__(self, tensor):
        self._handle = tensor._handle

    @staticmethod
    def sparse_coo_from_numpy(dense_shape, values, coo_indices, device):
        made = sardonyx.SparseTensor.sparse_coo_from_numpy(dense_shape, values, coo_indices, device)
        return SparseTensor(made)

    @staticmethod
    def sparse_csr_from_numpy(dense_shape, values, inner_indices, outer_indices, device):
        made = sardonyx.SparseTensor.sparse_csr_from_numpy(dense_shape, values, inner_indices, outer_indices, device)
        return SparseTensor(made)

    @staticmethod
    def blocksparse_from_numpy(dense_shape, values, indices, device):
        return SparseTensor(sardonyx.SparseTensor._blocksparse_from_numpy(dense_shape, values, indices, device))

    @property
    def format(self):
        return sardonyx.SparseTensor(self).format()

    def values(self):
        return sardonyx.SparseTensor(self).values()

    def dense_shape(self):
        return sardonyx.SparseTensor(self).dense_shape()

    def data_type(self):
        return sardonyx.SparseTensor(self).data_type()

    def device_name(self):
        return sardonyx.SparseTensor(self).device_name()

    def get_coo_data(self):
        return sardonyx.SparseTensor(self).as_coo_view()

    def get_csrc_data(self):
        return sardonyx.SparseTensor(self).as_csrc_view()

    def get_blocksparse_data(self):
        return sardonyx.SparseTensor(self).as_blocksparse_view()

    def to_cuda(self, device):
        return sardonyx.SparseTensor(self).to_cuda(device)


class OrtValueVector(values.OrtValueVector):
    """A list of values, with methods that exchange them as DLPack capsules."""

    def push_back(self, value, is_bool_tensor=False):
        """Appends an OrtValue or a DLPack capsule."""
        self.append(value if isinstance(value, sardonyx.OrtValue) else OrtValue.from_dlpack(value, is_bool_tensor))

    def push_back_batch(self, tensors, data_pointers, element_types, shapes, devices):  # noqa: ARG002
        """Appends values over the memory of tensors, which must outlive the vector."""
        for pointer, element_type, shape, device in zip(data_pointers, element_types, shapes, devices):
            self.append(OrtValue(values.tensor_at(element_type, shape, pointer, place_of(device))))

    def bool_tensor_indices(self):
        """The positions of tensors of bool, which older DLPack cannot tell from uint8."""
        return [i for i, value in enumerate(self) if value.data_type() == "tensor(bool)"]

    def element_type_at(self, idx):
        return self[idx].element_type()

    def dlpack_at(self, idx):
        return self[idx].to_dlpack()

    def to_dlpacks(self, to_tensor):
        """All values as DLPack capsules, or as what `to_tensor` (a function or None) makes of them."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]
