// testing/device_provider.cpp - runs CPU kernels on memory that is accessible only while they run.
#include "testing/device_provider.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include "ops/kernel_context.h"

namespace sardonyx::testing {
namespace {

constexpr Device kTestDevice = {DeviceType::kNpu, 0x5d7, 0, MemoryKind::kDefault, 4096};
constexpr std::size_t kPoolBytes = std::size_t{1} << 28;

// One range of pages; the rights of all of it change together, counted, so that kernels of several threads may overlap.
class Pool {
 public:
  Pool() : base_(mmap(nullptr, kPoolBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (base_ == MAP_FAILED) Fail(Code::kFail, "the test device's memory: ", std::strerror(errno));
    free_[0] = kPoolBytes;
  }
  void* Allocate(std::size_t size) {
    const std::size_t bytes = (std::max<std::size_t>(size, 1) + 4095) / 4096 * 4096;
    const std::lock_guard lock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const std::size_t at = it->first, room = it->second;
      free_.erase(it);
      if (room > bytes) free_[at + bytes] = room - bytes;
      used_[at] = bytes;
      return static_cast<std::byte*>(base_) + at;
    }
    Fail(Code::kFail, "out of memory: the test device has no ", size, " bytes");
  }
  void Free(void* data) {
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<std::size_t>(static_cast<std::byte*>(data) - static_cast<std::byte*>(base_));
    const auto found = used_.find(at);
    free_[at] = found->second;
    used_.erase(found);
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) mprotect(base_, kPoolBytes, PROT_READ | PROT_WRITE);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) mprotect(base_, kPoolBytes, PROT_NONE);
  }
  bool Has(const void* data) const {
    const auto* byte = static_cast<const std::byte*>(data);
    return byte >= base_ && byte < static_cast<const std::byte*>(base_) + kPoolBytes;
  }

 private:
  void* base_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_, used_;  // offset -> bytes
  int open_ = 0;
};

Pool& Memory() {
  static Pool* const pool = std::make_unique<Pool>().release();
  return *pool;
}

class OpenMemory {
 public:
  OpenMemory() { Memory().Open(); }
  ~OpenMemory() { Memory().Close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

class DeviceAllocator final : public Allocator {
 public:
  void* Allocate(std::size_t size) override { return size == 0 ? nullptr : Memory().Allocate(size); }
  void Free(void* data) override {
    if (data != nullptr) Memory().Free(data);
  }
  Device device() const override { return kTestDevice; }
};

std::atomic<long> copies_to_device = 0, copies_to_host = 0, kernels = 0;

struct KernelState {
  ops::Prepared prepared;
  std::vector<bool> input_on_host;
};

void RunOnDevice(ops::KernelContext& c) {
  const auto& state = c.state<KernelState>();
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (!c.IsTensor(i) || c.Input(i).count == 0) continue;
    if (IsOnDevice(c.Input(i).data) == state.input_on_host[i])
      Fail(Code::kEpFail, "input ", i, " lies on the wrong side: expected ",
           state.input_on_host[i] ? "host" : "device");
  }
  const OpenMemory open;
  ops::KernelContext inner = c;
  inner.set_state(state.prepared.state.get());
  state.prepared.run(inner);
  ++kernels;
}

class DeviceProviderImpl final : public providers::Provider {
 public:
  explicit DeviceProviderImpl(std::set<std::string> operators) : operators_(std::move(operators)) {}

  std::string_view name() const override { return kDeviceName; }

  providers::Claims Claim(const providers::GraphView& view) override {
    providers::Claims claims;
    for (const NodeId id : view.nodes) {
      const Node& node = view.graph.node(id);
      const bool known = view.registry.Find(node.domain, node.op_type, node.since_version) != nullptr;
      const Type* type =
          node.inputs.empty() || node.inputs[0] == kNoValue ? nullptr : &view.graph.value(node.inputs[0]).type;
      if (!known || operators_.count(node.op_type) == 0) {
        claims.refusals.push_back({id, "the device has no " + node.op_type});
      } else if (type == nullptr || !type->is_tensor() || type->dtype != DType::kFloat) {
        claims.refusals.push_back({id, "the device computes in float only"});
      } else {
        claims.groups.push_back({{id}, false});
      }
    }
    return claims;
  }

  // CPU kernels serve as the device's; constants they could read while preparing are on the device already.
  ops::Prepared Prepare(ops::PrepareContext& context) override {
    KernelState state;
    for (std::size_t i = 0; i < context.InputCount(); ++i)
      state.input_on_host.push_back(InputOnHost(context.node(), i));
    const OpenMemory open;
    state.prepared = context.op().prepare(context);
    return ops::WithState(RunOnDevice, std::move(state));
  }

  const std::shared_ptr<Allocator>& allocator() const override {
    static const std::shared_ptr<Allocator> allocator = std::make_shared<DeviceAllocator>();
    return allocator;
  }
  bool InputOnHost(const Node& node, std::size_t input) const override {
    return node.op_type == "Reshape" && input == 1;
  }

  void CopyBytes(const void* from, Device from_device, void* to, Device to_device, std::size_t bytes) override {
    if (IsOnDevice(from) == from_device.IsHost() || IsOnDevice(to) == to_device.IsHost())
      Fail(Code::kEpFail, "a copy whose addresses do not lie on the devices it names");
    const OpenMemory open;
    if (bytes != 0) std::memcpy(to, from, bytes);
    ++(to_device.IsHost() ? copies_to_host : copies_to_device);
  }

 private:
  std::set<std::string> operators_;
};

}  // namespace

bool IsOnDevice(const void* data) { return Memory().Has(data); }

DeviceCounts CountsOfDevice() { return {copies_to_device, copies_to_host, kernels}; }

providers::ProviderFactory DeviceProvider() {
  return {kDeviceName, [](const providers::ProviderOptions& options, const Logger&) {
            std::set<std::string> operators = {"Add", "MatMul", "Mul", "Relu", "Reshape", "Sigmoid", "Sub", "Tanh"};
            for (const auto& [key, value] : options) {
              if (key == "missing_driver")
                Fail(Code::kEpFail, "provider '", kDeviceName, "': driver '", value, "' is not installed");
              if (key != "operators")
                Fail(Code::kInvalidArgument, "provider '", kDeviceName, "': expected option 'operators', found '", key,
                     "'");
              operators.clear();
              std::istringstream list(value);
              for (std::string name; std::getline(list, name, ',');) operators.insert(name);
            }
            return std::make_shared<DeviceProviderImpl>(std::move(operators));
          }};
}

}  // namespace sardonyx::testing
