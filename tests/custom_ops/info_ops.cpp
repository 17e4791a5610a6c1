// tests/custom_ops/info_ops.cpp - operators that tell what a kernel learns of its node and session.
#include <algorithm>
#include <cstring>

#include "test_op.h"

namespace custom_ops {
namespace {

OrtKernelInfo* kept_info = nullptr;  // a copy that outlives its session

// A text of any of the functions that give one with its size.
template <typename Get>
std::string TextOf(Get&& get) {
  std::size_t size = 0;
  if (const std::string asked = Outcome(get(nullptr, &size)); asked != "ok") return asked;
  if (size > 1) {  // too small a buffer is an error that tells the size
    std::size_t small = size - 1;
    std::string text(size, '\0');
    const std::string outcome = Outcome(get(text.data(), &small));
    if (outcome == "ok" || small != size) return "a small buffer: " + outcome + ", size " + std::to_string(small);
  }
  std::string text(size, '\0');
  Check(get(text.data(), &size));
  if (size == 0 || text[size - 1] != '\0') return "no NUL at the end";
  text.resize(size - 1);
  return text;
}

std::string TypeText(OrtStatus* status, OrtTypeInfo* type) {
  if (status != nullptr) return Outcome(status);
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Check(api->GetOnnxTypeFromTypeInfo(type, &kind));
  std::string text = "kind " + std::to_string(static_cast<int>(kind));
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(api->CastTypeInfoToTensorInfo(type, &info));
  if (info != nullptr) {
    Type element = kAny;
    std::size_t rank = 0;
    Check(api->GetTensorElementType(info, &element));
    Check(api->GetDimensionsCount(info, &rank));
    std::vector<std::int64_t> dims(rank);
    std::vector<const char*> symbols(rank);
    Check(api->GetDimensions(info, dims.data(), rank));
    Check(api->GetSymbolicDimensions(info, symbols.data(), rank));
    text += " element " + std::to_string(static_cast<int>(element)) + " [";
    for (std::size_t i = 0; i < rank; ++i) text += std::to_string(dims[i]) + "(" + symbols[i] + ")";
    text += "]";
  }
  api->ReleaseTypeInfo(type);
  return text;
}

std::vector<std::string> Facts(const OrtKernelInfo* info) {
  std::vector<std::string> facts;
  const auto tell = [&](const std::string& what, const std::string& text) { facts.push_back(what + ": " + text); };
  tell("node", TextOf([&](char* out, std::size_t* size) { return api->KernelInfo_GetNodeName(info, out, size); }));
  tell("type", TextOf([&](char* out, std::size_t* size) { return api->KernelInfo_GetOperatorType(info, out, size); }));
  tell("domain",
       TextOf([&](char* out, std::size_t* size) { return api->KernelInfo_GetOperatorDomain(info, out, size); }));
  int version = 0;
  Check(api->KernelInfo_GetOperatorSinceVersion(info, &version));
  tell("since", std::to_string(version));
  std::size_t inputs = 0, outputs = 0;
  Check(api->KernelInfo_GetInputCount(info, &inputs));
  Check(api->KernelInfo_GetOutputCount(info, &outputs));
  tell("inputs", std::to_string(inputs));
  tell("outputs", std::to_string(outputs));
  for (std::size_t i = 0; i <= inputs; ++i) {  // one too many
    tell("input name",
         TextOf([&](char* out, std::size_t* size) { return api->KernelInfo_GetInputName(info, i, out, size); }));
    OrtTypeInfo* type = nullptr;
    OrtStatus* status = api->KernelInfo_GetInputTypeInfo(info, i, &type);
    tell("input type", TypeText(status, type));
    if (i == inputs) break;
    int constant = -1;
    const OrtValue* value = nullptr;
    Check(api->KernelInfoGetConstantInput_tensor(info, i, &constant, &value));
    tell("constant", std::to_string(constant) + (value != nullptr ? " of " + std::to_string(Look(value).count) : ""));
  }
  for (std::size_t i = 0; i <= outputs; ++i) {
    tell("output name",
         TextOf([&](char* out, std::size_t* size) { return api->KernelInfo_GetOutputName(info, i, out, size); }));
    OrtTypeInfo* type = nullptr;
    OrtStatus* status = api->KernelInfo_GetOutputTypeInfo(info, i, &type);
    tell("output type", TypeText(status, type));
  }
  return facts;
}

template <typename T, typename Get>
std::string ListText(Get&& get) {
  std::size_t size = 0;
  if (const std::string asked = Outcome(get(nullptr, &size)); asked != "ok") return asked;
  std::vector<T> list(size);
  if (size != 0) {
    std::size_t small = size - 1;
    if (const std::string outcome = Outcome(get(list.data(), &small)); outcome == "ok" || small != size)
      return "a small buffer: " + outcome + ", size " + std::to_string(small);
  }
  Check(get(list.data(), &size));
  std::string text;
  for (const T& item : list) text += std::to_string(item) + " ";
  return text;
}

void AttributeFacts(const OrtKernelInfo* info, const char* name, std::vector<std::string>& facts) {
  const auto tell = [&](const char* what, const std::string& text) {
    facts.push_back(std::string(name) + " as " + what + ": " + text);
  };
  float real = 0;
  std::int64_t integer = 0;
  std::string outcome = Outcome(api->KernelInfoGetAttribute_float(info, name, &real));
  tell("float", outcome == "ok" ? std::to_string(real) : outcome);
  outcome = Outcome(api->KernelInfoGetAttribute_int64(info, name, &integer));
  tell("int64", outcome == "ok" ? std::to_string(integer) : outcome);
  tell("string",
       TextOf([&](char* out, std::size_t* size) { return api->KernelInfoGetAttribute_string(info, name, out, size); }));
  tell("floats", ListText<float>([&](float* out, std::size_t* size) {
         return api->KernelInfoGetAttributeArray_float(info, name, out, size);
       }));
  tell("ints", ListText<std::int64_t>([&](std::int64_t* out, std::size_t* size) {
         return api->KernelInfoGetAttributeArray_int64(info, name, out, size);
       }));
  OrtAllocator* allocator = nullptr;
  Check(api->KernelInfoGetAllocator(info, OrtMemTypeDefault, &allocator));
  OrtValue* tensor = nullptr;
  outcome = Outcome(api->KernelInfoGetAttribute_tensor(info, name, allocator, &tensor));
  tell("tensor", outcome == "ok" ? std::to_string(Look(tensor).count) : outcome);
  api->ReleaseValue(tensor);
  char** texts = nullptr;
  std::size_t count = 0;
  outcome = Outcome(api->KernelInfoGetAttributeArray_string(info, name, allocator, &texts, &count));
  if (outcome == "ok") {
    outcome.clear();
    for (std::size_t i = 0; i < count; ++i) {
      outcome += std::string(texts[i]) + " ";
      allocator->Free(allocator, texts[i]);
    }
    if (texts != nullptr) allocator->Free(allocator, texts);
  }
  tell("strings", outcome);
  api->ReleaseAllocator(allocator);
}

std::string ConfigEntry(const OrtKernelInfo* info, const char* wanted) {
  OrtKeyValuePairs* pairs = nullptr;
  Check(api->KernelInfo_GetConfigEntries(info, &pairs));
  const char* value = api->GetKeyValue(pairs, wanted);
  const std::string text = value != nullptr ? value : "none";
  api->ReleaseKeyValuePairs(pairs);
  return text;
}

// What the node's info says, as strings. Any inputs and outputs; all outputs but the first are empty.
class TellInfo final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new TellInfo;
    kernel->facts_ = Facts(info);
    kernel->facts_.push_back("config: " + ConfigEntry(info, "session.test.entry"));
    return kernel;
  }
  void Compute(OrtKernelContext* context) override {
    GiveTexts(context, 0, {static_cast<std::int64_t>(facts_.size())}, facts_);
    std::size_t outputs = 0;
    Check(api->KernelContext_GetOutputCount(context, &outputs));
    if (outputs > 1) Output<float>(context, 1, {0, 2});
  }

