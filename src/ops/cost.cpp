// ops/cost.cpp - one formula for each family of operators; to add one: its function and its rows in kFormulas.
#include "ops/cost.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "ops/channels_last.h"
#include "ops/conv_attributes.h"

namespace sardonyx::ops {
namespace {

// What a formula reads: the node and its tensors, with 0 for what is not there.
struct Facts {
  const Node& node;
  std::span<const TensorRef> inputs, outputs;

  const TensorRef& In(std::size_t i) const {
    static const TensorRef none;
    return i < inputs.size() ? inputs[i] : none;
  }
  const TensorRef& Out(std::size_t i) const {
    static const TensorRef none;
    return i < outputs.size() ? outputs[i] : none;
  }
  double CountIn(std::size_t i) const { return In(i).present() ? static_cast<double>(In(i).count) : 0; }
  double CountOut(std::size_t i) const { return Out(i).present() ? static_cast<double>(Out(i).count) : 0; }
  // Dimension `at` of a tensor, counted from the end where negative; 1 where there is none.
  static double Dim(const TensorRef& tensor, int at) {
    const int rank = static_cast<int>(tensor.rank());
    if (at < 0) at += rank;
    return at >= 0 && at < rank ? static_cast<double>(tensor.dim(static_cast<std::size_t>(at))) : 1;
  }
  bool Flag(std::string_view name) const {
    const auto* value = node.FindAttribute(name);
    const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
    return number != nullptr && *number != 0;
  }
};

double Product(const Facts& f) { return 2 * f.CountOut(0) * Facts::Dim(f.In(0), f.Flag("transA") ? -2 : -1); }

double PerFilter(const TensorRef& weights) {
  return weights.present() && weights.rank() > 0 && weights.dim(0) > 0
             ? static_cast<double>(weights.count) / static_cast<double>(weights.dim(0))
             : 0;
}
double Convolution(const Facts& f) { return 2 * f.CountOut(0) * PerFilter(f.In(1)); }
double QuantizedConvolution(const Facts& f) { return 2 * f.CountOut(0) * PerFilter(f.In(3)); }
// One spatial axis of a convolution: how many of its taps, over all outputs, lie in the image.
double TapsInside(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                  std::int64_t pad) {
  const auto inside = [&](std::int64_t at) {
    std::int64_t taps = 0;
    for (std::int64_t t = 0; t < kernel; ++t) {
      const std::int64_t x = at * stride - pad + t * dilation;
      taps += x >= 0 && x < in ? 1 : 0;
    }
    return taps;
  };
  double taps = 0;
  std::int64_t first = 0, last = out;  // what lies between has all taps inside
  for (; first < out && inside(first) < kernel; ++first) taps += static_cast<double>(inside(first));
  for (; last > first && inside(last - 1) < kernel; --last) taps += static_cast<double>(inside(last - 1));
  return taps + static_cast<double>((last - first) * kernel);
}

// The share of a convolution's multiplications that are not by padding, which a kernel may leave out.
double InsideShare(const Facts& f, const TensorRef& w) {
  const TensorRef &x = f.In(0), &y = f.Out(0);
  if (!x.present() || !y.present() || w.rank() < 3 || x.rank() != w.rank() || y.count == 0 || w.count == 0) return 1;
  const bool last = f.node.domain == kChannelsLastDomain || f.Flag("channels_last");
  const std::size_t in_at = last && !f.Flag("channels_first_input") ? 1 : 2;
  const std::size_t out_at = last && !f.Flag("channels_first_output") ? 1 : 2, rank = w.rank() - 2;
  const auto ints = [&](std::string_view name, std::size_t i, std::int64_t otherwise) {
    const auto* value = f.node.FindAttribute(name);
    const auto* list = value != nullptr ? std::get_if<std::vector<std::int64_t>>(value) : nullptr;
    return list != nullptr && i < list->size() ? (*list)[i] : otherwise;
  };
  const auto* value = f.node.FindAttribute("auto_pad");
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  const std::string_view automatic = text != nullptr ? std::string_view(*text) : "NOTSET";
  double share = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t in = x.dim(in_at + d), out = y.dim(out_at + d), kernel = w.dim(2 + d);
    const std::int64_t stride = ints("strides", d, 1), dilation = ints("dilations", d, 1);
    const std::int64_t both = std::max<std::int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in);
    const std::int64_t pad = automatic == "SAME_UPPER"   ? both / 2
                             : automatic == "SAME_LOWER" ? (both + 1) / 2
                             : automatic == "VALID"      ? 0
                                                         : ints("pads", d, 0);
    share *= TapsInside(in, out, kernel, stride, dilation, pad) / static_cast<double>(out * kernel);
  }
  return share;
}

