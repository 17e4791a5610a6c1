// ops/errors/late_errors.cpp - which errors ONNX Runtime finds late, and the operator of the nodes that have them.
//
// To add one, add a row to kLate and a case to tests/python/test_late_errors.py, which compares it with ONNX Runtime.
#include "ops/errors/late_errors.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr int kAnyVersion = std::numeric_limits<int>::max();

// Errors of one operator whose messages contain `words`: ONNX Runtime finds other errors of the same operator when a
// model is loaded.
struct Late {
  std::string_view op_type, words;
  std::optional<Code> code = std::nullopt;  // nullopt: as error_codes.cpp says
  int before = kAnyVersion;                 // only versions of the operator before this one
  std::string_view domain = "";
};

// clang-format off
constexpr Late kLate[] = {
    {"ArgMax",             "expected elements along axis"},
    {"ArgMin",             "expected elements along axis"},
    {"AveragePool",        "expected spatial axis"},
    {"Celu",               "attribute 'alpha'"},
    {"Clip",               "expected one element"},
    {"Conv",               "attribute 'group'"},
    {"Conv",               "expected spatial axis", Code::kInvalidArgument},
    {"Conv",               "input channels"},
    {"Conv",               "with the kernel_shape"},
    {"ConvTranspose",      "input channels"},
    {"ConvTranspose",      "with the kernel_shape", Code::kFail},
    {"CumSum",             "expected an axis in", Code::kFail},
    {"DepthToSpace",       "divisible by"},
    {"Einsum",             "expected one size for each label"},
    {"Einsum",             "expected output labels"},
    {"GRU",                "as the "},
    {"GRU",                "elements as input 5", Code::kFail},
    {"GatherElements",     "expected an axis in", Code::kFail},
    {"GatherElements",     "expected indices in", Code::kFail},
    {"GatherElements",     "of the rank of the data"},
    {"GlobalAveragePool",  "expected an input [N, C"},
    {"GlobalLpPool",       "expected an input [N, C"},
    {"GlobalMaxPool",      "expected an input [N, C"},
    {"LSTM",               "as the "},
    {"LSTM",               "elements as input 5", Code::kFail},
    {"LSTM",               "elements as input 6", Code::kFail},
    {"LpPool",             "expected spatial axis"},
    {"MaxPool",            "expected spatial axis"},
    {"MaxUnpool",          "as many indices", Code::kFail},
    {"OneHot",             "dimensions of at least 0"},
    {"PRelu",              "do not broadcast"},
    {"Pad",                "do not fit dimension"},
    {"Pad",                "mode 'reflect'", Code::kInvalidArgument},
    {"QLinearConv",        "input channels"},
    {"RNN",                "as the "},
    {"RNN",                "attribute 'hidden_size'"},
    {"RNN",                "elements as input 5", Code::kFail},
    {"Range",              "expected a delta other than 0"},
    {"Reshape",            "elements for an input of shape"},
    {"Resize",             "dimensions of at least 0"},
    {"Resize",             "values of roi", Code::kInvalidArgument},
    {"ReverseSequence",    "expected sequence lengths", Code::kFail},
    {"RoiAlign",           "attributes 'output_height'", Code::kFail},
    {"ScatterElements",    "attribute 'reduction'", Code::kFail},
    {"ScatterElements",    "expected an axis in", Code::kFail},
    {"ScatterND",          "attribute 'reduction'", Code::kFail},
    {"Slice",              "expected a 1-D tensor", Code::kFail},
    {"Slice",              "expected an axis in", Code::kFail, 10},
    {"Slice",              "expected each axis once", Code::kInvalidArgument, 10},
    {"SpaceToDepth",       "divisible by"},
    {"Split",              "attribute 'num_outputs'"},
    {"Split",              "dimensions of at least 0"},
    {"Squeeze",            "expected an axis in", std::nullopt, 13},
    {"Tile",               "expected repeats of at least 0"},
    {"TopK",               "expected k in", std::nullopt, 10},
    {"TopK",               "found -"},
    {"Transpose",          "expected one axis for each dimension", Code::kInvalidArgument},
    {"BiasGelu",           "input 'bias'", std::nullopt, kAnyVersion, kMicrosoft},
    {"FastGelu",           "input 'bias'", std::nullopt, kAnyVersion, kMicrosoft},
    {"GroupQueryAttention", "divisible by kv_num_heads", std::nullopt, kAnyVersion, kMicrosoft},
    {"MultiHeadAttention", "expected a hidden size divisible by", std::nullopt, kAnyVersion, kMicrosoft},
};
// clang-format on

constexpr const char* kCode = "postponed_code";
constexpr const char* kMessage = "postponed_message";

Error PostponedError(const Node& node) {
  return {static_cast<Code>(std::get<std::int64_t>(*node.FindAttribute(kCode))),
          std::get<std::string>(*node.FindAttribute(kMessage))};
}

void RunFailing(KernelContext& context) { throw Error(context.state<Error>()); }

Prepared PreparePostponed(PrepareContext& context) { return FailingKernel(PostponedError(context.node())); }

void InferNothing(InferContext& /*context*/) {}

constexpr OpDef kPostponed = {
    .name = "postponed error", .infer = InferNothing, .prepare = PreparePostponed, .traits = kNoFold};

}  // namespace

std::optional<LateError> FindLateError(const Node& node, const Error& error) {
  const std::string_view message = error.what();
  for (const Late& late : kLate) {
    if (late.op_type == node.op_type && late.domain == node.domain && node.since_version < late.before &&
        message.find(late.words) != std::string_view::npos)
      return LateError{late.code};
  }
  return std::nullopt;
}

void Postpone(Node& node, const Error& error) {
  node.SetAttribute(kCode, static_cast<std::int64_t>(error.code()));
  node.SetAttribute(kMessage, std::string(error.what()));
  node.domain = std::string(kPostponedPrefix) + node.domain;
}

bool IsPostponed(const Node& node) { return node.domain.starts_with(kPostponedPrefix); }

bool IsOfPostponing(std::string_view name) { return name == kCode || name == kMessage; }

void Restore(Node& node) {
  if (!IsPostponed(node)) return;
  node.domain = std::string(AuthorsDomain(node.domain));
  for (const char* name : {kCode, kMessage}) node.RemoveAttribute(name);
}

void RestorePostponed(Graph& graph) {
  for (const NodeId id : graph.order) {
    Restore(graph.node(id));
    for (Graph* body : graph.node(id).Subgraphs()) RestorePostponed(*body);
  }
}

const OpDef& PostponedOperator() { return kPostponed; }

Prepared FailingKernel(const Error& error) { return WithState(RunFailing, error); }

}  // namespace sardonyx::ops
