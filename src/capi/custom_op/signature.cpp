// capi/custom_op/signature.cpp - reads OrtCustomOp structs of every version.
#include "capi/custom_op/signature.h"

#include <algorithm>
#include <limits>

#include "base/joined_text.h"
#include "capi/handles/call_out.h"
#include "capi/handles/element_type.h"

namespace sardonyx::capi {
namespace {

// The versions of the struct that brought a field.
constexpr std::uint32_t kCharacteristics = 8, kVariadic = 14, kStatuses = 16, kShapes = 17, kAliases = 18;
constexpr std::size_t kMostFormals = 1024;  // a larger count is a struct that is not one

template <typename Function, typename... Args>
auto Ask(const Signature& signature, const char* what, Function function, Args... args) {
  const std::string callee = "custom operator " + signature.name + ": " + what;
  if (function == nullptr) Fail(Code::kInvalidArgument, callee, ": expected a function, found NULL");
  return CallOut<Code::kRuntimeException>(callee.c_str(), function, args...);
}

using Count = size_t(ORT_API_CALL*)(const OrtCustomOp*);
using TypeAt = ONNXTensorElementDataType(ORT_API_CALL*)(const OrtCustomOp*, size_t);
using OptionAt = OrtCustomOpInputOutputCharacteristic(ORT_API_CALL*)(const OrtCustomOp*, size_t);
using Number = int(ORT_API_CALL*)(const OrtCustomOp*);

struct FormalFunctions {
  const char* what;
  Count count;
  TypeAt type;
  OptionAt option;
  Number min_arity, homogeneity;
};

Formals ReadFormals(const Signature& s, const FormalFunctions& functions) {
  const std::string what = functions.what;
  Formals formals;
  const std::size_t count = Ask(s, ("Get" + what + "TypeCount").c_str(), functions.count, s.op);
  if (count > kMostFormals)
    Fail(Code::kInvalidArgument, "custom operator ", s.name, ": expected at most ", kMostFormals, " ", what,
         "s, found ", count);
  for (std::size_t i = 0; i < count; ++i) {
    Formal formal;
    const ONNXTensorElementDataType type = Ask(s, ("Get" + what + "Type").c_str(), functions.type, s.op, i);
    try {
      if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) formal.dtype = FromElementType(type);
    } catch (const Error& error) {
      Fail(error.code(), "custom operator ", s.name, ": Get", what, "Type(", i, "): ", error.what());
    }
    if (s.version >= kCharacteristics && functions.option != nullptr)
      formal.option = Ask(s, ("Get" + what + "Characteristic").c_str(), functions.option, s.op, i);
    if (formal.option < INPUT_OUTPUT_REQUIRED || formal.option > INPUT_OUTPUT_VARIADIC)
      Fail(Code::kInvalidArgument, "custom operator ", s.name, ": Get", what, "Characteristic(", i,
           "): expected required (0), optional (1) or variadic (2), found ", static_cast<int>(formal.option));
    if (formal.option == INPUT_OUTPUT_VARIADIC && i + 1 != count)
      Fail(Code::kInvalidArgument, "custom operator ", s.name, ": only the last ", what, " may be variadic, found ",
           what, " ", i, " of ", count);
    formals.list.push_back(formal);
  }
  if (count != 0 && formals.list.back().option == INPUT_OUTPUT_VARIADIC && s.version >= kVariadic) {
    const int least = Ask(s, ("GetVariadic" + what + "MinArity").c_str(), functions.min_arity, s.op);
    if (least < 0)
      Fail(Code::kInvalidArgument, "custom operator ", s.name, ": expected a minimum of 0 or more variadic ", what,
           "s, found ", least);
    formals.variadic_min = static_cast<std::size_t>(least);
    formals.homogeneous = Ask(s, ("GetVariadic" + what + "Homogeneity").c_str(), functions.homogeneity, s.op) != 0;
  }
  return formals;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Pairs of an input and an output. The library makes both arrays, and frees them.
Pairs ReadPairs(const Signature& s, const char* what, decltype(OrtCustomOp::GetAliasMap) get,
                decltype(OrtCustomOp::ReleaseAliasMap) release) {
  Pairs pairs;
  if (s.version < kAliases || get == nullptr) return pairs;
  int *inputs = nullptr, *outputs = nullptr;
  const std::size_t count = Ask(s, (std::string("Get") + what).c_str(), get, &inputs, &outputs);
  for (std::size_t i = 0; i < count && count <= kMostFormals && inputs != nullptr && outputs != nullptr; ++i)
    if (inputs[i] >= 0 && outputs[i] >= 0)
      pairs.emplace_back(static_cast<std::size_t>(inputs[i]), static_cast<std::size_t>(outputs[i]));
  if (count != 0 && release != nullptr) Ask(s, (std::string("Release") + what).c_str(), release, inputs, outputs);
  return pairs;
}

std::string ListOf(const Formals& formals) {
  std::string text;
  for (const Formal& formal : formals.list) {
    if (!text.empty()) text += ", ";
    text += formal.dtype == DType::kUndefined ? "any" : std::string(Name(formal.dtype));
    if (formal.option == INPUT_OUTPUT_OPTIONAL) text += "?";
    if (formal.option == INPUT_OUTPUT_VARIADIC) text += "...";
  }
  return text;
}

std::string WhyNotCount(const char* what, std::size_t count, const Formals& formals) {
  const std::size_t least = formals.Least(), most = formals.list.size();
  const bool unlimited = most != 0 && formals.list.back().option == INPUT_OUTPUT_VARIADIC;
  if (count >= least && (unlimited || count <= most)) return "";
  return JoinedText("expected ", least,
                    unlimited       ? " or more"
                    : most == least ? ""
                                    : " to " + std::to_string(most),
                    " ", what, ", found ", count);
}

std::string WhyNotType(std::size_t i, const Formal& formal, const Type& type) {
  if (formal.dtype == DType::kUndefined || type.is_none() || (type.is_tensor() && type.dtype == DType::kUndefined))
    return "";
  if (type.is_tensor() && type.dtype == formal.dtype) return "";
  return JoinedText("input ", i, ": expected ", Name(formal.dtype), ", found ", type.ToText());
}

}  // namespace

const Formal* Formals::At(std::size_t i) const {
  if (i < list.size()) return &list[i];
  return !list.empty() && list.back().option == INPUT_OUTPUT_VARIADIC ? &list.back() : nullptr;
}

std::size_t Formals::Least() const {
  std::size_t least = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].option == INPUT_OUTPUT_REQUIRED) least = i + 1;
    if (list[i].option == INPUT_OUTPUT_VARIADIC && variadic_min != 0) least = i + variadic_min;
  }
  return least;
}

