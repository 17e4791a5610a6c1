// planner/layout/moved_images.cpp - ONNX's operators in the place of those on images channels last.
#include "planner/layout/moved_images.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/attributes.h"
#include "ops/channels_last.h"
#include "ops/schema/schema.h"

namespace sardonyx::planner {
namespace {

using Longs = std::vector<std::int64_t>;

// What becomes of an operator of the domain.
enum class Way : std::uint8_t {
  kBetween,    // input 0 and output 0 are images: ONNX's operator between transpositions
  kAnyLayout,  // ONNX's operator as it is: its other inputs name sizes in the image's own order
  kAttribute,  // com.microsoft's operator with the attribute channels_last
  kAsFloats,   // QLinearConvTranspose: ConvTranspose between transpositions, between numbers made floats and back
};
struct Row {
  std::string_view name;
  Way way;
};
constexpr Row kRows[] = {
    {"BatchNormalization", Way::kBetween},
    {"GlobalLpPool", Way::kBetween},
    {"GridSample", Way::kBetween},
    {"LRN", Way::kBetween},
    {"LpPool", Way::kBetween},
    {"MaxUnpool", Way::kBetween},  // its places and its output's shape stay those of images channels first
    {"Resize", Way::kAnyLayout},
    {"QLinearConvTranspose", Way::kAsFloats},
    {"QLinearAveragePool", Way::kAttribute},
};

const Row* FindRow(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &Row::name);
  return found != std::end(kRows) ? found : nullptr;
}

class Mover {
 public:
  Mover(Graph& graph, const ops::Registry& registry) : graph_(graph), registry_(registry) {}

  void Run() {
    bool added = false;
    for (const NodeId id : std::vector<NodeId>(graph_.order)) {
      for (Graph* body : graph_.node(id).Subgraphs()) Mover(*body, registry_).Run();
      const Node& node = graph_.node(id);
      if (node.domain == ops::kChannelsLastDomain && !registry_.HasName(node.domain, node.op_type))
        added = Move(id) || added;
      NoteRank(graph_.node(id));
    }
    if (added) graph_.SortTopologically();
  }

 private:
  [[noreturn]] void FailAt(const Node& node, std::string_view expected) const {
    Fail(Code::kNotImplemented, "[", node.op_type, "] ", Describe(graph_, node), ": ", node.domain, ".", node.op_type,
         " is not implemented ", expected);
  }

  // 0: not known.
  std::size_t RankOf(ValueId value) const {
    const Type& type = graph_.value(value).type;
    if (type.has_rank) return type.rank();
    const auto found = ranks_.find(value);
    return found != ranks_.end() ? found->second : 0;
  }

  // Transpositions name their rank, and images keep theirs.
  void NoteRank(const Node& node) {
    if (node.outputs.empty() || node.outputs[0] == kNoValue) return;
    const AttributeValue* perm = node.FindAttribute("perm");
    const AttributeValue* kernel = node.FindAttribute("kernel_shape");
    std::size_t rank = 0;
    if (node.op_type == "Transpose" && perm != nullptr && std::holds_alternative<Longs>(*perm)) {
      rank = std::get<Longs>(*perm).size();
    } else if (kernel != nullptr && std::holds_alternative<Longs>(*kernel)) {
      rank = std::get<Longs>(*kernel).size() + 2;
    } else if (node.domain == ops::kChannelsLastDomain || IsUnary(node)) {
      rank = node.inputs.empty() || node.inputs[0] == kNoValue ? 0 : RankOf(node.inputs[0]);
    }
    if (rank != 0) ranks_[node.outputs[0]] = rank;
  }
  static bool IsUnary(const Node& node) {
    constexpr std::string_view kNames[] = {"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Resize", "Sigmoid", "Tanh"};
    return node.domain.empty() && std::ranges::find(kNames, node.op_type) != std::end(kNames);
  }

  // A grid, places or a filter has as many dimensions as the image.
  static bool HasImageBeside(const Row& row) {
    return row.name == "GridSample" || row.name == "MaxUnpool" || row.way == Way::kAsFloats;
  }