 private:
  std::vector<std::string> facts_;
};

// Every attribute read as every type.
class TellAttributes final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new TellAttributes;
    for (const char* name : {"real", "integer", "text", "reals", "integers", "texts", "tensor", "no_integers", "none"})
      AttributeFacts(info, name, kernel->facts_);
    return kernel;
  }
  void Compute(OrtKernelContext* context) override {
    GiveTexts(context, 0, {static_cast<std::int64_t>(facts_.size())}, facts_);
  }

 private:
  std::vector<std::string> facts_;
};

std::string ReadText(const OrtOpAttr* attribute, OrtOpAttrType type, std::size_t room) {
  std::vector<char> data(64, '#');
  std::size_t size = 0;
  std::string text = Outcome(api->ReadOpAttr(attribute, type, data.data(), room, &size));
  text += " size " + std::to_string(size) + " ";
  if (text.rfind("ok", 0) != 0) return text;
  for (std::size_t i = 0; i < size && i < data.size(); ++i)
    text += "0123456789abcdef"[(data[i] >> 4) & 15], text += "0123456789abcdef"[data[i] & 15];
  return text;
}

// What a shape function learns; it passes it on in a variable, because only shapes come out of it.
std::vector<std::string> shape_facts;

OrtStatus* ORT_API_CALL TellShapes(const OrtCustomOp*, OrtShapeInferContext* context) {
  return Guarded([&] {
    std::vector<std::string> facts;
    std::size_t inputs = 0;
    Check(api->ShapeInferContext_GetInputCount(context, &inputs));
    facts.push_back("inputs " + std::to_string(inputs));
    const std::pair<const char*, OrtOpAttrType> kinds[] = {
        {"integer", ORT_OP_ATTR_INT},   {"integers", ORT_OP_ATTR_INTS}, {"real", ORT_OP_ATTR_FLOAT},
        {"reals", ORT_OP_ATTR_FLOATS},  {"text", ORT_OP_ATTR_STRING},   {"texts", ORT_OP_ATTR_STRINGS},
        {"integer", ORT_OP_ATTR_FLOAT}, {"text", ORT_OP_ATTR_INTS}};
    for (const auto& [name, type] : kinds) {
      const OrtOpAttr* attribute = nullptr;
      Check(api->ShapeInferContext_GetAttribute(context, name, &attribute));
      facts.push_back(std::string(name) + ": " + ReadText(attribute, type, 64) +
                      ", with little room: " + ReadText(attribute, type, 1));
    }
    const OrtOpAttr* none = nullptr;
    facts.push_back("missing: " + Outcome(api->ShapeInferContext_GetAttribute(context, "none", &none)));
    shape_facts = facts;
  });
}

