// planner/layout/channel_blocks.cpp - replaces nodes on blocked images [N, C / block, H, W, block], whose tensors have
// the shape [N, C, H, W] all the same.
//
// Each blocked value gets a twin of that shape whose elements lie as the shape says. Where something else than the
// operators handled here reads a blocked value, it is made from its twin.
#include "planner/layout/channel_blocks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "base/error.h"
#include "ops/node_view.h"
#include "ops/spell_context.h"

namespace sardonyx::planner {
namespace {

constexpr std::string_view kDomain = "com.microsoft.nchwc";
using Longs = std::vector<std::int64_t>;

bool IsBlocked(const Node& node) { return node.domain == kDomain; }

// A dimension of a value, 0 if it is not known.
std::int64_t DimOf(const Graph& graph, ValueId value, std::size_t axis) {
  const Type& type = graph.value(value).type;
  return type.has_rank && type.rank() > axis && type.dims[axis].known() ? type.dims[axis].number() : 0;
}

std::int64_t GroupOf(const Node& node) {
  const AttributeValue* group = node.FindAttribute("group");
  return group != nullptr && std::holds_alternative<std::int64_t>(*group) ? std::get<std::int64_t>(*group) : 1;
}

// What one node says of the block size; 0: nothing.
std::int64_t EvidenceOf(const Graph& graph, const Node& node) {
  if (node.op_type == "Conv") {
    const std::int64_t m = DimOf(graph, node.inputs[1], 0), c = DimOf(graph, node.inputs[1], 1);
    if (m % 16 == 8) return 8;
    // Fewer channels than a block come as they are.
    const NodeId from = graph.value(node.inputs[0]).producer;
    const bool as_it_is = from == kNoNode || !IsBlocked(graph.node(from));
    if (GroupOf(node) == 1 && c >= 8 && c < 16 && (c > 8 || as_it_is)) return 16;
  }
  if (node.op_type == "ReorderOutput") {
    const AttributeValue* channels = node.FindAttribute("channels");
    const std::int64_t padded = DimOf(graph, node.inputs[0], 1);
    if (padded % 16 == 8) return 8;
    if (channels != nullptr && std::holds_alternative<std::int64_t>(*channels) &&
        padded - std::get<std::int64_t>(*channels) >= 8)
      return 16;
  }
  return 0;
}

// The first evidence in the graph and its bodies; -1 where there are nodes without any.
std::int64_t FindEvidence(const Graph& graph) {
  std::int64_t found = 0;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (IsBlocked(node)) {
      if (const std::int64_t size = EvidenceOf(graph, node); size != 0) return size;
      found = -1;
    }
    for (const Graph* body : node.Subgraphs()) {
      if (const std::int64_t size = FindEvidence(*body); size != 0) found = size;
      if (found > 0) return found;
    }
  }
  return found;
}

// The filters of a convolution in ONNX's order. They come in blocks of output channels, and of input channels too where
// the input is blocked: [M / block, C (/ block), kernel, (block of C,) block of M].
Tensor OpenFilters(const Tensor& w, std::int64_t block, bool input_blocks) {
  const std::int64_t m = w.shape()[0], c = w.shape()[1], taps = w.shape()[2] * w.shape()[3];
  const std::int64_t inner = input_blocks ? block : 1;
  Tensor opened(DType::kFloat, w.shape());
  const float* from = w.data<float>();
  float* to = opened.data<float>();
  for (std::int64_t o = 0; o < m; ++o) {
    for (std::int64_t i = 0; i < c; ++i) {
      const std::int64_t column = (o / block * (c / inner) + i / inner) * taps;
      for (std::int64_t k = 0; k < taps; ++k) *to++ = from[((column + k) * inner + i % inner) * block + o % block];
    }
  }
  return opened;
}

class Opener {
 public:
  Opener(Graph& graph, const ops::Registry& registry, std::int64_t block)
      : graph_(graph), registry_(registry), block_(block), opset_(graph.OpsetVersion("")) {}

  bool Run() {
    bool changed = false;
    std::vector<NodeId> opened;
    for (const NodeId id : std::vector<NodeId>(graph_.order)) {
      for (Graph* body : graph_.node(id).Subgraphs()) changed = Opener(*body, registry_, block_).Run() || changed;
      if (IsBlocked(graph_.node(id))) {
        Open(id);
      } else if (!Follow(id)) {
        continue;
      }
      opened.push_back(id);
    }
    if (opened.empty()) return changed;
    graph_.EraseNodes(opened);
    for (const auto& [plain, made] : replaced_) Replace(plain, made);
    for (const auto& [value, twin] : twins_)
      if (twin.open && graph_.UseCount(value) > 0) CloseAs(value, twin.value);
    graph_.SortTopologically();
    return true;
  }