double TransposedConvolution(const Facts& f) { return 2 * f.CountIn(0) * PerFilter(f.In(1)); }

// Two products over all keys: queries by keys, then weights by values.
double OverKeys(const Facts& f, double keys) { return 4 * keys * f.CountOut(0); }
double Keys(const Facts& f, std::size_t key) {
  if (f.Out(1).present() && f.Out(1).rank() == 4) return Facts::Dim(f.Out(1), 2);  // with those of earlier steps
  const TensorRef& tensor = f.In(key).present() ? f.In(key) : f.In(0);
  return Facts::Dim(tensor, tensor.rank() == 4 ? 2 : 1);
}
// A state of outer products, one for each head of keys, is changed and read in every row of q [batch, rows, ...].
double LinearAttention(const Facts& f) { return 4 * Facts::Dim(f.In(0), 1) * f.CountOut(1); }
double Attention(const Facts& f) { return OverKeys(f, Keys(f, 1)); }
double ProjectedAttention(const Facts& f) {
  const double keys = f.Out(1).present() && f.Out(1).rank() == 5 ? Facts::Dim(f.Out(1), 3) : Facts::Dim(f.In(0), 1);
  return 2 * f.CountIn(0) * Facts::Dim(f.In(1), 1) + OverKeys(f, keys);
}

double Recurrent(const Facts& f) {
  return 2 * Facts::Dim(f.In(0), 0) * Facts::Dim(f.In(0), 1) * (f.CountIn(1) + f.CountIn(2));
}

double Pooling(const Facts& f) {
  double window = 1;
  const auto* value = f.node.FindAttribute("kernel_shape");
  if (const auto* shape = value != nullptr ? std::get_if<std::vector<std::int64_t>>(value) : nullptr)
    for (const std::int64_t size : *shape) window *= static_cast<double>(size);
  return window * f.CountOut(0);
}

// Of each vector of features one product with every class, or with every support vector.
double Vectors(const Facts& f) {
  const auto* value = f.node.FindAttribute(f.node.op_type.starts_with("SVM") ? "support_vectors" : "coefficients");
  const auto* numbers = value != nullptr ? std::get_if<std::vector<float>>(value) : nullptr;
  const double rows = f.In(0).rank() > 1 ? Facts::Dim(f.In(0), 0) : 1;
  return numbers != nullptr ? 2 * rows * static_cast<double>(numbers->size()) : 0;
}

// The indices that one operand's term names, with their sizes; those of an ellipsis count from the last on.
void AddIndices(const std::string& term, const TensorRef& operand, std::map<char, double>& sizes) {
  const auto letters = std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const int others = static_cast<int>(operand.rank()) - static_cast<int>(letters);
  int at = 0;
  const auto add = [&](char index) { sizes[index] = std::max(sizes[index], Facts::Dim(operand, at++)); };
  bool spread = false;
  for (const char c : term) {
    if (c == '.' && !spread) {
      for (int i = others; i > 0; --i) add(static_cast<char>(i));
      spread = true;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      add(c);
    }
  }
}

// All indices of all operands run through each other; with more than two operands an upper bound.
double Contraction(const Facts& f) {
  const auto* value = f.node.FindAttribute("equation");
  const auto* equation = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  if (equation == nullptr) return 0;
  std::map<char, double> sizes;
  const std::string operands = equation->substr(0, equation->find("->"));
  std::size_t begin = 0;
  for (std::size_t operand = 0; begin <= operands.size(); ++operand) {
    const std::size_t end = std::min(operands.find(',', begin), operands.size());
    AddIndices(operands.substr(begin, end - begin), f.In(operand), sizes);
    begin = end + 1;
  }
  double all = 2;
  for (const auto& entry : sizes) all *= entry.second;
  return all;
}

