// model/type_writer.cpp - writes TypeProto, ValueInfoProto and other small messages.
#include "model/graph_writer.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

// protozero drops a message without fields, which means something here: a scalar's shape, a dimension that is not
// known.
template <typename F>
void WriteMessage(Writer& parent, std::uint32_t tag, F&& fill) {
  std::string contents;
  Writer message(contents);
  fill(message);
  parent.add_message(tag, contents);
}

void WriteDim(Writer& dim, const Dim& from) {
  if (from.known()) dim.add_int64(TypeField::kDimValue, from.number());
  if (from.symbolic()) dim.add_string(TypeField::kDimParam, from.ToText());
}

using Denotations = std::vector<std::string>;

void WriteTensorType(Writer& tensor, const Type& from, const Denotations& denotations) {
  tensor.add_int32(TypeField::kElemType, static_cast<std::int32_t>(from.dtype));
  if (!from.has_rank) return;
  WriteMessage(tensor, TypeField::kShape, [&](Writer& shape) {
    for (std::size_t i = 0; i < from.dims.size(); ++i) {
      WriteMessage(shape, TypeField::kDim, [&](Writer& dim) {
        WriteDim(dim, from.dims[i]);
        if (i < denotations.size()) WriteText(dim, TypeField::kDimDenotation, denotations[i]);
      });
    }
  });
}

std::uint32_t FieldOf(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTensor:
      return TypeField::kTensor;
    case TypeKind::kSparseTensor:
      return TypeField::kSparseTensor;
    case TypeKind::kSequence:
      return TypeField::kSequence;
    case TypeKind::kMap:
      return TypeField::kMap;
    case TypeKind::kOptional:
      return TypeField::kOptional;
    case TypeKind::kNone:
      break;
  }
  return 0;
}

void WriteContents(Writer& type, const Type& from, const Denotations& denotations) {
  if (from.is_none()) return;
  WriteMessage(type, FieldOf(from.kind), [&](Writer& inner) {
    if (from.kind == TypeKind::kTensor || from.kind == TypeKind::kSparseTensor)
      return WriteTensorType(inner, from, denotations);
    const bool map = from.kind == TypeKind::kMap;
    if (map) inner.add_int32(TypeField::kKeyType, static_cast<std::int32_t>(from.dtype));
    if (from.element) WriteType(inner, map ? TypeField::kValueType : TypeField::kElemType, *from.element);
  });
  WriteText(type, TypeField::kDenotation, from.denotation);
}

}  // namespace

void WriteType(Writer& parent, std::uint32_t tag, const Type& from) {
  WriteMessage(parent, tag, [&](Writer& type) { WriteContents(type, from, {}); });
}

void WriteValueInfo(Writer info, const ValueInfo& from) {
  info.add_string(ValueInfoField::kName, from.name);
  if (!from.type.is_none()) {
    WriteMessage(info, ValueInfoField::kType,
                 [&](Writer& type) { WriteContents(type, from.type, from.dim_denotations); });
  }
  WriteText(info, ValueInfoField::kDoc, from.doc);
  WriteEntries(info, ValueInfoField::kMetadata, from.metadata);
}

void WriteOpsetImports(Writer& message, std::uint32_t tag, const std::vector<OpsetImport>& imports) {
  for (const OpsetImport& import : imports) {
    Writer entry(message, tag);
    entry.add_string(EntryField::kDomain, import.domain);
    entry.add_int64(EntryField::kVersion, import.version);
  }
}

void WriteText(Writer& message, std::uint32_t tag, std::string_view text) {
  if (!text.empty()) message.add_string(tag, text.data(), text.size());
}

}  // namespace sardonyx::model
