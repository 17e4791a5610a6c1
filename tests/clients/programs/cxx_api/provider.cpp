// tests/clients/programs/cxx_api/provider.cpp - a library of an execution provider that takes no node: it prints what
// the header's classes for graphs, nodes and values say of the graph it is offered.
#include "report.h"

#if ORT_API_VERSION >= 23
namespace {

std::vector<std::string> NamesOf(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> names;
  for (const Ort::ConstValueInfo& value : values)
    names.push_back(static_cast<const OrtValueInfo*>(value) == nullptr ? "-" : value.GetName());
  return names;
}

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

void TellValue(const Ort::ConstValueInfo& value, const std::string& name) {
  std::vector<std::string> consumers;
  for (const Ort::ValueInfoConsumerProducerInfo& consumer : value.GetConsumers())
    consumers.push_back(consumer.node.GetName() + ":" + std::to_string(consumer.index));
  std::sort(consumers.begin(), consumers.end());  // in no particular order, as are nodes and what a body captures
  const Ort::ValueInfoConsumerProducerInfo producer = value.GetProducerNode();
  const bool made = static_cast<const OrtNode*>(producer.node) != nullptr;
  Say(name, value.TypeInfo().GetONNXType(), value.IsRequiredGraphInput(), value.IsOptionalGraphInput(),
      value.IsGraphOutput(), value.IsConstantInitializer(), value.IsFromOuterScope(), consumers,
      made ? producer.node.GetName() : "-", made ? producer.index : -1);
  if (value.TypeInfo().GetONNXType() == ONNX_TYPE_TENSOR)
    Say(name + ": shape", value.TypeInfo().GetTensorTypeAndShapeInfo().GetElementType(),
        value.TypeInfo().GetTensorTypeAndShapeInfo().GetShape());
  if (!value.IsConstantInitializer()) return;
  Ort::ExternalInitializerInfo external{nullptr};
  const bool known = value.GetExternalInitializerInfo(external).IsOK();
  const bool outside = known && static_cast<OrtExternalInitializerInfo*>(external) != nullptr;
  Say(name + ": outside", outside, outside ? external.GetFileOffset() : -1, outside ? external.GetByteSize() : 0);
  Ort::ConstValue contents;
  if (value.GetInitializer(contents).IsOK()) Say(name + ": contents", Elements<float>(contents));
}

void TellAttribute(const Ort::ConstOpAttr& attribute, const std::string& name) {
  Say(name, attribute.GetName(), attribute.GetType());
  int64_t number = 0;
  float real = 0;
  std::string text;
  std::vector<int64_t> numbers;
  std::vector<float> reals;
  std::vector<std::string> texts;
  switch (attribute.GetType()) {
    case ORT_OP_ATTR_INT:
      return Say(name + ": int", attribute.GetValue(number).IsOK(), number);
    case ORT_OP_ATTR_FLOAT:
      return Say(name + ": float", attribute.GetValue(real).IsOK(), real);
    case ORT_OP_ATTR_STRING:
      return Say(name + ": string", attribute.GetValue(text).IsOK(), text);
    case ORT_OP_ATTR_INTS:
      return Say(name + ": ints", attribute.GetValueArray(numbers).IsOK(), numbers);
    case ORT_OP_ATTR_FLOATS:
      return Say(name + ": floats", attribute.GetValueArray(reals).IsOK(), reals);
    case ORT_OP_ATTR_STRINGS:
      return Say(name + ": strings", attribute.GetValueArray(texts).IsOK(), texts);
    default: {
      Ort::Value tensor{nullptr};
      const bool fine = attribute.GetTensorAttributeAsOrtValue(tensor).IsOK();
      return Say(name + ": tensor", fine, fine ? Elements<float>(tensor) : std::vector<float>{});
    }
  }
}

void TellGraph(const Ort::ConstGraph& graph, const std::string& name);

void TellNode(const Ort::ConstNode& node, const std::string& name) {
  Say(name, node.GetName(), node.GetOperatorType(), node.GetDomain(), node.GetSinceVersion(), NamesOf(node.GetInputs()),
      NamesOf(node.GetOutputs()), Sorted(NamesOf(node.GetImplicitInputs())), node.GetEpName());
  Say(name + ": in a graph", static_cast<const OrtGraph*>(node.GetGraph()) != nullptr);
  std::vector<Ort::ConstOpAttr> attributes = node.GetAttributes();
  std::sort(attributes.begin(), attributes.end(),
            [](const auto& a, const auto& b) { return a.GetName() < b.GetName(); });
  for (const Ort::ConstOpAttr& attribute : attributes) {
    const bool body = attribute.GetType() == ORT_OP_ATTR_GRAPH;
    if (!body) TellAttribute(attribute, name + ": " + attribute.GetName());
  }
  Ort::ConstOpAttr found;
  const bool there = node.GetAttributeByName("nobody", found).IsOK();
  Say(name + ": no such attribute", there && static_cast<const OrtOpAttr*>(found) != nullptr);
  std::vector<Ort::AttrNameSubgraph> bodies = node.GetSubgraphs();
  std::sort(bodies.begin(), bodies.end(), [](const auto& a, const auto& b) { return a.attr_name < b.attr_name; });
  for (const Ort::AttrNameSubgraph& body : bodies) TellGraph(body.sub_graph, name + "/" + body.attr_name);
}

void TellGraph(const Ort::ConstGraph& graph, const std::string& name) {
  std::vector<std::string> opsets;
  for (const Ort::OperatorSet& opset : graph.GetOperatorSets())
    if (opset.domain == "" || opset.domain == "ai.onnx.ml")
      opsets.push_back("'" + opset.domain + "'" + std::to_string(opset.domain.empty() ? opset.version : 0));
  Say(name, graph.GetName(), graph.GetModelPath().rfind('/') != std::string::npos, graph.GetOnnxIRVersion(),
      NamesOf(graph.GetInputs()), NamesOf(graph.GetOutputs()), graph.GetNodes().size());
  const Ort::ConstNode parent = graph.GetParentNode();
  Say(name + ": parent", static_cast<const OrtNode*>(parent) == nullptr ? "none" : parent.GetName());
  for (const Ort::ConstValueInfo& value : graph.GetInputs()) TellValue(value, name + ": " + value.GetName());
  std::vector<Ort::ConstValueInfo> initializers = graph.GetInitializers();  // in no particular order
  std::sort(initializers.begin(), initializers.end(),
            [](const auto& a, const auto& b) { return a.GetName() < b.GetName(); });
  for (const Ort::ConstValueInfo& value : initializers) TellValue(value, name + ": " + value.GetName());
  std::vector<Ort::ConstNode> nodes = graph.GetNodes();
  std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.GetName() < b.GetName(); });
  for (const Ort::ConstNode& node : nodes) {
    TellNode(node, name + ": node " + node.GetName());
    for (const Ort::ConstValueInfo& value : node.GetOutputs())
      if (static_cast<const OrtValueInfo*>(value) != nullptr) TellValue(value, name + ": " + value.GetName());
  }
  if (static_cast<const OrtNode*>(parent) != nullptr || graph.GetNodes().empty()) return;
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata metadata = graph.GetModelMetadata();
  Say(name + ": metadata", metadata.GetProducerNameAllocated(allocator).get(), metadata.GetVersion());
  const Ort::Graph view = graph.GetGraphView({graph.GetNodes().front()});
  Say(name + ": view", view.GetNodes().size(), NamesOf(view.GetInputs()), NamesOf(view.GetOutputs()));
}

