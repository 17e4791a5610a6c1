// tests/providers/two_devices/plugin.cpp - one factory with two cards, each with memory of its own, as their maker
// would write it against the public headers: a session gets one of them, or both.
//
// The provider has kernels for Add, Mul and Relu, which compute on the first card that it was given; with the option
// default=last it names the last one's memory as its default. The cards' addresses have no access rights; the plug-in
// has another view of the same pages.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../small_plugin.h"

namespace two_devices {
namespace {

using namespace small_plugin;

constexpr const char* kName = "TwoCardsProvider";
constexpr std::uint32_t kVersion = 27, kVendorId = 0x7b1;
constexpr std::size_t kPoolBytes = std::size_t{4} << 20, kBlock = 256;
std::string chosen;  // the cards of all providers that were made: "0;01;"

// ---- memory

struct Card {
  Card() {
    const int file = memfd_create("card", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kPoolBytes) != 0) return;
    void* shut = mmap(nullptr, kPoolBytes, PROT_NONE, MAP_SHARED, file, 0);
    void* open = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shut == MAP_FAILED || open == MAP_FAILED) return;
    base = static_cast<char*>(shut);
    view = static_cast<char*>(open);
  }
  bool Has(const void* data) const { return data >= base && data < base + kPoolBytes; }
  char *base = nullptr, *view = nullptr;
  std::mutex mutex;
  std::map<std::size_t, std::size_t> used;  // offset and size of the blocks in use
  std::atomic<long> allocations = 0, blocks = 0, computed = 0;
};
Card cards[2];

void* Reach(const void* data) {
  for (const Card& card : cards)
    if (card.Has(data)) return card.view + (static_cast<const char*>(data) - card.base);
  return const_cast<void*>(data);
}

int CardOf(const OrtMemoryInfo* info) {
  int id = -1;
  Check(api->MemoryInfoGetId(info, &id));
  return id;
}

struct Allocator : OrtAllocator {
  explicit Allocator(const OrtMemoryInfo* of) : OrtAllocator{}, info(of), card(cards[CardOf(of)]) {
    version = kVersion;
    Info = [](const OrtAllocator* self) { return static_cast<const Allocator*>(self)->info; };
    Alloc = [](OrtAllocator* self, size_t size) -> void* {
      Card& from = static_cast<Allocator*>(self)->card;
      const std::lock_guard lock(from.mutex);
      const std::size_t need = (size + kBlock - 1) / kBlock * kBlock;
      std::size_t at = 0;
      for (const auto& [offset, bytes] : from.used) {  // first fit
        if (at + need <= offset) break;
        at = offset + bytes;
      }
      if (from.base == nullptr || need == 0 || at + need > kPoolBytes) return nullptr;
      from.used[at] = need;
      ++from.allocations;
      ++from.blocks;
      return from.base + at;
    };
    Free = [](OrtAllocator* self, void* data) {
      Card& from = static_cast<Allocator*>(self)->card;
      if (data == nullptr) return;
      const std::lock_guard lock(from.mutex);
      from.used.erase(static_cast<std::size_t>(static_cast<char*>(data) - from.base));
      --from.blocks;
    };
  }
  const OrtMemoryInfo* info;
  Card& card;
};

using Transfer = CardTransfer<kVendorId, Reach>;

// ---- kernels

struct Tensor {
  std::vector<std::int64_t> shape;
  float* data = nullptr;
  std::int64_t count = 1;
};