double EachStep(const Facts& f) {
  const auto* value = f.node.FindAttribute("steps");
  const auto* steps = value != nullptr ? std::get_if<std::vector<std::string>>(value) : nullptr;
  return f.CountOut(0) * static_cast<double>(steps != nullptr ? steps->size() : 1);
}
double EachInput(const Facts& f) { return f.CountIn(0); }
double EachOutput(const Facts& f) { return f.CountOut(0); }
double TwiceEach(const Facts& f) { return 2 * f.CountOut(0); }
double Softmax(const Facts& f) { return 5 * f.CountOut(0); }       // maximum, difference, e^x, sum, quotient
double Normalization(const Facts& f) { return 8 * f.CountIn(0); }  // mean, variance, scale and shift
double Nothing(const Facts& /*f*/) { return 0; }

struct Formula {
  std::string_view op_type;
  double (*operations)(const Facts&);
};
constexpr Formula kFormulas[] = {
    {"MatMul", Product},
    {"FusedMatMul", Product},
    {"TransposeMatMul", Product},
    {"MatMulInteger", Product},
    {"MatMulIntegerToFloat", Product},
    {"DynamicQuantizeMatMul", Product},
    {"QLinearMatMul", Product},
    {"MatMulNBits", Product},
    {"Gemm", Product},
    {"FusedGemm", Product},
    {"QGemm", Product},
    {"CDist", Product},
    {"Conv", Convolution},
    {"FusedConv", Convolution},
    {"NhwcConv", Convolution},
    {"NhwcFusedConv", Convolution},
    {"ConvInteger", Convolution},
    {"DeformConv", Convolution},
    {"QLinearConv", QuantizedConvolution},
    {"QLinearConvAdd", QuantizedConvolution},
    {"CausalConvWithState", Convolution},
    {"ConvTranspose", TransposedConvolution},
    {"Einsum", Contraction},
    {"MultiHeadAttention", Attention},
    {"DecoderMaskedMultiHeadAttention", Attention},
    {"GroupQueryAttention", Attention},
    {"QAttention", ProjectedAttention},
    {"LinearAttention", LinearAttention},
    {"LinearClassifier", Vectors},
    {"LinearRegressor", Vectors},
    {"SVMClassifier", Vectors},
    {"SVMRegressor", Vectors},
    {"RNN", Recurrent},
    {"GRU", Recurrent},
    {"LSTM", Recurrent},
    {"MaxPool", Pooling},
    {"AveragePool", Pooling},
    {"LpPool", Pooling},
    {"QLinearAveragePool", Pooling},
    {"QLinearGlobalAveragePool", EachInput},
    {"QLinearReduceMean", EachInput},
    {"GlobalAveragePool", EachInput},
    {"GlobalMaxPool", EachInput},
    {"GlobalLpPool", EachInput},
    {"ArgMax", EachInput},
    {"ArgMin", EachInput},
    {"CumSum", EachInput},
    {"TopK", EachInput},
    {"FusedElementwise", EachStep},
    {"BatchNormalization", TwiceEach},
    {"QuantizeLinear", TwiceEach},
    {"DequantizeLinear", TwiceEach},
    {"DynamicQuantizeLinear", TwiceEach},
    {"GatherBlockQuantized", TwiceEach},
    {"Scaler", TwiceEach},
    {"RotaryEmbedding", TwiceEach},
    {"Resize", TwiceEach},
    {"Upsample", TwiceEach},
    {"Softmax", Softmax},
    {"LogSoftmax", Softmax},
    {"QLinearSoftmax", Softmax},
    {"Sum", EachOutput},
    {"Mean", EachOutput},
};