struct Provider : OrtEp {
  explicit Provider(const std::string& told) : OrtEp{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) noexcept { return "CxxProvider"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo*) noexcept -> OrtStatus* {
      try {
        const Ort::ConstGraph offered(graph);
        if (!offered.GetInputs().empty()) TellGraph(offered, "graph");  // bodies are told of with their nodes
        return nullptr;
      } catch (const Ort::Exception& error) {
        return Ort::Status(error).release();
      }
    };
    Compile = [](OrtEp*, const OrtGraph**, const OrtNode**, size_t, OrtNodeComputeInfo**, OrtNode**) noexcept {
      return Ort::Status("nothing was taken", ORT_FAIL).release();
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo**, size_t) noexcept {};
    Say("the provider's option", told);
  }
};

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    OrtEpFactory::GetName = [](const OrtEpFactory*) noexcept { return "CxxProvider"; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) noexcept { return "tests"; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return 0x1234; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) noexcept { return "1.2.3"; };
    OrtEpFactory::GetSupportedDevices = Devices;
    OrtEpFactory::CreateEp = Create;
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* provider) noexcept { delete static_cast<Provider*>(provider); };
    OrtEpFactory::CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                       OrtAllocator** allocator) noexcept -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }

  static OrtStatus* Devices(OrtEpFactory* self, const OrtHardwareDevice* const* hardware, size_t count,
                            OrtEpDevice** devices, size_t most, size_t* made) noexcept {
    *made = 0;
    for (size_t i = 0; i < count && *made < most; ++i) {
      Ort::ConstHardwareDevice device(hardware[i]);
      if (device.Type() != OrtHardwareDeviceType_CPU) continue;
      Ort::KeyValuePairs told, options;
      told.Add("told", "this");
      options.Add("tell", "nothing");
      devices[(*made)++] = Ort::EpDevice(*self, device, told.GetConst(), options.GetConst()).release();
    }
    return nullptr;
  }

  static OrtStatus* Create(OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                           const OrtSessionOptions* options, const OrtLogger*, OrtEp** provider) noexcept {
    const Ort::ConstSessionOptions given(options);
    *provider = new Provider(given.GetConfigEntryOrDefault("ep.cxxprovider.tell", "nothing"));
    return nullptr;
  }
};

}  // namespace

extern "C" OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories,
                                        size_t, size_t* count) {
  Ort::InitApi(base->GetApi(ORT_API_VERSION));
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

extern "C" OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
#endif