// `card`: where it has to lie; null: on the host.
Tensor Describe(const OrtValue* value, const Card* card) {
  Tensor tensor;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(api->GetTensorTypeAndShape(value, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> owner(
      info, api->ReleaseTensorTypeAndShapeInfo);
  std::size_t rank = 0;
  Check(api->GetDimensionsCount(info, &rank));
  tensor.shape.resize(rank);
  Check(api->GetDimensions(info, tensor.shape.data(), rank));
  for (const std::int64_t dim : tensor.shape) tensor.count *= dim;
  const void* data = nullptr;
  Check(api->GetTensorData(value, &data));
  const bool is_there = card != nullptr ? card->Has(data) : Reach(data) == data;
  if (tensor.count != 0 && !is_there) Fail("expected memory of the provider's card, or the host's, found other memory");
  tensor.data = static_cast<float*>(Reach(data));
  return tensor;
}

struct Kernel : OrtKernelImpl {
  Kernel(std::string runs, Card& on) : OrtKernelImpl{}, op_type(std::move(runs)), card(on) {
    ort_version_supported = kVersion;
    Compute = [](OrtKernelImpl* self, OrtKernelContext* context) -> OrtStatus* {
      return Guard([&] { static_cast<Kernel*>(self)->Run(context); });
    };
    Release = [](OrtKernelImpl* self) { delete static_cast<Kernel*>(self); };
  }
  void Run(OrtKernelContext* context) const {
    const OrtValue* value = nullptr;
    Check(api->KernelContext_GetInput(context, 0, &value));
    const Tensor a = Describe(value, op_type != "MemcpyFromHost" ? &card : nullptr);
    Tensor b = a;
    if (op_type == "Add" || op_type == "Mul") {
      Check(api->KernelContext_GetInput(context, 1, &value));
      b = Describe(value, &card);
    }
    OrtValue* made = nullptr;
    const Tensor& larger = a.count >= b.count ? a : b;
    Check(api->KernelContext_GetOutput(context, 0, larger.shape.data(), larger.shape.size(), &made));
    const Tensor y = Describe(made, op_type != "MemcpyToHost" ? &card : nullptr);
    for (std::int64_t i = 0; i < y.count; ++i) {
      const float left = a.data[i % a.count], right = b.data[i % b.count];
      y.data[i] = op_type == "Add"    ? left + right
                  : op_type == "Mul"  ? left * right
                  : op_type == "Relu" ? std::max(left, 0.0f)
                                      : left;
    }
    if (op_type.rfind("Memcpy", 0) == 0) return;  // which a runtime may do without
    ++card.computed;
  }
  std::string op_type;
  Card& card;
};

// ---- the provider

struct Provider : OrtEp {
  Provider(std::vector<int> given, std::vector<const OrtMemoryInfo*> their_memory, bool last)
      : OrtEp{}, ids(std::move(given)), memory(std::move(their_memory)), at(last ? ids.size() - 1 : 0) {
    ort_version_supported = kVersion;
    GetName = [](const OrtEp*) -> const char* { return kName; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      return Guard([&] { TakeNodesWithKernels(graph, support); });
    };
    GetKernelRegistry = [](OrtEp* self, const OrtKernelRegistry** found) -> OrtStatus* {
      *found = static_cast<const Provider*>(self)->registry;
      return nullptr;
    };
    if (last) {
      GetDefaultMemoryDevice = [](const OrtEp* self, const OrtMemoryDevice** device) -> OrtStatus* {
        const auto& provider = *static_cast<const Provider*>(self);
        *device = ep_api->MemoryInfo_GetMemoryDevice(provider.memory[provider.at]);
        return nullptr;
      };
    }
    Check(ep_api->CreateKernelRegistry(&registry));
    for (const char* op_type : {"Add", "Mul", "Relu"}) AddKernel(op_type, 14);
    for (const char* op_type : {"MemcpyFromHost", "MemcpyToHost"}) AddKernel(op_type, 1);
  }
  ~Provider() { ep_api->ReleaseKernelRegistry(registry); }

  void AddKernel(const char* name, int since) {
    const std::string op_type = name;
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* made = nullptr;
    const OrtDataType* type = nullptr;
    Check(ep_api->CreateKernelDefBuilder(&builder));
    const std::unique_ptr<OrtKernelDefBuilder, void (*)(OrtKernelDefBuilder*)> owner(builder,
                                                                                     ep_api->ReleaseKernelDefBuilder);
    Check(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &type));
    Check(ep_api->KernelDefBuilder_SetOperatorType(builder, name));
    Check(ep_api->KernelDefBuilder_SetDomain(builder, ""));
    Check(ep_api->KernelDefBuilder_SetSinceVersion(builder, since, INT_MAX));
    Check(ep_api->KernelDefBuilder_SetExecutionProvider(builder, kName));
    Check(ep_api->KernelDefBuilder_AddTypeConstraint(builder, "T", &type, 1));
    if (op_type == "MemcpyFromHost") Check(ep_api->KernelDefBuilder_SetInputMemType(builder, 0, OrtMemTypeCPUInput));
    if (op_type == "MemcpyToHost") Check(ep_api->KernelDefBuilder_SetOutputMemType(builder, 0, OrtMemTypeCPUOutput));
    Check(ep_api->KernelDefBuilder_Build(builder, &made));
    OrtStatus* status = ep_api->KernelRegistry_AddKernel(registry, made, CreateKernel, const_cast<char*>(name));
    ep_api->ReleaseKernelDef(made);
    Check(status);
  }
  static OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) {
    return Guard([&] {
      const OrtEp* ep = nullptr;
      Check(ep_api->KernelInfo_GetEp(info, &ep));
      const auto& provider = *static_cast<const Provider*>(ep);
      *kernel = std::make_unique<Kernel>(static_cast<const char*>(state), cards[provider.ids[provider.at]]).release();
    });
  }

  std::vector<int> ids;
  std::vector<const OrtMemoryInfo*> memory;
  std::size_t at;  // of the card that computes
  OrtKernelRegistry* registry = nullptr;
};

