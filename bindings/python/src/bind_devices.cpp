// bindings/python/src/bind_devices.cpp - devices of providers, memory of inputs and outputs, and placement.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "options.h"

namespace sardonyx::python {

nb::dict Pairs(const OrtKeyValuePairs* pairs) {
  nb::dict result;
  if (pairs == nullptr) return result;
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  std::size_t count = 0;
  Ort().GetKeyValuePairs(pairs, &keys, &values, &count);
  for (std::size_t i = 0; i < count; ++i) result[Shown(keys[i])] = Shown(values[i]);
  return result;
}

namespace {

// The arguments of sardonyx.OrtMemoryInfo; None for NULL.
nb::object Memory(const OrtMemoryInfo* info) {
  if (info == nullptr) return nb::none();
  const char* name = nullptr;
  OrtAllocatorType allocator{};
  OrtMemType memory{};
  OrtMemoryInfoDeviceType device{};
  int id = 0;
  Check(Ort().MemoryInfoGetName(info, &name));
  Check(Ort().MemoryInfoGetType(info, &allocator));
  Check(Ort().MemoryInfoGetMemType(info, &memory));
  Check(Ort().MemoryInfoGetId(info, &id));
  Ort().MemoryInfoGetDeviceType(info, &device);
  nb::dict result;
  result["name"] = name;
  result["allocator_type"] = static_cast<int>(allocator);
  result["device_id"] = id;
  result["mem_type"] = static_cast<int>(memory);
  result["device_type"] = static_cast<int>(device);
  result["device_vendor_id"] = Ort().MemoryInfoGetVendorId(info);
  result["device_mem_type"] = static_cast<int>(Ort().MemoryInfoGetDeviceMemType(info));
  return result;
}

nb::dict DescribeHardware(const OrtHardwareDevice* hardware) {
  nb::dict device;
  device["handle"] = PyHardwareDevice{hardware};
  device["type"] = static_cast<int>(Ort().HardwareDevice_Type(hardware));
  device["vendor"] = Shown(Ort().HardwareDevice_Vendor(hardware));
  device["vendor_id"] = Ort().HardwareDevice_VendorId(hardware);
  device["device_id"] = Ort().HardwareDevice_DeviceId(hardware);
  device["metadata"] = Pairs(Ort().HardwareDevice_Metadata(hardware));
  return device;
}

nb::dict Describe(const PyEpDevice& handle) {
  nb::dict result;
  result["ep_name"] = Shown(Ort().EpDevice_EpName(handle.device));
  result["ep_vendor"] = Shown(Ort().EpDevice_EpVendor(handle.device));
  result["ep_metadata"] = Pairs(Ort().EpDevice_EpMetadata(handle.device));
  result["ep_options"] = Pairs(Ort().EpDevice_EpOptions(handle.device));
  result["device"] = DescribeHardware(Ort().EpDevice_Device(handle.device));
  return result;
}

std::vector<PyEpDevice> EpDevices() {
  const OrtEpDevice* const* devices = nullptr;
  std::size_t count = 0;
  Check(Ort().GetEpDevices(Environment(), &devices, &count));
  std::vector<PyEpDevice> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back({devices[i]});
  return result;
}

nb::list HardwareDevices() {
  std::size_t count = 0;
  Check(Ort().GetNumHardwareDevices(Environment(), &count));
  std::vector<const OrtHardwareDevice*> devices(count);
  Check(Ort().GetHardwareDevices(Environment(), devices.data(), count));
  nb::list result;
  for (const OrtHardwareDevice* device : devices) result.append(DescribeHardware(device));
  return result;
}

using MemoryFn = OrtStatusPtr(ORT_API_CALL*)(const OrtSession*, const OrtMemoryInfo**, std::size_t);

nb::list MemoryOf(const Session& session, MemoryFn memory_of, std::size_t count) {
  std::vector<const OrtMemoryInfo*> infos(count, nullptr);
  Check(memory_of(session.get(), infos.data(), count));
  nb::list result;
  for (const OrtMemoryInfo* info : infos) result.append(Memory(info));
  return result;
}

// None if the memory of an input does not belong to a device of a provider.
nb::list InputDevices(const Session& session) {
  std::vector<const OrtEpDevice*> devices(session.inputs().size(), nullptr);
  Check(Ort().SessionGetEpDeviceForInputs(session.get(), devices.data(), devices.size()));
  nb::list result;
  for (const OrtEpDevice* device : devices)
    result.append(device != nullptr ? nb::cast(PyEpDevice{device}) : nb::object(nb::none()));
  return result;
}

// (provider, [(name, domain, operator)]) of each part.
nb::list Assignment(const Session& session) {
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  std::size_t count = 0;
  Check(Ort().Session_GetEpGraphAssignmentInfo(session.get(), &parts, &count));
  nb::list result;
  for (std::size_t i = 0; i < count; ++i) {
    const char* provider = nullptr;
    const OrtEpAssignedNode* const* nodes = nullptr;
    std::size_t node_count = 0;
    Check(Ort().EpAssignedSubgraph_GetEpName(parts[i], &provider));
    Check(Ort().EpAssignedSubgraph_GetNodes(parts[i], &nodes, &node_count));
    nb::list listed;
    for (std::size_t k = 0; k < node_count; ++k) {
      const char *name = nullptr, *domain = nullptr, *op_type = nullptr;
      Check(Ort().EpAssignedNode_GetName(nodes[k], &name));
      Check(Ort().EpAssignedNode_GetDomain(nodes[k], &domain));
      Check(Ort().EpAssignedNode_GetOperatorType(nodes[k], &op_type));
      listed.append(nb::make_tuple(Shown(name), Shown(domain), Shown(op_type)));
    }
    result.append(nb::make_tuple(Shown(provider), listed));
  }
  return result;
}

// An arena of host memory, or the plain allocator, that sessions with session.use_env_allocators share. `arena`: values
// by ONNX Runtime's keys; -1 asks for the default.
void RegisterAllocator(const std::string& provider, const std::string& name, int type, int device, int memory,
                       const std::map<std::string, std::int64_t>& arena) {
  OrtMemoryInfo* info = nullptr;
  Check(Ort().CreateMemoryInfo(name.c_str(), static_cast<OrtAllocatorType>(type), device,
                               static_cast<OrtMemType>(memory), &info));
  const MemoryInfoPtr owned_info(info);
  std::vector<const char*> keys;
  std::vector<std::size_t> values;
  for (const auto& [key, value] : arena) {
    keys.push_back(key.c_str());
    values.push_back(static_cast<std::size_t>(value));
  }
  OrtArenaCfg* config = nullptr;
  Check(Ort().CreateArenaCfgV2(keys.data(), values.data(), keys.size(), &config));
  const ArenaCfgPtr owned_config(config);
  Check(Ort().CreateAndRegisterAllocatorV2(Environment(), provider.c_str(), info, config, nullptr, nullptr, 0));
}

}  // namespace

void AddDevices(nb::module_& module) {
  nb::class_<PyEpDevice>(module, "EpDeviceHandle")
      .def("describe", &Describe)
      .def("memory_info", [](const PyEpDevice& handle, int type) {
        return Memory(Ort().EpDevice_MemoryInfo(handle.device, static_cast<OrtDeviceMemoryType>(type)));
      });
  nb::class_<PyHardwareDevice>(module, "HardwareDeviceHandle");
  nb::class_<PySyncStream>(module, "SyncStreamHandle")
      .def(nb::init<const PyEpDevice&>())
      .def("address", [](const PySyncStream& stream) {
        return reinterpret_cast<std::uintptr_t>(Ort().SyncStream_GetHandle(stream.get()));
      });
  module.def("hardware_devices", &HardwareDevices);
  module.def("register_allocator", &RegisterAllocator);
  module.def("ep_devices", &EpDevices);
  module.def("register_library", [](const std::string& name, const std::string& path) {
    const nb::gil_scoped_release release;  // a library may take long to look at its devices
    Check(Ort().RegisterExecutionProviderLibrary(Environment(), name.c_str(), path.c_str()));
  });
  module.def("unregister_library", [](const std::string& name) {
    const nb::gil_scoped_release release;
    Check(Ort().UnregisterExecutionProviderLibrary(Environment(), name.c_str()));
  });
  module.def("set_dynamic_options", [](const Session& session, const std::map<std::string, std::string>& entries) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : entries) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    Check(Ort().SetEpDynamicOptions(session.get(), keys.data(), values.data(), keys.size()));
  });
  module.def("input_devices", &InputDevices);
  module.def("assignment", &Assignment);
  module.def("input_memory", [](const Session& session) {
    return MemoryOf(session, Ort().SessionGetMemoryInfoForInputs, session.inputs().size());
  });
  module.def("output_memory", [](const Session& session) {
    return MemoryOf(session, Ort().SessionGetMemoryInfoForOutputs, session.outputs().size());
  });
}

}  // namespace sardonyx::python