  // True if nodes were added.
  bool Move(NodeId id) {
    Node& node = graph_.node(id);
    const Row* row = FindRow(node.op_type);
    if (row == nullptr && ops::FindSchema("", node.op_type) == nullptr) return false;  // nobody's; resolving says so
    if (row == nullptr) FailAt(node, "on images channels last");
    if (row->way == Way::kAttribute) {
      node.domain = "com.microsoft";
      node.SetAttribute("channels_last", std::int64_t{1});
      Import(node.domain);
      return false;
    }
    if (row->way == Way::kAnyLayout) {
      node.domain = "";
      return false;
    }
    std::size_t rank = RankOf(node.inputs[0]);
    const std::size_t same = row->way == Way::kAsFloats ? 3 : 1;  // an input of the same rank
    if (rank == 0 && node.inputs.size() > same && HasImageBeside(*row)) rank = RankOf(node.inputs[same]);
    if (rank < 3) FailAt(node, rank == 0 ? "for images of unknown rank" : "for images of rank 2 or less");
    if (row->way == Way::kAsFloats) MakeFloats(id, rank);
    MoveBetween(id, static_cast<std::int64_t>(rank));
    return true;
  }

  void MoveBetween(NodeId id, std::int64_t rank) {
    Longs first(static_cast<std::size_t>(rank)), last(first.size());
    std::iota(first.begin(), first.end(), std::int64_t{0});
    last = first;
    std::rotate(first.begin() + 1, first.end() - 1, first.end());
    std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    const ValueId image = graph_.node(id).inputs[0], result = graph_.node(id).outputs[0];
    const ValueId moved = graph_.AddNode("", "Transpose", {image}, {{"perm", std::move(first)}});
    graph_.SetInput(id, 0, moved);
    graph_.node(id).domain = "";
    const ValueId back = graph_.AddValue(graph_.FreshName(graph_.value(result).name));
    graph_.MoveOutput(id, 0, back);
    Node transpose;
    transpose.op_type = "Transpose";
    transpose.name = graph_.value(result).name + "_Transpose";
    transpose.inputs = {back};
    transpose.outputs = {result};
    transpose.attributes = {{"perm", std::move(last)}};
    graph_.AddNode(std::move(transpose));
    ranks_[result] = static_cast<std::size_t>(rank);
  }

  // ONNX has no QLinearConvTranspose: x, x_scale, x_zero_point, then the same of w and y without its numbers, and B.
  void MakeFloats(NodeId id, std::size_t rank) {
    const std::vector<ValueId> in(graph_.node(id).inputs.begin(), graph_.node(id).inputs.end());
    if (in.size() < 8) FailAt(graph_.node(id), "with fewer than 8 inputs");
    const Tensor* w_scale = graph_.value(in[4]).constant();
    if (w_scale != nullptr && w_scale->count() > 1 && (IntAttribute(graph_.node(id), "group", 1) != 1 || Opset() < 13))
      FailAt(graph_.node(id), "with a scale for each channel and groups, nor with such scales before opset 13");
    const ValueId result = graph_.node(id).outputs[0];
    std::vector<ValueId> floats = {graph_.AddNode("", "DequantizeLinear", {in[0], in[1], in[2]}, {}),
                                   graph_.AddNode("", "DequantizeLinear", {in[3], in[4], in[5]}, {})};
    if (in.size() > 8 && in[8] != kNoValue) {
      const ValueId scale = graph_.AddNode("", "Mul", {in[1], in[4]}, {});
      const bool has_axis = Opset() >= 13;
      floats.push_back(
          graph_.AddNode("", "DequantizeLinear", {in[8], scale},
                         has_axis ? std::vector<Attribute>{{"axis", std::int64_t{0}}} : std::vector<Attribute>{}));
    }
    for (std::size_t i = 0; i < in.size(); ++i) graph_.SetInput(id, i, i < floats.size() ? floats[i] : kNoValue);
    graph_.node(id).inputs.resize(floats.size());
    graph_.node(id).op_type = "ConvTranspose";
    const ValueId sums = graph_.AddValue(graph_.FreshName(graph_.value(result).name));
    graph_.MoveOutput(id, 0, sums);
    Node quantize;
    quantize.op_type = "QuantizeLinear";
    quantize.name = graph_.value(result).name + "_QuantizeLinear";
    quantize.inputs = {sums, in[6], in[7]};
    quantize.outputs = {result};
    graph_.AddNode(std::move(quantize));
    ranks_[result] = rank;
  }

  std::int64_t Opset() const { return graph_.OpsetVersion(""); }

  void Import(std::string_view domain) {
    if (graph_.OpsetVersion(domain) == 0) graph_.opset_imports.push_back({std::string(domain), 1});
  }

  Graph& graph_;
  const ops::Registry& registry_;
  std::map<ValueId, std::size_t> ranks_;
};

}  // namespace

void OpenMovedImages(Graph& graph, const ops::Registry& registry) { Mover(graph, registry).Run(); }

}  // namespace sardonyx::planner
