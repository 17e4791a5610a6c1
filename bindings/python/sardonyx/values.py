"""OrtValue and SparseTensor: values of the runtime that can be used for several runs."""
import ctypes
import math
import warnings

import numpy as np

from sardonyx import _core, missing
from sardonyx.devices import HOST, place_of, place_of_memory, require_host

# ONNX's TensorProto.DataType and the C interface number the three newest types differently.
_FROM_ONNX = {24: 26, 25: 24, 26: 25}
_TO_ONNX = {ours: onnx for onnx, ours in _FROM_ONNX.items()}

_TENSOR, _SEQUENCE, _MAP, _SPARSE = 1, 2, 3, 5  # ONNXType
_DLPACK_HOST = (1, 0)
# What ONNX Runtime's package calls the devices that the C interface numbers so: every GPU is "cuda" there.
_DEVICE_NAMES = ("cpu", "cuda", "fpga", "npu")
_COO_INDICES, _CSR_INNER_INDICES, _CSR_OUTER_INDICES, _BLOCK_INDICES = range(4)  # OrtSparseIndicesFormat


def element_type_of(given):
    """The element type number of the C interface for a TensorProto.DataType number or a dtype."""
    if isinstance(given, int):
        return _FROM_ONNX.get(given, given)
    try:
        number = _core.element_type_of(np.dtype(given))
    except TypeError as error:
        raise RuntimeError(f"expected a NumPy type or a TensorProto.DataType, found {given!r}") from error
    if number == 0:
        raise ValueError(f"no ONNX element type for {given!r}")
    return number


def tensor_at(element_type, shape, address, place=HOST):
    """A tensor over memory of the caller, on the host or on a device, which must outlive the tensor."""
    number = element_type_of(element_type)
    dtype = np.dtype(_core.numpy_dtype(number))
    if place != HOST:
        return _core.ValueHandle.over(address, math.prod(shape) * dtype.itemsize, list(shape), number, place)
    memory = (ctypes.c_uint8 * (math.prod(shape) * dtype.itemsize)).from_address(address)
    array = np.frombuffer(memory, dtype=np.uint8).view(dtype).reshape(shape)
    return _core.ValueHandle.from_array_with_type(array, number)


