"""Devices and their memory, and the devices that providers find on this machine."""
import os

from sardonyx import _core

_CPU, _GPU, _FPGA, _NPU = range(4)  # OrtMemoryInfoDeviceType
# The kind and the vendor that a name implies.
_NAMES = {"cpu": (_CPU, 0), "gpu": (_GPU, 0), "cuda": (_GPU, 0x10de), "webgpu": (_GPU, 0), "dml": (_GPU, 0x1414),
          "npu": (_NPU, 0), "cann": (_NPU, 0x19e5), "fpga": (_FPGA, 0)}
# The providers that ONNX Runtime 1.31 has names for, by its priority, without the ending "ExecutionProvider".
PROVIDERS_OF_ONNX_RUNTIME = ("NvTensorRTRTX", "Tensorrt", "CUDA", "MIGraphX", "OpenVINO", "Dnnl", "VitisAI", "QNN",
                             "Nnapi", "VSINPU", "Js", "CoreML", "ACL", "Dml", "Rknpu", "WebNN", "WebGpu", "Xnnpack",
                             "CANN", "Azure", "CPU")
HOST = (_CPU, 0, 0, 0)  # the last one: OrtDeviceMemoryType.DEFAULT


def _numbers_of(name):
    key = name if name not in ("CPU", "Cpu") else "cpu"
    if key not in _NAMES:
        raise ValueError(f"expected a device among {', '.join(_NAMES)}, found '{name}'")
    return _NAMES[key]


def place_of(device, device_id=0, vendor_id=-1):
    """(type, vendor, number, kind of memory) of a device, given by name or as an object with OrtDevice's methods, as
    the C interface numbers them. All of the host is one place."""
    if isinstance(device, str):
        kind, vendor = _numbers_of(device)
        vendor, memory = vendor if vendor_id < 0 else int(vendor_id), 0
    else:
        kind, device_id = device.device_type(), device.device_id()
        vendor = _first_of(device, "device_vendor_id", "vendor_id")
        memory = _first_of(device, "device_mem_type", "mem_type")
    if kind == _CPU:
        return HOST
    return kind, vendor, device_id, memory


def _first_of(device, *names):
    """The package's class and the extension module's have other names for the same."""
    return next(getattr(device, name)() for name in names if hasattr(device, name))


def place_of_memory(info):
    """The same of an OrtMemoryInfo."""
    if info.device_type == _CPU:
        return HOST
    return int(info.device_type), info.device_vendor_id, info.device_id, int(info.device_mem_type)


def require_host(device):
    """Fails with RuntimeError for what has to be on the host."""
    if place_of(device) != HOST:
        raise RuntimeError(f"sparse tensors are on the host, device 0 of type 0 (CPU), alone; found device "
                           f"{device.device_id()} of type {device.device_type()}")


class OrtDevice:
    """The device that memory belongs to: its kind (0 is the host), its number, vendor and kind of memory."""

    def __init__(self, device_type=0, device_id=0, vendor_id=0):
        self._type, self._id, self._vendor = device_type, device_id, vendor_id

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):
        """The device of this name ("cpu", "cuda", "gpu" ...) and number; -1: the vendor that the name implies."""
        kind, implied = _numbers_of(ort_device_name)
        return OrtDevice(kind, device_id, implied if vendor_id < 0 else int(vendor_id))

    def device_type(self):
        """The kind of the device; 0 is the host."""
        return self._type

    def device_id(self):
        return self._id

    def device_vendor_id(self):
        return self._vendor

    def device_mem_type(self):
        return 0


