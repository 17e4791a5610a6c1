// tests/clients/programs/cxx_api/devices.cpp - devices and libraries of providers: provider.cpp beside this file.
#include "report.h"

#if ORT_API_VERSION >= 23
namespace {

// What is told of the machine's hardware is not compared: it is one library's finding.
void Describe(const std::string& name, const Ort::ConstEpDevice& device) {
  Say(name, device.EpName(), std::string(device.EpVendor()).empty(), device.EpMetadata().GetKeyValuePairs().size() > 0,
      device.EpOptions().GetKeyValuePairs().size());
  const Ort::ConstHardwareDevice hardware = device.Device();
  Say(name + ": hardware", hardware.Type());
  if (device.EpName() == std::string("CxxProvider"))
    Say(name + ": more", device.EpVendor(), device.EpMetadata().GetValue("told"), device.EpOptions().GetValue("tell"),
        hardware.VendorId() == 0 && hardware.Vendor() == nullptr, hardware.DeviceId() == 0xFFFFFFFF,
        hardware.Metadata().GetKeyValuePairs().size() < 100);
  SayOutcome(name + ": memory", [&] {
    const Ort::ConstMemoryInfo memory = device.GetMemoryInfo(OrtDeviceMemoryType_DEFAULT);
    if (device.EpName() == std::string("CxxProvider"))
      Say(name + ": memory is known", static_cast<const OrtMemoryInfo*>(memory) != nullptr);
  });
  SayOutcome(name + ": stream", [&] { const Ort::SyncStream stream = device.CreateSyncStream(); });
}

OrtStatus* ChooseFirst(const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                       const OrtEpDevice** selected, size_t most, size_t* chosen, void* state) {
  ++*static_cast<int*>(state);
  *chosen = 0;
  for (size_t i = 0; i < count && *chosen < most; ++i)
    if (Ort::ConstEpDevice(devices[i]).EpName() == std::string("CPUExecutionProvider"))
      selected[(*chosen)++] = devices[i];
  return nullptr;
}

std::vector<float> Compute(const Places& places, const Ort::SessionOptions& options) {
  Ort::Session session(TheEnv(), (places.models + "/linear.onnx").c_str(), options);
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "y";
  for (const Ort::ConstMemoryInfo& memory : session.GetMemoryInfoForInputs())
    Say("memory of an input", memory.GetAllocatorName(), memory.GetDeviceType());
  for (const Ort::ConstMemoryInfo& memory : session.GetMemoryInfoForOutputs())
    Say("memory of an output", memory.GetAllocatorName(), memory.GetDeviceMemoryType());
  for (const Ort::ConstEpDevice& device : session.GetEpDeviceForInputs())
    Say("device of an input", static_cast<const OrtEpDevice*>(device) == nullptr ? "none" : device.EpName());
  return Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]);
}

std::vector<Ort::ConstEpDevice> Named(const std::string& name) {
  std::vector<Ort::ConstEpDevice> found;
  for (const Ort::ConstEpDevice& device : TheEnv().GetEpDevices())
    if (device.EpName() == name) found.push_back(device);
  return found;
}

void Builtin(const Places& places) {
  const auto cpu = Named("CPUExecutionProvider");
  Say("devices of the CPU", cpu.size());
  Describe("device", cpu.front());
  Ort::SessionOptions options;
  options.AppendExecutionProvider_V2(TheEnv(), cpu, std::unordered_map<std::string, std::string>{});
  Say("on a chosen device", Compute(places, options));
  Ort::SessionOptions policy;
  policy.SetEpSelectionPolicy(OrtExecutionProviderDevicePolicy_PREFER_CPU);
  Say("by a policy", Compute(places, policy));
  int asked = 0;
  Ort::SessionOptions delegated;
  delegated.SetEpSelectionPolicy(ChooseFirst, &asked);
  Say("by a delegate", Compute(places, delegated), asked);
  SayOutcome("no devices",
             [&] { Ort::SessionOptions().AppendExecutionProvider_V2(TheEnv(), {}, Ort::KeyValuePairs{}); });
  SayOutcome("compatibility", [&] { Say("compatible", Ort::GetModelCompatibilityForEpDevices(cpu, "anything")); });
  SayOutcome("a shared allocator of the CPU", [&] {
    Ort::UnownedAllocator made =
        TheEnv().CreateSharedAllocator(cpu.front(), OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr);
    Say("shared allocator", static_cast<OrtAllocator*>(made) != nullptr);
  });
  const auto place = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  SayOutcome("the shared allocator that is there", [&] {
    Ort::UnownedAllocator found = TheEnv().GetSharedAllocator(place);
    Say("there is one", static_cast<OrtAllocator*>(found) != nullptr);
  });
  std::vector<float> from{1, 2}, to(2);
  std::vector<Ort::Value> sources, targets;
  sources.push_back(Tensor(from, {2}));
  targets.push_back(Tensor(to, {2}));
  const Ort::Status copied = TheEnv().CopyTensors(sources, targets, nullptr);
  Say("copied, or refused", copied.IsOK() ? to == from : copied.GetErrorCode() == ORT_NOT_IMPLEMENTED);
}

// The library prints what it sees of the graph.
void Library(const Places& places) {
  TheEnv().RegisterExecutionProviderLibrary("cxx", places.provider);
  SayOutcome("a library twice", [&] { TheEnv().RegisterExecutionProviderLibrary("cxx", places.provider); });
  SayOutcome("a library that is not there", [] { TheEnv().RegisterExecutionProviderLibrary("no", "nowhere.so"); });
  const auto devices = Named("CxxProvider");
  Say("devices of the library", devices.size());
  Describe("its device", devices.front());
  {
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
    Ort::KeyValuePairs given;
    given.Add("tell", "everything");
    options.AppendExecutionProvider_V2(TheEnv(), devices, given);
    for (const char* model : {"linear", "cxx_graph", "linear_external"}) {
      Say("the library is given", model);
      SayOutcome(std::string("a session of ") + model,
                 [&] { Ort::Session session(TheEnv(), (places.models + "/" + model + ".onnx").c_str(), options); });
    }
    Say("beside the library", Compute(places, options));
  }
  TheEnv().UnregisterExecutionProviderLibrary("cxx");
  Say("devices after it", Named("CxxProvider").size());
  SayOutcome("unregistered twice", [] { TheEnv().UnregisterExecutionProviderLibrary("cxx"); });
}

}  // namespace

void Devices(const Places& places) {
  Builtin(places);
  Library(places);
}
#else
void Devices(const Places&) {}
#endif