Signature::Signature(const OrtCustomOp& custom_op)
    : op(&custom_op),
      version(std::min<std::uint32_t>(custom_op.version, ORT_API_VERSION)),
      name("of an unknown name"),
      end_version(std::numeric_limits<int>::max()) {
  if (version == 0) Fail(Code::kInvalidArgument, "custom operator: expected a struct of version 1 or newer, found 0");
  const char* given = Ask(*this, "GetName", op->GetName, op);
  if (given == nullptr || *given == '\0')
    Fail(Code::kInvalidArgument, "custom operator: expected a name from GetName, found none");
  name = given;
  if (op->GetExecutionProviderType != nullptr) {
    const char* type = Ask(*this, "GetExecutionProviderType", op->GetExecutionProviderType, op);
    if (type != nullptr) provider = type;
  }
  inputs = ReadFormals(*this, {"Input", op->GetInputTypeCount, op->GetInputType, op->GetInputCharacteristic,
                               op->GetVariadicInputMinArity, op->GetVariadicInputHomogeneity});
  outputs = ReadFormals(*this, {"Output", op->GetOutputTypeCount, op->GetOutputType, op->GetOutputCharacteristic,
                                op->GetVariadicOutputMinArity, op->GetVariadicOutputHomogeneity});
  if (!HasV2Create() && op->CreateKernel == nullptr)
    Fail(Code::kInvalidArgument, "custom operator ", name, ": expected CreateKernel or CreateKernelV2, found neither");
  if (!HasV2Compute() && op->KernelCompute == nullptr)
    Fail(Code::kInvalidArgument, "custom operator ", name,
         ": expected KernelCompute or KernelComputeV2, found neither");
  if (version >= kShapes) {
    infers_shapes = op->InferOutputShapeFn != nullptr;
    if (op->GetStartVersion != nullptr)
      start_version = std::max(1, Ask(*this, "GetStartVersion", op->GetStartVersion, op));
    if (op->GetEndVersion != nullptr) end_version = Ask(*this, "GetEndVersion", op->GetEndVersion, op);
    if (end_version < 0) end_version = std::numeric_limits<int>::max();  // the crate ort says "no end" so
    if (end_version < start_version)
      Fail(Code::kInvalidArgument, "custom operator ", name, ": expected an end version of at least ", start_version,
           ", its start version, found ", end_version);
  }
  aliases = ReadPairs(*this, "AliasMap", op->GetAliasMap, op->ReleaseAliasMap);
  in_place = ReadPairs(*this, "MayInplace", op->GetMayInplace, op->ReleaseMayInplace);
  // An output that the kernel may leave unmade is never there before the kernel asks for it.
  std::erase_if(in_place, [&](const auto& pair) {
    const Formal* formal = outputs.At(pair.second);
    return formal == nullptr || formal->option == INPUT_OUTPUT_OPTIONAL;
  });
}

bool Signature::HasV2Create() const { return version >= kStatuses && op->CreateKernelV2 != nullptr; }
bool Signature::HasV2Compute() const { return version >= kStatuses && op->KernelComputeV2 != nullptr; }

std::string Signature::ToText() const { return name + "(" + ListOf(inputs) + ") -> " + ListOf(outputs); }

std::string WhyNot(const Signature& signature, const NodeTypes& node) {
  if (std::string why = WhyNotCount("inputs", node.inputs.size(), signature.inputs); !why.empty()) return why;
  if (std::string why = WhyNotCount("outputs", node.outputs.size(), signature.outputs); !why.empty()) return why;
  const Type* first = nullptr;  // of the variadic inputs
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Formal& formal = *signature.inputs.At(i);
    if (!node.inputs[i]) {
      if (formal.option == INPUT_OUTPUT_REQUIRED) return JoinedText("input ", i, " is required and missing");
      continue;
    }
    const Type& type = *node.inputs[i];
    if (std::string why = WhyNotType(i, formal, type); !why.empty()) return why;
    if (formal.option != INPUT_OUTPUT_VARIADIC || !signature.inputs.homogeneous || type.is_none()) continue;
    if (first != nullptr && (first->kind != type.kind || first->dtype != type.dtype))
      return JoinedText("input ", i, ": expected ", first->ToText(), " as the variadic inputs before it, found ",
                        type.ToText());
    if (first == nullptr) first = &type;
  }
  return "";
}

}  // namespace sardonyx::capi