class TellShapeFacts final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new TellShapeFacts; }
  void Compute(OrtKernelContext* context) override {
    GiveTexts(context, 0, {static_cast<std::int64_t>(shape_facts.size())}, shape_facts);
  }
};

// Logs, and tells what a call sees of its surroundings.
class TellContext final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new TellContext;
    const OrtLogger* logger = nullptr;
    Check(api->KernelInfo_GetLogger(info, &logger));
    Check(api->Logger_GetLoggingSeverityLevel(logger, &kernel->level_));
    Check(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_WARNING, "kernel created", "info_ops.cpp", 7, "Make"));
    return kernel;
  }
  void Compute(OrtKernelContext* context) override {
    std::vector<std::string> facts;
    const auto tell = [&](const std::string& what, const std::string& text) { facts.push_back(what + ": " + text); };
    tell("level at creation", std::to_string(static_cast<int>(level_)));
    const OrtLogger* logger = nullptr;
    Check(api->KernelContext_GetLogger(context, &logger));
    Check(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_WARNING, "kernel runs", "info_ops.cpp", 8, "Compute"));
    Check(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_VERBOSE, "nobody hears this", "info_ops.cpp", 9, "Compute"));
    const OrtValue* value = InputValue(context, 99);
    tell("input 99", value == nullptr ? "none" : "something");
    OrtValue* output = nullptr;
    const std::string beyond = Outcome(api->KernelContext_GetOutput(context, 99, nullptr, 0, &output));
    tell("output 99", beyond + (output == nullptr ? " none" : " something"));
    const std::int64_t negative = -1;
    tell("negative shape", Outcome(api->KernelContext_GetOutput(context, 1, &negative, 1, &output)));
    void* stream = nullptr;
    const std::string streamed = Outcome(api->KernelContext_GetGPUComputeStream(context, &stream));
    tell("stream", streamed + (stream == nullptr ? " none" : " some"));
    OrtSyncStream* sync = nullptr;
    const std::string synchronous = Outcome(api->KernelContext_GetSyncStream(context, &sync));
    tell("sync stream", synchronous + (sync == nullptr ? " none" : " some"));
    void* resource = nullptr;
    tell("resource", Outcome(api->KernelContext_GetResource(context, 1, 1, &resource)));
    OrtValue* preallocated = nullptr;
    const std::string none = Outcome(api->KernelContext_GetPreallocatedOutput(context, 99, &preallocated));
    tell("output 99 before it is asked for", none + (preallocated == nullptr ? " none" : " some"));
    preallocated = nullptr;
    const std::string given = Outcome(api->KernelContext_GetPreallocatedOutput(context, 1, &preallocated));
    tell("output 1 before it is asked for", given + (preallocated == nullptr ? " none" : " some"));
    OrtMemoryInfo* memory = nullptr;
    Check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    OrtAllocator* allocator = nullptr;
    Check(api->KernelContext_GetAllocator(context, memory, &allocator));
    void *scratch = nullptr, *nothing = context;
    Check(api->KernelContext_GetScratchBuffer(context, memory, 1000, &scratch));
    Check(api->KernelContext_GetScratchBuffer(context, memory, 0, &nothing));
    std::memset(scratch, 1, 1000);
    Check(api->AllocatorFree(allocator, scratch));
    tell("scratch of nothing", nothing == nullptr ? "none" : "some");
    api->ReleaseAllocator(allocator);
    api->ReleaseMemoryInfo(memory);
    GiveTexts(context, 0, {static_cast<std::int64_t>(facts.size())}, facts);
    std::copy_n(Input(context, 0).As<float>(), 1, Output<float>(context, 1, {1}));
    // Asked for again in the same shape, an output is what it was.
    if (Output<float>(context, 1, {1})[0] != Input(context, 0).As<float>()[0])
      throw std::runtime_error("an output moved");
  }

 private:
  OrtLoggingLevel level_ = ORT_LOGGING_LEVEL_FATAL;
};

