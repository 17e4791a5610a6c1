// ops/schema/schema.h - what ONNX, ONNX Runtime and (for ai.sardonyx) this project say about each operator version:
// parameters, attributes, types. Facts only.
//
// The table is generated: see tools/schema/generate.py. All spans and names live as long as the program; names end in
// NUL.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::ops {

inline constexpr int kUnlimited = INT_MAX;      // max_inputs, max_outputs of variadic ones
inline constexpr int kNewestVersion = INT_MAX;  // as an opset version: the newest there is

// A set of types as schemas use them: tensors, sparse tensors, sequences and optionals of one element type, and a few
// maps.
struct TypeSet {
  std::array<std::uint64_t, 3> bits = {};

  bool Contains(DType element) const;      // tensor(element)
  bool Contains(const Type& type) const;   // shapes are ignored; false for a type that is not known
  bool ContainsKind(TypeKind kind) const;  // some type of this kind
  bool HasOnlyTensors() const { return (bits[0] >> 32) == 0 && bits[1] == 0 && bits[2] == 0; }
  std::vector<std::string> Names() const;  // ONNX's type strings: "tensor(float)", "seq(tensor(int64))" ...
  std::string ToText() const;              // the names joined by ", "
  bool operator==(const TypeSet&) const = default;
};

enum class ParamOption : std::uint8_t { kSingle, kOptional, kVariadic };

struct FormalParam {
  std::uint16_t name_at, type_at, set_index;  // offsets into the generated pools
  std::int8_t constraint;                     // index in type_constraints(), -1 if type() names a type itself
  ParamOption option;
  bool homogeneous;        // variadic: all of one type
  std::uint8_t min_arity;  // variadic: how many at least

  std::string_view name() const;
  std::string_view type() const;  // "T", or "tensor(int64)"
  const TypeSet& types() const;   // what is allowed, constraint resolved
};

struct AttributeSpec {
  std::uint16_t name_at;
  std::uint8_t type;  // AttributeProto.AttributeType: FLOAT = 1, INT = 2, STRING = 3 ... TYPE_PROTOS = 14
  bool required;
  std::uint16_t default_at;
  std::uint8_t default_count;

  std::string_view name() const;
  bool has_default() const { return default_count != 0; }
  AttributeValue DefaultValue() const;  // monostate if there is none
};

struct TypeConstraint {
  std::uint16_t name_at, set_index;

  std::string_view name() const;  // "T"
  const TypeSet& types() const;
};

struct OpSchema {
  enum Flags : std::uint8_t {
    kDeprecated = 1,       // since this version the operator is gone
    kRuntimeOnly = 2,      // not in the ONNX standard: ONNX Runtime's own, also a few in domain ""
    kContextFunction = 4,  // a function in ONNX whose body depends on types and attributes
    kAnyAttributes = 8,    // ONNX Runtime does not refuse attributes that the schema lacks, nor read them
  };
  std::uint16_t name_at;
  std::uint8_t domain_index;
  std::int16_t since_version;
  std::uint8_t flags;
  std::int32_t min_inputs, max_inputs, min_outputs, max_outputs;  // kUnlimited for variadic
  std::uint16_t first_input;
  std::uint8_t input_count;
  std::uint16_t first_output;
  std::uint8_t output_count;
  std::uint16_t first_attribute;
  std::uint8_t attribute_count;
  std::uint16_t first_constraint;
  std::uint8_t constraint_count;
  std::uint8_t first_function, function_count;

  std::string_view domain() const;  // "" is ai.onnx
  std::string_view name() const;
  bool deprecated() const { return (flags & kDeprecated) != 0; }
  bool runtime_only() const { return (flags & kRuntimeOnly) != 0; }
  bool takes_any_attribute() const { return (flags & kAnyAttributes) != 0; }
  std::span<const FormalParam> inputs() const;
  std::span<const FormalParam> outputs() const;
  std::span<const AttributeSpec> attributes() const;  // sorted by name
  std::span<const TypeConstraint> type_constraints() const;

  // The parameter that actual input (output) `index` belongs to: of the last one, if variadic, any further index.
  // nullptr beyond them.
  const FormalParam* Input(std::size_t index) const;
  const FormalParam* Output(std::size_t index) const;
  const AttributeSpec* FindAttribute(std::string_view attribute) const;
  bool has_function_body() const { return function_count != 0; }
};

// The newest schema whose since_version is at most `opset_version`, a deprecated one included; nullptr if there is
// none. "ai.onnx" is "".
const OpSchema* FindSchema(std::string_view domain, std::string_view op_type, int opset_version = kNewestVersion);
// All of them, sorted by domain (in the order of Domains()), name and version.
std::span<const OpSchema> AllSchemas();
// The versions of one operator, ascending.
std::span<const OpSchema> SchemaVersions(std::string_view domain, std::string_view op_type);

std::vector<std::string_view> Domains();
int NewestOpset(std::string_view domain);                      // 0 for a domain we do not know
std::vector<std::string> AllOpTypes(std::string_view domain);  // sorted, each once: to suggest names from

// The body ONNX gives a function operator, written in the newest opset that is not newer than `opset_version` (the
// oldest there is if all are newer). Attributes with a default in the schema have it in attribute_defaults. nullopt if
// the operator has no body or one that depends on the context. Parsed at each call.
std::optional<Function> FunctionBody(const OpSchema& schema, int opset_version = kNewestVersion);

}  // namespace sardonyx::ops