// Operators that compute nothing: they move elements, or tell of shapes.
constexpr std::string_view kMoving[] = {"Transpose",
                                        "Concat",
                                        "QLinearConcat",
                                        "QLinearWhere",
                                        "Lookup8",
                                        "Split",
                                        "Slice",
                                        "Reshape",
                                        "Squeeze",
                                        "Unsqueeze",
                                        "Flatten",
                                        "Identity",
                                        "Expand",
                                        "Tile",
                                        "Pad",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Scatter",
                                        "ScatterND",
                                        "ScatterElements",
                                        "DepthToSpace",
                                        "SpaceToDepth",
                                        "Shape",
                                        "Size",
                                        "Constant",
                                        "ConstantOfShape",
                                        "Cast",
                                        "CastLike",
                                        "Where",
                                        "Trilu",
                                        "ReverseSequence",
                                        "Compress",
                                        "Range",
                                        "EyeLike",
                                        "OneHot",
                                        "NonZero",
                                        "MemcpyFromHost",
                                        "MemcpyToHost",
                                        "Dropout",
                                        "SequenceConstruct",
                                        "SequenceAt",
                                        "SequenceInsert",
                                        "SequenceEmpty",
                                        "SequenceErase",
                                        "SequenceLength",
                                        "Optional",
                                        "OptionalGetElement",
                                        "OptionalHasElement",
                                        "ConcatFromSequence",
                                        "SplitToSequence",
                                        "Unique",
                                        "BitCast",
                                        "TensorScatter"};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::optional<double> OperationsOf(const Facts& facts, const OpDef* op) {
  const std::string_view name = facts.node.op_type;
  if (name == "Attention") return facts.node.domain.empty() ? Attention(facts) : ProjectedAttention(facts);
  for (const Formula& formula : kFormulas)
    if (formula.op_type == name) return formula.operations(facts);
  if (std::find(std::begin(kMoving), std::end(kMoving), name) != std::end(kMoving)) return Nothing(facts);
  if (name.substr(0, 6) == "Reduce") return EachInput(facts);
  if (EndsWith(name, "Normalization")) return Normalization(facts);
  if (op != nullptr && (op->traits & kElementwise) != 0) return EachOutput(facts);
  return std::nullopt;
}

double Bytes(const TensorRef& tensor) {
  return tensor.present() && !IsString(tensor.dtype) ? static_cast<double>(tensor.byte_size()) : 0;
}

// Reads only what it picks from input `i`.
bool Picks(std::string_view name, std::size_t i) {
  if (name == "EmbedLayerNormalization") return i >= 2 && i <= 4;  // its tables
  if (name == "GatherBlockQuantized" && (i == 2 || i == 3)) return true;
  if (i != 0) return false;
  constexpr std::string_view kPicking[] = {"Gather", "GatherElements", "GatherND", "GatherBlockQuantized",
                                           "Slice",  "Compress"};
  return std::find(std::begin(kPicking), std::end(kPicking), name) != std::end(kPicking);
}

bool IsConvolution(std::string_view name) {
  for (const Formula& formula : kFormulas)
    if (formula.op_type == name) return formula.operations == Convolution || formula.operations == QuantizedConvolution;
  return false;
}

// Weights of 8 bits make a product one of integers, whatever it scales its result to; packed weights of fewer bits do
// so where the model asks for it.
DType Computes(const Facts& facts) {
  const auto is_byte = [](DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; };
  if (facts.node.op_type == "MatMulNBits") {
    const auto* value = facts.node.FindAttribute("accuracy_level");
    const auto* level = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
    return level != nullptr && *level == 4 ? DType::kInt8 : DType::kFloat;
  }
  if (is_byte(facts.In(0).dtype) || is_byte(facts.In(1).dtype)) return DType::kInt8;
  return facts.In(0).dtype;
}

}  // namespace

Cost CostOf(const Node& node, const OpDef* op, const Prepared* prepared, std::span<const TensorRef> inputs,
            std::span<const TensorRef> outputs) {
  Cost cost;
  const Facts facts{node, inputs, outputs};
  if (!node.Subgraphs().empty()) return cost;  // its body's nodes are counted
  cost.operations = OperationsOf(facts, op);
  cost.computes = Computes(facts);
  if (prepared != nullptr) cost.arithmetic = ConvArithmetic(*prepared);
  // Kernels that transform tiles compute with padding as with everything else.
  if (cost.arithmetic == 1 && IsConvolution(node.op_type))
    cost.arithmetic = InsideShare(facts, facts.In(node.op_type.starts_with("QLinear") ? 3 : 1));
  for (const TensorRef& output : outputs) cost.written += Bytes(output);
  cost.bytes = cost.written;
  const bool shape_only = op != nullptr && (op->traits & kShapeOnly) != 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i == 0 && shape_only) continue;
    cost.bytes += Picks(node.op_type, i) ? std::min(Bytes(inputs[i]), Bytes(facts.Out(0))) : Bytes(inputs[i]);
  }
  return cost;
}

}  // namespace sardonyx::ops