 private:
  struct Twin {
    ValueId value = kNoValue;
    std::int64_t channels = 0;  // 0: not known
    bool open = false;          // the value was made by a node that is replaced
  };

  template <typename... Parts>
  [[noreturn]] void FailAt(const Node& node, const Parts&... parts) const {
    Fail(Code::kInvalidGraph, "[", node.op_type, "] ", Describe(graph_, node), ": ", parts..., ", in blocks of ",
         block_, " channels (sardonyx.nchwc_block_size)");
  }

  // ---- New nodes, in the spelling of the model's opset

  Node MakeNode(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes) const {
    Node node;
    node.op_type = op;
    node.since_version = ops::VersionAt(op, opset_);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    return node;
  }
  ValueId Add(Node node, ValueId output = kNoValue) {
    if (output == kNoValue) output = graph_.AddValue(graph_.FreshName(place_));
    if (node.name.empty()) node.name = graph_.value(output).name + "_" + node.op_type;
    node.outputs = {output};
    graph_.AddNode(std::move(node));
    return output;
  }
  ValueId Add(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
              ValueId output = kNoValue) {
    return Add(MakeNode(op, std::move(inputs), std::move(attributes)), output);
  }
  ValueId Constant(const Longs& numbers) { return graph_.AddConstant("blocks", Tensor::Vector<std::int64_t>(numbers)); }
  ValueId Transpose(ValueId x, Longs perm) { return Add("Transpose", {x}, {{"perm", std::move(perm)}}); }
  ValueId Reshape(ValueId x, const Longs& shape, ValueId output = kNoValue) {
    if (opset_ < 5) {
      Fail(Code::kNotImplemented,
           "expected opset 5 or newer of a model with blocked images at its inputs or outputs, "
           "found ",
           opset_);
    }
    return Add("Reshape", {x, Constant(shape)}, {}, output);
  }
  // Channels [0, count).
  ValueId FirstChannels(ValueId x, std::int64_t count) {
    if (opset_ >= 10) return Add("Slice", {x, Constant({0}), Constant({count}), Constant({1})}, {});
    return Add("Slice", {x}, {{"starts", Longs{0}}, {"ends", Longs{count}}, {"axes", Longs{1}}});
  }
  ValueId AddChannels(ValueId x, std::int64_t count) {
    const Longs pads = {0, 0, 0, 0, 0, count, 0, 0};
    if (opset_ >= 11) return Add("Pad", {x, Constant(pads)}, {});
    return Add("Pad", {x}, {{"pads", pads}});
  }
  // As many channels as fill the last block, where only a run knows how many there are.
  ValueId FillBlock(ValueId x) {
    if (opset_ < 11) return x;  // a run says what is wrong if there are too few
    const ValueId channels = Add("Gather", {Add("Shape", {x}, {}), Constant({1})}, {});
    const ValueId missing = Add("Mod", {Add("Sub", {Constant({0}), channels}, {}), Constant({block_})}, {});
    const ValueId pads =
        Add("Concat", {Constant({0, 0, 0, 0, 0}), missing, Constant({0, 0})}, {{"axis", std::int64_t{0}}});
    return Add("Pad", {x, pads}, {});
  }

  // ---- Blocked values and their twins

  // [N, C / b, H, W, b] <-> [N, C, H, W], by way of [N, H, W, C / b, b], from which 0 can keep N, H and W.
  ValueId OpenValue(ValueId blocked) {
    const std::string place = std::exchange(place_, graph_.value(blocked).name);
    const ValueId apart = Reshape(blocked, {0, -1, 0, 0, block_});
    const ValueId open = Transpose(Reshape(Transpose(apart, {0, 2, 3, 1, 4}), {0, 0, 0, -1}), {0, 3, 1, 2});
    place_ = place;
    return open;
  }
  void CloseAs(ValueId blocked, ValueId plain) {
    place_ = graph_.value(blocked).name;
    const ValueId apart = Reshape(Transpose(plain, {0, 2, 3, 1}), {0, 0, 0, -1, block_});
    Reshape(Transpose(apart, {0, 3, 1, 2, 4}), {0, -1, 0, 0}, blocked);
  }
  const Twin& TwinOf(ValueId value) {
    const auto found = twins_.find(value);
    if (found != twins_.end()) return found->second;
    return twins_[value] = {OpenValue(value), DimOf(graph_, value, 1)};
  }
  void Pair(const Node& node, ValueId plain, std::int64_t channels) {
    twins_[node.outputs[0]] = {plain, channels, true};
  }

