// tests/providers/plugin/plugin.h - a plug-in with an execution provider, as its author would write it against ONNX
// Runtime's public headers: what its files share.
//
// It compiles groups of elementwise float nodes. Four devices of it exist on a CPU: 'host' works in host memory, 'card'
// in memory that the CPU must not touch; 'kernels' and 'card_kernels' have a kernel for each node and compile nothing,
// the latter in the card's memory. The environment variable SDX_PLUGIN_FAULT names functions that fail ("Compile" or
// "CreateEp,GetCapability"; Fault and IsPlanted say how else).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace test_plugin {

// The same sources are a second library, of another vendor, whose card can read and write the first one's, too.
inline constexpr std::uint32_t kFirstVendorId = 0x5d4e;
#ifdef TEST_PLUGIN_SECOND
inline constexpr const char* kName = "SdxSecondProvider";
inline constexpr const char* kCardName = "SdxSecondCard";
inline constexpr const char* kOptions = "ep.sdxsecondprovider.";
inline constexpr std::uint32_t kVendorId = 0x5d4f;
#else
inline constexpr const char* kName = "SdxTestProvider";
inline constexpr const char* kCardName = "SdxTestCard";
inline constexpr const char* kOptions = "ep.sdxtestprovider.";  // in the entries of a session
inline constexpr std::uint32_t kVendorId = kFirstVendorId;
#endif
inline constexpr const char* kVendor = "Sardonyx tests";
// The second card also has memory that the host can reach, and allocates on streams.
inline constexpr const char* kPinnedName = "SdxSecondPinned";
inline constexpr bool kHasPinned = kVendorId != kFirstVendorId;

// The tables of the runtime that has loaded the plug-in.
extern const OrtApi* api;
extern const OrtEpApi* ep_api;

// What lives at the moment, of each kind; all are 0 when everything was given back.
struct Counts {
  std::atomic<long> factories, providers, compiled_nodes, states, allocators, blocks, transfers, streams, notifications,
      kernels, helpers, packed, profilers, importers, imported;
};
extern Counts counts;
extern std::atomic<long> claims;  // calls of GetCapability since the library was loaded

// What has happened since the library was loaded.
struct Events {
  std::atomic<long> copies, within, across, on_stream, pinned, streamed, activated, host_waits, device_waits, flushes;
  std::atomic<long> run_ends, own_streams, own_allocators;
  std::atomic<long> captured_runs, replayed, synced, profiled;
  std::atomic<long> released_handles;   // by their own functions
  std::atomic<long> too_early;          // what did not wait for a semaphore
  std::atomic<long> interop, interops;  // graphics interfaces at present, and all so far
  std::atomic<long> lost;               // work that a stream still had when it was released
};
extern Events events;

// A status if SDX_PLUGIN_FAULT names `function`, else NULL. "throw:Compile" has it throw an exception instead.
OrtStatus* Fault(const char* function);
// Whether SDX_PLUGIN_FAULT has "nothing:function", which then succeeds without a result, "incomplete:function", whose
// result then lacks a function, or "miscount:function", which then says a wrong number.
bool IsPlanted(const char* kind, const char* function);
// Returns from the calling function with what `call` returns, unless that is NULL.
#define TEST_PLUGIN_TRY(call)                                         \
  do {                                                                \
    if (OrtStatus* failed = (call); failed != nullptr) return failed; \
  } while (false)
OrtStatus* Failure(const std::string& message);

// ---- older_versions.cpp
// The version of the interface that the plug-in says it was built for: the environment variable SDX_PLUGIN_VERSION when
// it was registered, or the newest.
std::uint32_t Version();
void ReadVersion();
// Takes away what the struct of that version did not have.
void CutToVersion(OrtEp* provider);
void CutToVersion(OrtEpFactory* factory);

inline constexpr const char* kChannelsLast = "com.ms.internal.nhwc";

// ---- compiled_node.cpp
struct Step {
  std::string op_type, domain;
  int version;
  std::vector<std::string> inputs;
  std::string output;
  // Of an If: the steps of then_branch and else_branch, and the values that they make.
  std::vector<Step> branches[2];
  std::string results[2];
};
bool IsSupported(const char* domain, const char* op_type);
bool IsPool(const char* op_type);  // of images channels last: MaxPool by two with a stride of two, GlobalMaxPool
// Makes the node that runs `graph`. `repeats`: each result twice, one below the other, against what the operators say.
OrtStatus* CompileGraph(const OrtGraph* graph, bool repeats, OrtNodeComputeInfo** info);
void ReleaseCompiled(OrtNodeComputeInfo* info);
// Computes one operator on floats that lie on the host; `shape` gets the shape of the result.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<float> data;
};
std::int64_t CountOf(const std::vector<std::int64_t>& shape);
void Repeat(Array& array);
OrtStatus* Compute(const std::string& op_type, const std::vector<const Array*>& inputs, Array& result);
// The shape of an elementwise result.
OrtStatus* BroadcastShape(const std::string& op_type, const std::vector<const Array*>& inputs,
                          std::vector<std::int64_t>& shape);
