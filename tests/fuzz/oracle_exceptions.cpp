// tests/fuzz/oracle_exceptions.cpp - the table, and what lies on the way to an output; see oracle_exceptions.h.
#include "fuzz/oracle_exceptions.h"

#include <algorithm>
#include <set>
#include <vector>

namespace sardonyx::fuzz {
namespace {

constexpr std::string_view kOrder =
    "another order of the sum overflows elsewhere, meets inf - inf elsewhere, or gives a sum of zeros the other sign";
constexpr std::string_view kNormalized =
    "its sums have any order, and a row of equal elements, or of elements whose squares overflow, has no fixed result";
constexpr std::string_view kVanishes = "a fused activation's result vanishes earlier or later";
constexpr std::string_view kGelu =
    "a fused GELU adds no 1 to what is rounded to -1, has no product with 2, which overflows, and may be 0 instead of "
    "NaN at -infinity (docs/optimizer.md)";
constexpr std::string_view kQuotient =
    "x * (1 / y) becomes x / y, and 1 / y overflows where y is one of the smallest numbers";
constexpr std::string_view kJumps = "a rounding of what it compares or rounds becomes another result";

constexpr OracleException kTable[] = {
    {"Add", Cause::kFormula, "x + 0 becomes x, which keeps the sign of a zero"},
    {"AveragePool", Cause::kSum, kOrder},
    {"Conv", Cause::kSum,
     "another order of the sum does as for MatMul, and Winograd's algorithm spreads what overflows "
     "(docs/optimizer.md)"},
    {"ConvTranspose", Cause::kSum, kOrder},
    {"Einsum", Cause::kSum, kOrder},
    {"Gemm", Cause::kSum, kOrder},
    {"GlobalAveragePool", Cause::kSum, kOrder},
    {"MatMul", Cause::kSum,
     "another order of the sum overflows elsewhere, meets inf - inf elsewhere, or gives a sum of zeros the other "
     "sign; a factor of an operand is applied behind the sum"},
    {"Mean", Cause::kSum, kOrder},
    {"ReduceL2", Cause::kSum, kOrder},
    {"ReduceMean", Cause::kSum, kOrder},
    {"ReduceProd", Cause::kSum, "another order of the product overflows or vanishes elsewhere"},
    {"ReduceSum", Cause::kSum, kOrder},
    {"ReduceSumSquare", Cause::kSum, kOrder},
    {"Sum", Cause::kSum, kOrder},
    {"InstanceNormalization", Cause::kFormula, kNormalized},
    {"LayerNormalization", Cause::kFormula, kNormalized},
    {"RMSNormalization", Cause::kFormula, kNormalized},
    {"BatchNormalization", Cause::kFormula,
     "folded into a product, its factor meets the terms before they are summed, which overflows elsewhere"},
    {"ReduceLogSumExp", Cause::kFormula, "where the largest element is subtracted first decides what overflows"},
    {"Div", Cause::kFormula, kQuotient},
    {"Reciprocal", Cause::kFormula, kQuotient},
    {"Erf", Cause::kFormula, kGelu},
    {"Gelu", Cause::kTail,
     "behind a product it is 0 instead of NaN at -infinity (docs/optimizer.md), and vanishes earlier or later"},
    {"Tanh", Cause::kFormula, kGelu},
    {"Exp", Cause::kTail, kVanishes},
    {"Sigmoid", Cause::kTail, kVanishes},
    {"Swish", Cause::kTail, kVanishes},
    {"Clip", Cause::kFormula, "a fused HardSwish has no product with 6, which overflows"},
    {"Softmax", Cause::kTail,
     "attention sums the keys in blocks, takes a row whose scores all overflow for one without keys, and adds masks to "
     "scores that Where replaces (docs/optimizer.md)"},
    {"ArgMax", Cause::kJump, kJumps},
    {"ArgMin", Cause::kJump, kJumps},
    {"Cast", Cause::kJump, kJumps},
    {"DynamicQuantizeLinear", Cause::kJump, kJumps},
    {"Equal", Cause::kJump, kJumps},
    {"Greater", Cause::kJump, kJumps},
    {"GreaterOrEqual", Cause::kJump, kJumps},
    {"IsNaN", Cause::kJump, "fused attention takes it for a guard of rows without keys (docs/optimizer.md)"},
    {"Less", Cause::kJump, kJumps},
    {"LessOrEqual", Cause::kJump, kJumps},
    {"QuantizeLinear", Cause::kJump, kJumps},
};

constexpr OracleException kHalf = {"float16", Cause::kFormula,
                                   "chains of it are computed in float, which overflows and vanishes elsewhere"};

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// The row of the node itself, of the types that it names, or of a node in its bodies.
const OracleException* ExceptionOf(const Node& node, bool jumps) {
  const OracleException* found = node.domain == "" || node.domain == "ai.onnx" ? FindException(node.op_type) : nullptr;
  if (found != nullptr && node.op_type == "Cast") {
    const auto* to = std::get_if<std::int64_t>(node.FindAttribute("to"));
    const DType dtype = to == nullptr ? DType::kUndefined : static_cast<DType>(*to);
    // To float and double, nothing jumps.
    if (IsHalf(dtype)) found = &kHalf;
    if (dtype == DType::kFloat || dtype == DType::kDouble) found = nullptr;
  }
  if (found != nullptr && (!jumps || found->cause == Cause::kJump)) return found;
  for (const Graph* body : node.Subgraphs())
    for (const NodeId id : body->order)
      if (const OracleException* inner = ExceptionOf(body->node(id), jumps)) return inner;
  return nullptr;
}

}  // namespace

std::span<const OracleException> OracleExceptions() { return kTable; }

const OracleException* FindException(std::string_view op_type) {
  const auto* const found =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const auto& row) { return row.op_type == op_type; });
  return found == std::end(kTable) ? nullptr : found;
}

std::string ExceptionBefore(const Graph& graph, ValueId output, bool jumps) {
  const auto text = [](const OracleException& row) {
    return std::string(row.op_type) + ": " + std::string(row.reason);
  };
  std::vector<ValueId> waiting = {output};
  std::set<ValueId> seen = {output};
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    const ValueInfo& value = graph.value(waiting[at]);
    const Tensor* constant = value.constant();
    if (!jumps && IsHalf(constant != nullptr ? constant->dtype() : value.type.dtype)) return text(kHalf);
    if (value.producer == kNoNode) continue;
    const Node& node = graph.node(value.producer);
    if (const OracleException* found = ExceptionOf(node, jumps)) return text(*found);
    for (const auto* inputs : {&node.inputs, &node.implicit_inputs})
      for (const ValueId id : *inputs)
        if (id != kNoValue && seen.insert(id).second) waiting.push_back(id);
  }
  return "";
}

}  // namespace sardonyx::fuzz