class KeepInfo final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    api->ReleaseKernelInfo(kept_info);
    kept_info = nullptr;
    Check(api->CopyKernelInfo(info, &kept_info));
    return new KeepInfo;
  }
  void Compute(OrtKernelContext* context) override { *Output<float>(context, 0, {}) = 0; }
};

}  // namespace

void AddInfoOps(OrtCustomOpDomain* domain) {
  static TestOp info("TellInfo", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}, {kAny, INPUT_OUTPUT_OPTIONAL}},
                     {{kString}, {kFloat, INPUT_OUTPUT_OPTIONAL}}, TellInfo::Make);
  static TestOp attributes("TellAttributes", {{kFloat}}, {{kString}}, TellAttributes::Make);
  static TestOp shapes("TellShapes", {{kFloat}}, {{kString}}, TellShapeFacts::Make);
  shapes.Shapes(TellShapes);
  static TestOp context("TellContext", {{kFloat}}, {{kString}, {kFloat}}, TellContext::Make);
  static TestOp keep("KeepInfo", {{kFloat}}, {{kFloat}}, KeepInfo::Make);
  for (TestOp* op : {&info, &attributes, &shapes, &context, &keep}) Check(api->CustomOpDomain_Add(domain, op));
}

}  // namespace custom_ops

// The node's name from the copy that KeepInfo made; its session may be gone.
int CustomOpsKeptName(char* out, std::size_t size) {
  using namespace custom_ops;
  if (kept_info == nullptr || Outcome(api->KernelInfo_GetNodeName(kept_info, out, &size)) != "ok") return 0;
  api->ReleaseKernelInfo(kept_info);
  kept_info = nullptr;
  return 1;
}