OrtStatus* ReadShape(const OrtValue* value, std::vector<std::int64_t>& shape);
OrtStatus* ReadTensor(const OrtValue* value, Array& array);
OrtStatus* WriteTensor(OrtValue* value, const Array& array);

// A compiled node as text that names no graph, and back.
std::string Save(const OrtNodeComputeInfo* info);
OrtStatus* Load(const std::string& text, OrtNodeComputeInfo** info);

// ---- ep_context.cpp
// What a session's options say of EPContext models.
class ContextSettings {
 public:
  ~ContextSettings();
  OrtStatus* Read(const OrtSessionOptions* options);
  bool wants_nodes() const { return wants_nodes_; }
  // Makes the EPContext node that stands for `info`, whose place in the model is that of `fused`.
  OrtStatus* MakeNode(const OrtNode* fused, const OrtNodeComputeInfo* info, OrtNode** node) const;
  // Makes what the graph's only node, an EPContext, holds; `is_context` is false if it is none.
  OrtStatus* Open(const OrtGraph* graph, bool& is_context, OrtNodeComputeInfo** info) const;

 private:
  OrtStatus* WriteData(const std::string& name, const std::string& data) const;
  OrtStatus* ReadData(const OrtGraph* graph, const std::string& name, std::string& data) const;
  std::string FolderOf(const OrtGraph* graph) const;

  bool wants_nodes_ = false, embeds_ = false;
  std::string model_path_, prefix_;
  OrtEpContextConfig* config_ = nullptr;
};
// An EPContext node that this provider has made.
bool IsOwnContext(const OrtNode* node);
// A config entry of the session; "" if there is none.
OrtStatus* ReadEntry(const OrtSessionOptions* options, const std::string& key, std::string& value);

// ---- control_flow.cpp
OrtStatus* ORT_API_CALL CreateControlFlow(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel);

// ---- card_kernels.cpp
OrtKernelImpl* NewCardKernel(const char* op_type);

// ---- packed_weights.cpp
class PackedWeight {
 public:
  PackedWeight() = default;
  ~PackedWeight();
  PackedWeight(const PackedWeight&) = delete;
  PackedWeight& operator=(const PackedWeight&) = delete;
  // Into memory of its own or, if there is one, of the cache, which gives it back with SetShared.
  OrtStatus* Pack(const OrtValue* weight, OrtAllocator* allocator, OrtSharedPrePackedWeightCache* cache);
  OrtStatus* SetShared(const void* const* data, const std::size_t* sizes, std::size_t count);
  OrtStatus* Unpack(Array& array) const;

 private:
  bool is_packed_ = false;
  std::vector<std::int64_t> shape_;
  OrtAllocator* allocator_ = nullptr;
  float* own_ = nullptr;
  const float* data_ = nullptr;
};
long CountSharedPlaces();  // different ones, since the library was loaded

// ---- custom_operator.cpp
inline constexpr const char* kDomain = "test.plugin";  // of the operator Triple
OrtStatus* MakeDomain(OrtCustomOpDomain** domain);

// ---- device_memory.cpp
// Memory without access rights for anyone but the plug-in itself, and for those who know of it: open while this lives.
class OpenDevice {
 public:
  OpenDevice();
  ~OpenDevice();
};
bool IsOnCard(const void* data);  // of this library
OrtStatus* CreateCardAllocator(const OrtMemoryInfo* info, OrtAllocator** allocator);
void ReleaseCardAllocator(OrtAllocator* allocator);
OrtStatus* CreateTransfer(OrtDataTransferImpl** transfer);

// ---- streams.cpp
OrtStatus* CreateStream(OrtSyncStreamImpl** stream);
// Does the work when somebody waits for the stream; at once if there is none (NULL).
void Do(const OrtSyncStream* stream, std::function<void()> work);
// Does all that the stream of this handle (may be NULL) was given.
void FinishStream(void* handle);
// The stream that takes the work of a kernel, or NULL.
OrtStatus* StreamOf(const OrtKernelContext* context, OrtSyncStream** stream);

// ---- imported_resources.cpp
// `card`: the memory of the device.
OrtStatus* CreateImporter(const OrtEpDevice* device, const OrtMemoryInfo* card,
                          OrtExternalResourceImporterImpl** importer);

// ---- profiler.cpp
OrtStatus* ORT_API_CALL CreateProfiler(OrtEp* ep, OrtEpProfilerImpl** profiler);

// ---- captured_graphs.cpp
// Gives a provider the functions of graph capture; `cpu_for_shapes`: the CPU may run nodes that compute shapes.
void EnableCapture(OrtEp* ep, bool cpu_for_shapes);
void ForgetCaptures(const OrtEp* ep);
// At the start and the end of a run: what is recorded between belongs to the graph of the run's gpu_graph_id.
void StartCapture(const OrtEp* ep, const OrtRunOptions* options);
void EndCapture();
void Record(const std::function<void()>& work);

}  // namespace test_plugin