  // A value of the model that is not blocked, and what takes its place.
  void Replace(ValueId value, ValueId made) {
    if (graph_.value(value).is_output) {
      Add("Identity", {made}, {}, value);
    } else {
      graph_.ReplaceUses(value, made);
    }
  }

  // ---- The operators

  void Open(NodeId id) {
    const Node node = graph_.node(id);  // a copy: adding nodes may move it
    place_ = graph_.value(node.outputs[0]).name;
    if (node.op_type == "Conv") return OpenConv(node);
    if (node.op_type == "ReorderInput") return OpenReorderInput(node);
    if (node.op_type == "ReorderOutput") return OpenReorderOutput(node);
    const Twin x = TwinOf(node.inputs[0]);
    if (node.op_type == "Upsample") return Pair(node, Upsample(node, x.value), x.channels);
    Node pool = MakeNode(node.op_type, {x.value}, PoolAttributes(node));
    pool.name = node.name;
    Pair(node, Add(std::move(pool)), x.channels);
  }

  // Older versions lack attributes that the saved node has with its default.
  static std::vector<Attribute> PoolAttributes(const Node& node) {
    std::vector<Attribute> kept;
    for (const Attribute& attribute : node.attributes) {
      const auto* number = std::get_if<std::int64_t>(&attribute.value);
      const auto* numbers = std::get_if<Longs>(&attribute.value);
      const bool ones = attribute.name == "dilations" && numbers != nullptr &&
                        std::all_of(numbers->begin(), numbers->end(), [](std::int64_t v) { return v == 1; });
      if (!ones && attribute.name != "storage_order" && (number == nullptr || *number != 0)) kept.push_back(attribute);
    }
    return kept;
  }

  void OpenReorderInput(const Node& node) {
    const bool last = ops::AttributeReader(graph_, node).Flag("channels_last");
    ValueId x = node.inputs[0];
    const std::int64_t channels = DimOf(graph_, x, last ? 3 : 1), padded = (channels + block_ - 1) / block_ * block_;
    if (last) x = Transpose(x, {0, 3, 1, 2});
    if (padded != channels) x = AddChannels(x, padded - channels);
    if (channels == 0) x = FillBlock(x);
    Pair(node, x, padded);
  }

  void OpenReorderOutput(const Node& node) {
    const ops::AttributeReader reader(graph_, node);
    const bool last = reader.Flag("channels_last");
    const std::int64_t channels = reader.Int("channels", 0);
    const ValueId output = node.outputs[0];
    const Twin x = TwinOf(node.inputs[0]);
    if (x.channels != 0 && (channels > x.channels || x.channels - channels >= block_))
      FailAt(node, "attribute 'channels': expected at most ", x.channels, " and the last block not empty, found ",
             channels);
    ValueId y = x.channels == channels ? x.value : FirstChannels(x.value, channels);
    if (last) y = Transpose(y, {0, 2, 3, 1});
    replaced_.emplace_back(output, y);
  }

  void OpenConv(const Node& node) {
    const Tensor* w = graph_.value(node.inputs[1]).constant();
    if (w == nullptr || w->dtype() != DType::kFloat || w->shape().rank() != 4)
      FailAt(node, "input 1 ('W'): expected constant weights [M, C, kH, kW] of floats, found ",
             graph_.value(node.inputs[1]).type.ToText());
    const std::int64_t m = w->shape()[0], c = w->shape()[1], group = GroupOf(node);
    const bool depthwise = c == 1 && group == m, as_it_is = group == 1 && c < block_;
    const bool input_blocks = !depthwise && !as_it_is;
    if (m % block_ != 0 || (input_blocks && c % block_ != 0))
      FailAt(node, "input 1 ('W'): expected whole blocks of channels, found weights ", ToText(w->shape()));
    Node conv = MakeNode("Conv", {}, node.attributes);
    conv.name = node.name;
    const auto input = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; };
    const ValueId filters =
        graph_.AddConstant(graph_.value(node.inputs[1]).name, OpenFilters(*w, block_, input_blocks));
    conv.inputs = {as_it_is ? input(0) : TwinOf(input(0)).value, filters};
    if (input(2) != kNoValue || input(3) != kNoValue) conv.inputs.push_back(input(2));
    if (input(3) != kNoValue) conv.inputs.push_back(TwinOf(input(3)).value);
    if (input(3) != kNoValue || node.FindAttribute("activation") != nullptr) {
      conv.domain = "com.microsoft";
      conv.op_type = "FusedConv";
      conv.since_version = 1;
      if (graph_.OpsetVersion("com.microsoft") == 0) graph_.opset_imports.push_back({"com.microsoft", 1});
    }
    Pair(node, Add(std::move(conv)), m);
  }

