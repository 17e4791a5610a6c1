// tests/providers/plugin/ep_context.cpp - writes compiled nodes as EPContext nodes, and reads them.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "plugin.h"

namespace test_plugin {
namespace {

constexpr const char* kContextDomain = "com.microsoft";

OrtStatus* TextAttribute(const OrtNode* node, const char* name, std::string& value) {
  const OrtOpAttr* attribute = nullptr;
  TEST_PLUGIN_TRY(api->Node_GetAttributeByName(node, name, &attribute));
  std::size_t size = 0;
  if (OrtStatus* too_small = api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &size))
    api->ReleaseStatus(too_small);  // it says the size
  value.resize(size);
  TEST_PLUGIN_TRY(api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, value.data(), size, &size));
  value.resize(size);
  return nullptr;
}

OrtStatus* NumberAttribute(const OrtNode* node, const char* name, std::int64_t& value) {
  const OrtOpAttr* attribute = nullptr;
  std::size_t size = 0;
  TEST_PLUGIN_TRY(api->Node_GetAttributeByName(node, name, &attribute));
  return api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof(value), &size);
}

// The names of a node's inputs or outputs.
OrtStatus* NamesOf(const std::vector<const OrtValueInfo*>& infos, std::vector<const char*>& names) {
  for (const OrtValueInfo* info : infos) {
    const char* name = "";
    if (info != nullptr) TEST_PLUGIN_TRY(api->GetValueInfoName(info, &name));
    names.push_back(name);
  }
  return nullptr;
}

}  // namespace