class OrtMemoryInfo:
    """A kind of memory: its name, allocator and device."""

    __slots__ = ("name", "allocator_type", "device_id", "mem_type", "device_type", "device_vendor_id",
                 "device_mem_type")

    def __init__(self, name, allocator_type, device_id, mem_type, *, device_type=_CPU, device_vendor_id=0,
                 device_mem_type=0):
        from sardonyx import enumerations  # here, because they are a sixth of the time of `import sardonyx`

        self.name = name
        self.allocator_type = enumerations.OrtAllocatorType(allocator_type)
        self.device_id = device_id
        self.mem_type = enumerations.OrtMemType(mem_type)
        self.device_type = enumerations.OrtMemoryInfoDeviceType(device_type)
        self.device_vendor_id = device_vendor_id
        self.device_mem_type = enumerations.OrtDeviceMemoryType(device_mem_type)

    @staticmethod
    def create_v2(name, device_type, vendor_id, device_id, device_mem_type, alignment, allocator_type):  # noqa: ARG004
        """`alignment` is in bytes; the allocator of this build always aligns to 64 bytes."""
        from sardonyx.enumerations import OrtDeviceMemoryType, OrtMemType

        reached = OrtDeviceMemoryType(device_mem_type) == OrtDeviceMemoryType.HOST_ACCESSIBLE
        kind = OrtMemType.CPU_OUTPUT if reached else OrtMemType.DEFAULT
        return OrtMemoryInfo(name, allocator_type, device_id, kind, device_type=device_type,
                             device_vendor_id=vendor_id, device_mem_type=device_mem_type)

    @classmethod
    def _from_core(cls, values):
        return None if values is None else cls(**values)


class OrtHardwareDevice:
    """A device of this machine."""

    __slots__ = ("_handle", "type", "vendor", "vendor_id", "device_id", "metadata")

    def __init__(self, values):
        from sardonyx.enumerations import OrtHardwareDeviceType

        self._handle = values["handle"]
        self.type = OrtHardwareDeviceType(values["type"])
        self.vendor = values["vendor"]
        self.vendor_id = values["vendor_id"]
        self.device_id = values["device_id"]
        self.metadata = values["metadata"]


class OrtEpDevice:
    """An execution provider and a device that it can use (see SessionOptions.add_provider_for_devices)."""

    __slots__ = ("_handle", "ep_name", "ep_vendor", "ep_metadata", "ep_options", "device")

    def __init__(self, handle):
        self._handle = handle
        values = handle.describe()
        self.ep_name = values["ep_name"]
        self.ep_vendor = values["ep_vendor"]
        self.ep_metadata = values["ep_metadata"]
        self.ep_options = values["ep_options"]
        self.device = OrtHardwareDevice(values["device"])

    def memory_info(self, mem_type):
        """The memory of the device of this OrtDeviceMemoryType; None if the provider uses host memory."""
        return OrtMemoryInfo._from_core(self._handle.memory_info(int(mem_type)))

    def create_sync_stream(self):
        """A stream of the device."""
        return OrtSyncStream._of(self)


class OrtSyncStream:
    """A stream of a device, on which its provider does work in order (OrtEpDevice.create_sync_stream)."""

    __slots__ = ("_handle",)

    def __init__(self):
        raise TypeError("OrtSyncStream: expected OrtEpDevice.create_sync_stream() to make it")

    @classmethod
    def _of(cls, device):
        stream = object.__new__(cls)
        try:
            stream._handle = _core.SyncStreamHandle(device._handle)
        except _core.InvalidArgument as error:  # the peer's exception
            raise RuntimeError(str(error)) from error
        return stream

    def get_handle(self):
        """The address of the provider's stream."""
        return self._handle.address()


def device_of_provider(name):
    """The device for a provider of a registered library that is asked for by its name alone: as in ONNX Runtime the
    first one that it has. None if no such library has the provider."""
    if name in _core.available_providers():
        return None
    return next((device for device in get_ep_devices() if device.ep_name == name), None)


def register_execution_provider_library(registration_name, library_path):
    """Loads a library of execution providers, whose devices get_ep_devices() then lists too. A relative path is one
    from the folder of the library that this package uses."""
    _core.register_library(registration_name, os.fsdecode(library_path))


def unregister_execution_provider_library(registration_name):
    """Unloads a library. Nothing may use it any more: no session, no value in memory of its devices."""
    _core.unregister_library(registration_name)


def get_ep_devices():
    """The devices that the providers of this build and of registered libraries find on this machine."""
    return [OrtEpDevice(handle) for handle in _core.ep_devices()]
