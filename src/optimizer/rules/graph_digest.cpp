// optimizer/rules/graph_digest.cpp - hashes nodes, attributes and the beginnings of constants.
#include "optimizer/rules/graph_digest.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace sardonyx::optimizer {
namespace {

class Digester {
 public:
  std::uint64_t Of(const Graph& graph) {
    for (const ValueId input : graph.inputs) Mix(input);
    for (const ValueId output : graph.outputs) Mix(output);
    for (const Capture& capture : graph.captures) Mix(std::uint64_t{capture.inner} << 32 | capture.outer);
    for (const NodeId id : graph.order) Take(graph, graph.node(id));
    return state_;
  }

 private:
  void Take(const Graph& graph, const Node& node) {
    Mix(node.id);
    Take(node.domain);
    Take(node.op_type);
    for (const ValueId input : node.inputs) {
      Mix(input);
      if (input == kNoValue) continue;
      const auto& constant = graph.value(input).initializer;
      Mix(constant != nullptr);
      if (constant != nullptr) Take(constant->tensor);
    }
    for (const ValueId output : node.outputs) Mix(output);
    Mix(node.attributes.size());
    for (const Attribute& attribute : node.attributes) {
      Take(attribute.name);
      Mix(attribute.value.index());
      std::visit([&](const auto& value) { Take(value); }, attribute.value);
    }
  }

  void Mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 29;
  }
  void Take(std::monostate) {}
  void Take(std::int64_t number) { Mix(static_cast<std::uint64_t>(number)); }
  void Take(float number) { Mix(std::bit_cast<std::uint32_t>(number)); }
  void Take(std::string_view text) {
    Mix(text.size());
    for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) MixBytes(text.substr(0, 8));
    MixBytes(text);
  }
  void Take(const std::string& text) { Take(std::string_view(text)); }
  void MixBytes(std::string_view bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    Mix(word);
  }
  // Equal contents count as the same constant: a body may get that of the graph around it instead of a copy.
  void Take(const Tensor& tensor) {
    constexpr std::size_t kMostBytes = 4096;
    Mix(static_cast<std::uint64_t>(tensor.dtype()));
    for (const std::int64_t size : tensor.shape()) Mix(static_cast<std::uint64_t>(size));
    if (tensor.dtype() == DType::kString) {
      for (const std::string& text : tensor.span<std::string>()) Take(text);
    } else if (tensor.raw() != nullptr) {
      Take(std::string_view(static_cast<const char*>(tensor.raw()), std::min(tensor.byte_size(), kMostBytes)));
    }
  }
  void Take(const SparseTensor& tensor) {
    Take(tensor.values);
    Take(tensor.indices);
  }
  void Take(const GraphBox& body) { Of(*body); }
  void Take(const Type& type) { Take(type.ToText()); }
  void Take(const AttributeReference& reference) { Take(reference.name); }
  template <typename T>
  void Take(const std::vector<T>& list) {
    Mix(list.size());
    for (const T& each : list) Take(each);
  }

  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

}  // namespace

std::uint64_t Digest(const Graph& graph) { return Digester().Of(graph); }

}  // namespace sardonyx::optimizer
