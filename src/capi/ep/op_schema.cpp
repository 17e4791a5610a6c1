// capi/ep/op_schema.cpp - the functions of OrtOpSchema: what an operator's schema says of its inputs and outputs.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "capi/functions.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "ops/schema/schema.h"

// A type parameter of an operator, with the inputs and outputs that have its type.
struct OrtOpSchemaTypeConstraint {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kOpSchemaTypeConstraint> mark;
  std::string name;
  std::vector<std::string> types;
  std::vector<const char*> type_pointers;
  std::vector<std::size_t> inputs, outputs;
};

struct OrtOpSchema {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kOpSchema> mark;
  const sardonyx::ops::OpSchema* schema = nullptr;
  std::vector<std::string> input_names, output_names;
  std::deque<OrtOpSchemaTypeConstraint> constraints;
};

namespace sardonyx::capi::ep {
namespace {

std::unique_ptr<OrtOpSchema> MakeSchema(const ops::OpSchema& schema) {
  auto made = std::make_unique<OrtOpSchema>();
  made->schema = &schema;
  for (const ops::TypeConstraint& constraint : schema.type_constraints()) {
    OrtOpSchemaTypeConstraint& shown = made->constraints.emplace_back();
    shown.name = constraint.name();
    shown.types = constraint.types().Names();
    for (const std::string& type : shown.types) shown.type_pointers.push_back(type.c_str());
  }
  for (std::size_t i = 0; i < schema.inputs().size(); ++i) {
    const ops::FormalParam& input = schema.inputs()[i];
    made->input_names.emplace_back(input.name());
    if (input.constraint >= 0) made->constraints[static_cast<std::size_t>(input.constraint)].inputs.push_back(i);
  }
  for (std::size_t i = 0; i < schema.outputs().size(); ++i) {
    const ops::FormalParam& output = schema.outputs()[i];
    made->output_names.emplace_back(output.name());
    if (output.constraint >= 0) made->constraints[static_cast<std::size_t>(output.constraint)].outputs.push_back(i);
  }
  return made;
}

template <typename List>
auto& At(List& list, std::size_t index, const char* what) {
  if (index >= list.size())
    Fail(Code::kInvalidArgument, what, " of an operator schema: expected an index below ", list.size(), ", found ",
         index);
  return list[index];
}

const OrtOpSchemaTypeConstraint* ConstraintOf(const OrtOpSchema& schema, const ops::FormalParam& parameter) {
  return parameter.constraint >= 0 ? &schema.constraints[static_cast<std::size_t>(parameter.constraint)] : nullptr;
}

}  // namespace

// NULL if there is no such operator.
OrtStatusPtr ORT_API_CALL GetOpSchema(const char* name, int max_inclusive_version, const char* domain,
                                      OrtOpSchema** out_schema) noexcept {
  return Guard([&] {
    auto& result = Need(out_schema, "out_schema");
    result = nullptr;
    const ops::OpSchema* schema = ops::FindSchema(&Need(domain, "domain"), &Need(name, "name"), max_inclusive_version);
    if (schema != nullptr) result = MakeSchema(*schema).release();
  });
}

void ORT_API_CALL ReleaseOpSchema(OrtOpSchema* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL OpSchema_GetSinceVersion(const OrtOpSchema* schema, int* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(schema, "schema").schema->since_version; });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetNumInputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(schema, "schema").input_names.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetInputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = At(Need(schema, "schema").input_names, index, "input").c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetInputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                          const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guard([&] {
    const std::span inputs = Need(schema, "schema").schema->inputs();
    Need(out, "out") = ConstraintOf(*schema, At(inputs, index, "input"));
  });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetNumOutputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(schema, "schema").output_names.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetOutputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = At(Need(schema, "schema").output_names, index, "output").c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetOutputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                           const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guard([&] {
    const std::span outputs = Need(schema, "schema").schema->outputs();
    Need(out, "out") = ConstraintOf(*schema, At(outputs, index, "output"));
  });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetTypeConstraintCount(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(schema, "schema").constraints.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                     const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guard([&] { Need(out, "out") = &At(Need(schema, "schema").constraints, index, "type constraint"); });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetTypeParamName(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                  const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_constraint, "type_constraint").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetAllowedTypes(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                 const char* const** out_types,
                                                                 size_t* num_types) noexcept {
  return Guard([&] {
    const OrtOpSchemaTypeConstraint& constraint = Need(type_constraint, "type_constraint");
    Need(num_types, "num_types") = constraint.type_pointers.size();
    Need(out_types, "out_types") = constraint.type_pointers.data();
  });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetInputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                 const size_t** out_indices, size_t* count) noexcept {
  return Guard([&] {
    const OrtOpSchemaTypeConstraint& constraint = Need(type_constraint, "type_constraint");
    Need(count, "count") = constraint.inputs.size();
    Need(out_indices, "out_indices") = constraint.inputs.data();
  });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetOutputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                  const size_t** out_indices, size_t* count) noexcept {
  return Guard([&] {
    const OrtOpSchemaTypeConstraint& constraint = Need(type_constraint, "type_constraint");
    Need(count, "count") = constraint.outputs.size();
    Need(out_indices, "out_indices") = constraint.outputs.data();
  });
}

}  // namespace sardonyx::capi::ep
