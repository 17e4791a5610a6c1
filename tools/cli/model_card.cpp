// tools/cli/model_card.cpp - reads the card of a model.
#include "model_card.h"

namespace sardonyx::cli {

nlohmann::json ModelCard(const ModelSource& model) {
  return nlohmann::json::parse(Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().ModelInfoJson(model.path_or_null(), model.data_or_null(), model.bytes.size(), allocator, text);
  }));
}

std::vector<ValueDescription> InputsOf(const nlohmann::json& card) {
  std::vector<ValueDescription> inputs;
  for (const nlohmann::json& port : card["inputs"]) {
    ValueDescription input{.name = port["name"], .has_shape = port.contains("shape")};
    for (int onnx = 1; onnx < 64; ++onnx) {
      const ElementType* type = FindOnnxType(onnx);
      if (type == nullptr || port["type"] != type->name) continue;
      input.kind = ONNX_TYPE_TENSOR;
      input.type = type->type;
    }
    for (const nlohmann::json& size : input.has_shape ? port["shape"] : nlohmann::json::array()) {
      input.shape.push_back(size.is_number() ? size.get<std::int64_t>() : -1);
      input.symbols.push_back(size.is_string() ? size.get<std::string>() : "");
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace sardonyx::cli