OrtStatus* ReadEntry(const OrtSessionOptions* options, const std::string& key, std::string& value) {
  int has = 0;
  TEST_PLUGIN_TRY(api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (has == 0) return nullptr;
  std::size_t size = 0;
  TEST_PLUGIN_TRY(api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  value.resize(size);
  TEST_PLUGIN_TRY(api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  value.resize(size - 1);  // without the NUL
  return nullptr;
}

bool IsOwnContext(const OrtNode* node) {
  const char *domain = "", *op_type = "";
  std::string source;
  for (OrtStatus* status : {api->Node_GetDomain(node, &domain), api->Node_GetOperatorType(node, &op_type)})
    api->ReleaseStatus(status);
  if (std::strcmp(domain, kContextDomain) != 0 || std::strcmp(op_type, "EPContext") != 0) return false;
  if (OrtStatus* status = TextAttribute(node, "source", source)) {
    api->ReleaseStatus(status);
    return false;
  }
  return source == kName;
}

ContextSettings::~ContextSettings() {
  if (config_ != nullptr) ep_api->ReleaseEpContextConfig(config_);
}

OrtStatus* ContextSettings::Read(const OrtSessionOptions* options) {
  std::string enabled, embedded;
  TEST_PLUGIN_TRY(ReadEntry(options, "ep.context_enable", enabled));
  TEST_PLUGIN_TRY(ReadEntry(options, "ep.context_embed_mode", embedded));
  TEST_PLUGIN_TRY(ReadEntry(options, "ep.context_file_path", model_path_));
  TEST_PLUGIN_TRY(ReadEntry(options, "ep.context_node_name_prefix", prefix_));
  wants_nodes_ = enabled == "1";
  embeds_ = embedded == "1";
  return ep_api->SessionOptionsGetEpContextConfig(options, &config_);
}

OrtStatus* ContextSettings::MakeNode(const OrtNode* fused, const OrtNodeComputeInfo* info, OrtNode** node) const {
  TEST_PLUGIN_TRY(Fault("MakeContextNode"));
  if (OrtStatus* none = Fault("NoContextNode")) {
    api->ReleaseStatus(none);
    return nullptr;
  }
  const char* name = nullptr;
  std::size_t inputs = 0, outputs = 0;
  TEST_PLUGIN_TRY(api->Node_GetName(fused, &name));
  TEST_PLUGIN_TRY(api->Node_GetNumInputs(fused, &inputs));
  TEST_PLUGIN_TRY(api->Node_GetNumOutputs(fused, &outputs));
  std::vector<const OrtValueInfo*> infos(inputs);
  std::vector<const char*> input_names, output_names;
  TEST_PLUGIN_TRY(api->Node_GetInputs(fused, infos.data(), inputs));
  TEST_PLUGIN_TRY(NamesOf(infos, input_names));
  infos.assign(outputs, nullptr);
  TEST_PLUGIN_TRY(api->Node_GetOutputs(fused, infos.data(), outputs));
  TEST_PLUGIN_TRY(NamesOf(infos, output_names));

  const std::string data = Save(info);
  std::string cache = data;
  if (!embeds_) {
    cache = prefix_ + name + ".bin";
    TEST_PLUGIN_TRY(WriteData(cache, data));
  }
  const std::int64_t main = 1, embeds = embeds_ ? 1 : 0;
  OrtOpAttr* attributes[5] = {};
  OrtStatus* status = api->CreateOpAttr("ep_cache_context", cache.data(), static_cast<int>(cache.size()),
                                        ORT_OP_ATTR_STRING, &attributes[0]);
  if (status == nullptr) status = api->CreateOpAttr("main_context", &main, 1, ORT_OP_ATTR_INT, &attributes[1]);
  if (status == nullptr) status = api->CreateOpAttr("embed_mode", &embeds, 1, ORT_OP_ATTR_INT, &attributes[2]);
  if (status == nullptr)
    status =
        api->CreateOpAttr("source", kName, static_cast<int>(std::strlen(kName)), ORT_OP_ATTR_STRING, &attributes[3]);
  if (status == nullptr)
    status = api->CreateOpAttr("partition_name", name, static_cast<int>(std::strlen(name)), ORT_OP_ATTR_STRING,
                               &attributes[4]);
  if (status == nullptr)
    status = api->GetModelEditorApi()->CreateNode("EPContext", kContextDomain, name, input_names.data(),
                                                  input_names.size(), output_names.data(), output_names.size(),
                                                  attributes, std::size(attributes), node);
  if (status != nullptr)
    for (OrtOpAttr* attribute : attributes)
      if (attribute != nullptr) api->ReleaseOpAttr(attribute);
  return status;
}

OrtStatus* ContextSettings::Open(const OrtGraph* graph, bool& is_context, OrtNodeComputeInfo** info) const {
  is_context = false;
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->Graph_GetNumNodes(graph, &count));
  if (count != 1) return nullptr;
  const OrtNode* node = nullptr;
  TEST_PLUGIN_TRY(api->Graph_GetNodes(graph, &node, 1));
  is_context = IsOwnContext(node);
  if (!is_context) return nullptr;
  std::int64_t embedded = 0;
  std::string cache, data;
  TEST_PLUGIN_TRY(NumberAttribute(node, "embed_mode", embedded));
  TEST_PLUGIN_TRY(TextAttribute(node, "ep_cache_context", cache));
  if (embedded != 0) return Load(cache, info);
  TEST_PLUGIN_TRY(ReadData(graph, cache, data));
  return Load(data, info);
}

// Beside the model that is written or, if the caller wants it elsewhere, through the caller's function.
OrtStatus* ContextSettings::WriteData(const std::string& name, const std::string& data) const {
  OrtWriteNamedBufferFunc write = nullptr;
  void* state = nullptr;
  TEST_PLUGIN_TRY(ep_api->EpContextConfigGetEpContextDataWriteFunc(config_, &write, &state));
  if (write != nullptr) return write(state, name.c_str(), data.data(), data.size());
  std::ofstream file(std::filesystem::path(model_path_).parent_path() / name, std::ios::binary);
  file << data;
  return file.good() ? nullptr : Failure("cannot write " + name);
}

OrtStatus* ContextSettings::ReadData(const OrtGraph* graph, const std::string& name, std::string& data) const {
  OrtReadNamedBufferFunc read = nullptr;
  void* state = nullptr;
  TEST_PLUGIN_TRY(ep_api->EpContextConfigGetEpContextDataReadFunc(config_, &read, &state));
  if (read != nullptr) {
    OrtAllocator* allocator = nullptr;
    TEST_PLUGIN_TRY(api->GetAllocatorWithDefaultOptions(&allocator));
    void* buffer = nullptr;
    std::size_t size = 0;
    TEST_PLUGIN_TRY(read(state, name.c_str(), allocator, &buffer, &size));
    data.assign(static_cast<const char*>(buffer), size);
    return api->AllocatorFree(allocator, buffer);
  }
  const ORTCHAR_T* model = nullptr;
  TEST_PLUGIN_TRY(api->Graph_GetModelPath(graph, &model));
  std::ifstream file(std::filesystem::path(model).parent_path() / name, std::ios::binary);
  if (!file) return Failure("there is no file " + name);
  data.assign(std::istreambuf_iterator<char>(file), {});
  return nullptr;
}

}  // namespace test_plugin