class _Capsule:
    """A DLPack capsule of an older library, in the form that NumPy accepts."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return _DLPACK_HOST


class OrtValue:
    """A tensor, sequence or map of the runtime that can be used for several runs without conversion."""

    # In ONNX Runtime a value of the extension module, which has the same methods.
    _ortvalue = property(lambda self: self)

    def __init__(self, ortvalue, numpy_obj=None, session=None):  # noqa: ARG002  (values belong to no session)
        self._handle = getattr(ortvalue, "_handle", ortvalue)
        if not isinstance(self._handle, _core.ValueHandle):
            raise ValueError(f"expected an OrtValue, found '{type(ortvalue).__name__}'")
        self._numpy_obj = numpy_obj

    def _get_c_value(self):
        return self

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, /, device_type="cpu", device_id=0, vendor_id=-1):
        """On the host it uses the array's memory if that is contiguous; on a device it is a copy."""
        place = place_of(device_type, device_id, vendor_id)
        here = cls(_core.ValueHandle.from_numpy(np.asarray(numpy_obj)), numpy_obj)
        if place == HOST:
            return here
        if here.data_type() == "tensor(string)":
            raise RuntimeError("expected an array of numbers for a device, found strings")
        there = cls(_core.ValueHandle.empty_at(here.shape(), here._handle.element_type(), place))
        copy_tensors([here], [there])
        return there

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, /, onnx_element_type):
        """A tensor of an ONNX type that NumPy lacks, from an array with the same bytes (bfloat16 as uint16 ...)."""
        return cls(_core.ValueHandle.from_array_with_type(np.asarray(data), element_type_of(onnx_element_type)), data)

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1,
                                     memory_info=None):
        if memory_info is not None:
            if (device_type, device_id, vendor_id) != ("cpu", 0, -1):
                warnings.warn("device_type, device_id, and vendor_id are ignored when memory_info is provided.",
                              stacklevel=2)
            place = place_of_memory(memory_info)
        else:
            place = place_of(device_type, device_id, vendor_id)
        return cls(_core.ValueHandle.empty_at(list(shape), element_type_of(element_type), place))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor):
        """Shares the memory of the sparse tensor."""
        return cls(sparse_tensor._handle)

    @classmethod
    def from_dlpack(cls, data, /):
        """Shares the memory of an object with __dlpack__ (of PyTorch, JAX, NumPy ...) or of a DLPack capsule."""
        source = data if hasattr(data, "__dlpack__") else _Capsule(data)
        if not hasattr(data, "__dlpack__") and type(data).__name__ != "PyCapsule":
            raise TypeError(f"expected an object with __dlpack__ or a DLPack capsule, found '{type(data).__name__}'")
        try:
            array = np.from_dlpack(source)
        except (RuntimeError, BufferError):
            handle = _core.ValueHandle.from_dlpack_of_bfloat(data)
            if handle is None:
                raise
            return cls(handle)
        name = getattr(getattr(data, "dtype", None), "name", str(getattr(data, "dtype", "")))
        if array.dtype == np.uint8 and name in ("bool", "bool_", "torch.bool"):  # bool in older DLPack
            array = array.view(bool)
        return cls.ortvalue_from_numpy(array)

    def as_sparse_tensor(self):
        if not self.is_sparse_tensor():
            raise RuntimeError(f"expected a sparse tensor, found {self.data_type()}")
        return SparseTensor(self._handle)

    def numpy(self):
        """A NumPy array that shares this tensor's memory; a copy for strings, types of less than a byte and memory of
        devices; a list or dict for sequences and maps.
        """
        return self._handle.numpy()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"expected dtype {array.dtype} where copy is False, found {dtype}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream=None):  # noqa: ARG002  (a value is there when it is handed out)
        """Shares the tensor's memory; NumPy takes that of the host alone."""
        if self._is_on_host() and self.data_type() != "tensor(bfloat16)":
            return self.numpy().__dlpack__()
        return self._handle.dlpack()

    def to_dlpack(self):
        return self.__dlpack__()

    def __dlpack_device__(self):
        return _DLPACK_HOST if self._is_on_host() else self._handle.dlpack_device()

    def _is_on_host(self):
        return not self.is_tensor() or self._handle.is_on_host()

    def shape(self):
        return self._handle.shape()

    def element_type(self):
        """The element type, a number of ONNX's TensorProto.DataType."""
        number = self._handle.element_type()
        return _TO_ONNX.get(number, number)

    def data_type(self):
        """The type as text, as in NodeArg.type: "tensor(float)", "seq(tensor(int64))" ..."""
        return self._handle.type_text()

    def data_ptr(self):
        return self._handle.data_ptr()

    def tensor_size_in_bytes(self):
        return self._handle.size_in_bytes()

    def device_name(self):
        """"cpu", or the kind of the device: "cuda" (any GPU, as in ONNX Runtime), "npu", "fpga"."""
        return _DEVICE_NAMES[self._handle.place()[0]] if self.is_tensor() else "cpu"

    def has_value(self):
        return self._handle.has_value()

    def is_tensor(self):
        return self._handle.kind() == _TENSOR

    def is_sparse_tensor(self):
        return self._handle.kind() == _SPARSE

    def is_tensor_sequence(self):
        return self._handle.kind() == _SEQUENCE

    def update_inplace(self, data):
        """Copies the elements of an array or of another OrtValue into this tensor's memory. The sizes must be equal."""
        if isinstance(data, OrtValue):
            return copy_tensors([data], [self])
        if not isinstance(data, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        array = np.ascontiguousarray(data)
        if _core.element_type_of(array.dtype) == self._handle.element_type() and list(array.shape) == self.shape():
            return copy_tensors([OrtValue.ortvalue_from_numpy(array)], [self])
        if array.dtype == object or array.nbytes != self.tensor_size_in_bytes():
            raise RuntimeError(f"The input size of numpy arrays does not match the size of the OrtValue: expected "
                               f"{self.tensor_size_in_bytes()} bytes ({self.data_type()} {self.shape()}), found "
                               f"{array.nbytes} ({array.dtype} {list(array.shape)})")
        return copy_tensors([OrtValue(tensor_at(self.element_type(), self.shape(), array.ctypes.data))], [self])

    def __getattr__(self, name):
        missing.refuse("OrtValue", name)

    def __reduce__(self):
        return OrtValue.ortvalue_from_numpy, (self.numpy(),)


class OrtValueVector(list):
    """A list of OrtValues with the name and methods of ONNX Runtime's class."""

    def push_back(self, value):
        self.append(value)

    def reserve(self, count):
        """Does nothing: lists grow by themselves."""

    def shrink_to_fit(self):
        """Does nothing: lists shrink by themselves."""


class SparseCooView:
    def __init__(self, handle):
        self._handle = handle

    def indices(self):
        """The indices that the tensor was created with: [count] in the flattened tensor, or [count, 2] coordinates."""
        return self._handle.sparse_indices(_COO_INDICES)


class SparseCsrView:
    def __init__(self, handle):
        self._handle = handle

    def inner(self):
        """The column of each value."""
        return self._handle.sparse_indices(_CSR_INNER_INDICES)

    def outer(self):
        """Where the values of each row begin, and their number."""
        return self._handle.sparse_indices(_CSR_OUTER_INDICES)


class SparseBlockSparseView:
    def __init__(self, handle):
        self._handle = handle

    def indices(self):
        """The coordinates of the blocks, [2, blocks]."""
        return self._handle.sparse_indices(_BLOCK_INDICES)


def _texts_of(values):
    """The strings of an array of NumPy's type for text, None for other arrays; objects are refused, as ONNX Runtime
    does."""
    if values.dtype == object:
        raise RuntimeError("sparse tensor: expected numbers, or strings in an array of NumPy's type 'U', found objects")
    return values.tolist() if values.dtype.kind == "U" else None


class SparseTensor:
    """A sparse tensor: the values that are not zero, and their indices, as coordinates (COO), compressed rows (CSR) or
    blocks."""

    _texts = None  # the array that a tensor of strings was made from: the library shows no memory of theirs

    def __init__(self, sparse_tensor):
        self._handle = getattr(sparse_tensor, "_handle", sparse_tensor)

    @classmethod
    def _of_texts(cls, handle, texts):
        made = cls(handle)
        made._texts = texts
        return made

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape, values, coo_indices, ort_device):
        """Uses the memory of `values` [count] and `coo_indices` ([count] or [count, 2]) without a copy."""
        require_host(ort_device)
        values, indices = np.ascontiguousarray(values), np.ascontiguousarray(coo_indices, np.int64)
        if values.ndim != 1:
            raise ValueError(f"expected values of one dimension, found shape {list(values.shape)}")
        if (texts := _texts_of(values)) is not None:
            handle = _core.ValueHandle.sparse_coo_strings([int(d) for d in dense_shape], texts, indices)
            return cls._of_texts(handle, values)
        number = element_type_of(values.dtype)
        return cls(_core.ValueHandle.sparse_coo([int(d) for d in dense_shape], values, number, indices))

    @classmethod
    def sparse_csr_from_numpy(cls, dense_shape, values, inner_indices, outer_indices, ort_device):
        """Uses the memory of `values` [count], `inner_indices` [count] (columns) and `outer_indices` [rows + 1] (where
        rows begin) without a copy."""
        require_host(ort_device)
        values = np.ascontiguousarray(values)
        inner, outer = (np.ascontiguousarray(array, np.int64) for array in (inner_indices, outer_indices))
        if (texts := _texts_of(values)) is not None:
            handle = _core.ValueHandle.sparse_csr_strings([int(d) for d in dense_shape], texts, inner, outer)
            return cls._of_texts(handle, values)
        number = element_type_of(values.dtype)
        return cls(_core.ValueHandle.sparse_csr([int(d) for d in dense_shape], values, number, inner, outer))

    @classmethod
    def _blocksparse_from_numpy(cls, dense_shape, values, indices, ort_device):
        """Uses the memory of `values` [blocks, ...] and `indices` [2, blocks] without a copy."""
        require_host(ort_device)
        values, indices = np.ascontiguousarray(values), np.ascontiguousarray(indices, np.int32)
        number = element_type_of(values.dtype)
        return cls(_core.ValueHandle.sparse_blocks([int(d) for d in dense_shape], values, number, indices))

    def _view(self, view, expected):
        found = self.format()
        if found.name != expected:
            raise RuntimeError(f"expected a sparse tensor of format {expected}, found {found.name}")
        return view(self._handle)

    def as_coo_view(self):
        return self._view(SparseCooView, "ORT_SPARSE_COO")

    def values(self):
        return self._handle.sparse_values() if self._texts is None else self._texts.astype(object)

    def format(self):
        from sardonyx.enumerations import OrtSparseFormat

        return OrtSparseFormat(self._handle.sparse_format())

    def dense_shape(self):
        return self._handle.shape()

    def data_type(self):
        return self._handle.type_text()

    def device_name(self):
        return "cpu"

    def as_csrc_view(self):
        return self._view(SparseCsrView, "ORT_SPARSE_CSRC")

    def as_blocksparse_view(self):
        return self._view(SparseBlockSparseView, "ORT_SPARSE_BLOCK_SPARSE")

    def to_cuda(self, ort_device):
        """An error: no build of this library has CUDA, which a plug-in may have."""
        raise RuntimeError("SparseTensor.to_cuda: CUDA is not available in this build")

    def __getattr__(self, name):
        missing.refuse("SparseTensor", name)


def copy_tensors(src, dst, stream=None):
    """Copies each tensor of `src` into the tensor of `dst` at the same position. Shapes and types must be equal.
    `stream` is an OrtSyncStream of a device of theirs, on which its provider copies."""
    if len(src) != len(dst):
        raise ValueError(f"expected as many tensors to copy to as from, found {len(dst)} and {len(src)}")
    _core.copy_tensors([value._handle for value in src], [value._handle for value in dst],
                       None if stream is None else stream._handle)
