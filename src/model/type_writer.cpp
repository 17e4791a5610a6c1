// model/type_writer.cpp - writes TypeProto, ValueInfoProto and other small messages.
#include <span>

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

// `name`: the author's, if there is one. Inference may know a longer expression for it.
void WriteDim(Writer& dim, const Dim& from, const std::string& name) {
  if (from.known())
    dim.add_int64(TypeField::kDimValue, from.number());
  else if (!name.empty())
    dim.add_string(TypeField::kDimParam, name);
  else if (from.symbolic())
    dim.add_string(TypeField::kDimParam, from.ToText());
}

// Of the dimensions of a value, one for each or none.
struct DimTexts {
  std::span<const std::string> denotations, names;
  static const std::string& At(std::span<const std::string> texts, std::size_t i) {
    static const std::string nothing;
    return i < texts.size() ? texts[i] : nothing;
  }
};

void WriteTensorType(Writer& tensor, const Type& from, const DimTexts& texts) {
  tensor.add_int32(TypeField::kElemType, static_cast<std::int32_t>(from.dtype));
  if (!from.has_rank) return;
  WriteMessage(tensor, TypeField::kShape, [&](Writer& shape) {
    for (std::size_t i = 0; i < from.dims.size(); ++i) {
      WriteMessage(shape, TypeField::kDim, [&](Writer& dim) {
        WriteDim(dim, from.dims[i], DimTexts::At(texts.names, i));
        WriteText(dim, TypeField::kDimDenotation, DimTexts::At(texts.denotations, i));
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

void WriteContents(Writer& type, const Type& from, const DimTexts& texts) {
  if (from.is_none()) return;
  WriteMessage(type, FieldOf(from.kind), [&](Writer& inner) {
    if (from.kind == TypeKind::kTensor || from.kind == TypeKind::kSparseTensor)
      return WriteTensorType(inner, from, texts);
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
    DimTexts texts{from.dim_denotations, {}};
    if (from.is_input || from.is_output) texts.names = from.dim_params;
    WriteMessage(info, ValueInfoField::kType, [&](Writer& type) { WriteContents(type, from.type, texts); });
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