bool IsLast(const OrtSessionOptions* options) {
  int has = 0;
  Check(api->HasSessionConfigEntry(options, "ep.twocardsprovider.default", &has));
  return has != 0;
}

struct Factory : PlainFactory {
  Factory() : PlainFactory(kVersion) {
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "A maker of cards"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return kVendorId; };
    GetSupportedDevices = ListDevices;
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const* metadata,
                  size_t count, const OrtSessionOptions* options, const OrtLogger*, OrtEp** provider) -> OrtStatus* {
      return Guard([&] {
        std::vector<int> ids;
        std::vector<const OrtMemoryInfo*> theirs;
        for (size_t i = 0; i < count; ++i) {
          ids.push_back(*api->GetKeyValue(metadata[i], "card") - '0');
          theirs.push_back(static_cast<const Factory*>(self)->memory[ids.back()]);
          chosen += std::to_string(ids.back());
        }
        chosen += ';';
        *provider = std::make_unique<Provider>(ids, theirs, IsLast(options)).release();
      });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) -> OrtStatus* {
      return Guard([&] { *allocator = std::make_unique<Allocator>(info).release(); });
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      return Guard([&] { *transfer = std::make_unique<Transfer>(kVersion).release(); });
    };
    for (int id : {0, 1})
      Check(api->CreateMemoryInfo_V2(id == 0 ? "FirstCard" : "SecondCard", OrtMemoryInfoDeviceType_GPU, kVendorId, id,
                                     OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &memory[id]));
  }
  ~Factory() {
    for (OrtMemoryInfo* info : memory)
      if (info != nullptr) api->ReleaseMemoryInfo(info);
  }
  static OrtStatus* ORT_API_CALL ListDevices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                             OrtEpDevice** found, size_t room, size_t* found_count) {
    return Guard([&] {
      *found_count = 0;
      for (size_t i = 0; i < count; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        for (int id : {0, 1}) {
          if (*found_count == room) Fail("no room for devices");
          OrtKeyValuePairs* metadata = nullptr;
          api->CreateKeyValuePairs(&metadata);
          api->AddKeyValuePair(metadata, "card", id == 0 ? "0" : "1");
          OrtStatus* status = ep_api->CreateEpDevice(self, devices[i], metadata, nullptr, &found[*found_count]);
          api->ReleaseKeyValuePairs(metadata);
          Check(status);
          OrtEpDevice* device = found[(*found_count)++];
          Check(ep_api->EpDevice_AddAllocatorInfo(device, static_cast<const Factory*>(self)->memory[id]));
        }
      }
    });
  }

  OrtMemoryInfo* memory[2] = {};
};

}  // namespace
}  // namespace two_devices

SMALL_PLUGIN_EXPORT long TwoDevicesCount(int card, const char* what);
SMALL_PLUGIN_EXPORT const char* TwoDevicesChosen();

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t /*room*/, size_t* count) {
  using namespace two_devices;
  TakeTables(base, kVersion);
  return Guard([&] {
    factories[0] = std::make_unique<Factory>().release();
    *count = 1;
  });
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<two_devices::Factory*>(factory);
  return nullptr;
}

// Of a card: "allocations" and "computed" so far, "blocks" in use.
long TwoDevicesCount(int card, const char* what) {
  const two_devices::Card& of = two_devices::cards[card];
  return std::strcmp(what, "allocations") == 0 ? of.allocations
         : std::strcmp(what, "computed") == 0  ? of.computed
                                               : of.blocks;
}

const char* TwoDevicesChosen() { return two_devices::chosen.c_str(); }