  ValueId Upsample(const Node& node, ValueId x) {
    const ops::AttributeReader reader(graph_, node);
    const std::string mode = reader.String("mode", "nearest"),
                      coordinates = reader.String("coordinate_transformation_mode", "asymmetric");
    Longs scales = reader.Ints("scales");
    if (scales.empty()) scales = {1, 1, 1, 1};
    if (scales.size() != 4) FailAt(node, "attribute 'scales': expected 4 values, found ", scales.size());
    if (opset_ < 9 || (opset_ < 11 && coordinates != "asymmetric"))
      Fail(Code::kNotImplemented, "[Upsample] ", Describe(graph_, node), ": expected opset 11 or newer, found ",
           opset_);
    std::vector<float> factors(scales.begin(), scales.end());
    const ValueId given = graph_.AddConstant("scales", Tensor::Vector<float>(factors));
    Node resize = MakeNode(opset_ == 9 ? "Upsample" : "Resize", {x, given}, {{"mode", mode}});
    resize.name = node.name;
    if (opset_ < 11) return Add(std::move(resize));
    // Before opset 13 the regions, which only another mode reads, must be there.
    const ValueId regions = opset_ < 13 ? graph_.AddConstant("regions", Tensor(DType::kFloat, Shape{0})) : kNoValue;
    resize.inputs = {x, regions, given};
    resize.SetAttribute("coordinate_transformation_mode", coordinates);
    if (mode == "nearest") resize.SetAttribute("nearest_mode", std::string("floor"));
    return Add(std::move(resize));
  }

  // An operator that does to blocked images what it does to others; true if it now works on the twins.
  bool Follow(NodeId id) {
    const Node node = graph_.node(id);
    const auto is_blocked = [&](ValueId v) { return v != kNoValue && twins_.contains(v); };
    if (node.outputs.size() != 1 || std::none_of(node.inputs.begin(), node.inputs.end(), is_blocked)) return false;
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    const bool concat = node.domain.empty() && node.op_type == "Concat";
    if (op == nullptr || (!concat && (op->traits & ops::kElementwise) == 0)) return false;
    if (concat && ops::AttributeReader(graph_, node).Int("axis", 1) != 1) return false;
    place_ = graph_.value(node.outputs[0]).name;
    Node copy = MakeNode(node.op_type, {}, node.attributes);
    copy.name = node.name;
    copy.domain = node.domain;
    copy.since_version = node.since_version;
    std::int64_t channels = 0;
    bool known = true;
    for (const ValueId input : node.inputs) {
      const bool one = input != kNoValue && graph_.value(input).constant() != nullptr &&
                       graph_.value(input).constant()->count() == 1;
      if (input != kNoValue && !is_blocked(input) && (!one || concat)) return false;
      copy.inputs.push_back(is_blocked(input) ? twins_[input].value : input);
      if (!is_blocked(input)) continue;
      known = known && twins_[input].channels != 0;
      channels = concat ? channels + twins_[input].channels : twins_[input].channels;
    }
    Pair(node, Add(std::move(copy)), known ? channels : 0);
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  std::int64_t block_, opset_;
  std::string place_;              // the author's value for which nodes are added: they are named after it
  std::map<ValueId, Twin> twins_;  // of blocked values
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace

std::int64_t BlockSizeOf(const Graph& graph) {
  const std::int64_t found = FindEvidence(graph);
  if (found >= 0) return found;
  const bool x86 = Cpu().vendor[0] != '\0';
  return !x86 || Cpu().avx512 ? 16 : 8;
}

bool OpenChannelBlocks(Graph& graph, const ops::Registry& registry, std::int64_t block) {
  const std::int64_t found = BlockSizeOf(graph);
  if (found == 0) return false;
  return Opener(graph, registry, block != 0 ? block : found).Run();
}

}  // namespace sardonyx::planner
