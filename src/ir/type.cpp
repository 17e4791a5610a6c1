// ir/type.cpp - construction, comparison, merging and printing of types.
#include "ir/type.h"

#include <algorithm>

#include "base/error.h"
#include "ir/identifier.h"

namespace sardonyx {
namespace {

bool IsDense(TypeKind kind) { return kind == TypeKind::kTensor || kind == TypeKind::kSparseTensor; }

std::string TensorText(const Type& type) {
  std::string text(Name(type.dtype));
  if (!type.has_rank) return text + "[]";
  if (type.dims.empty()) return text;
  char separator = '[';
  for (const Dim& dim : type.dims) {
    text += separator;
    text += dim.symbolic() ? QuotedUnlessIdentifier(dim.ToText()) : dim.ToText();
    separator = ',';
  }
  return text + "]";
}

[[noreturn]] void FailDiffering(const Type& declared, const Type& inferred) {
  Fail(Code::kInvalidGraph, "expected the declared type ", declared.ToText(), ", found ", inferred.ToText());
}

Dim MergeDims(const Dim& declared, const Dim& inferred, const Type& a, const Type& b) {
  if (declared.unknown()) return inferred;
  if (inferred.unknown()) return declared;
  if (declared.known() && inferred.known() && declared.number() != inferred.number()) FailDiffering(a, b);
  return declared.known() ? declared : inferred;  // inferred says how a dimension follows from those of the inputs
}

}  // namespace

Type Type::TensorOf(DType dtype) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = dtype;
  return type;
}

Type Type::TensorOf(DType dtype, std::vector<Dim> dims) {
  Type type = TensorOf(dtype);
  type.has_rank = true;
  type.dims = std::move(dims);
  return type;
}

Type Type::TensorOf(DType dtype, Dims dims) { return TensorOf(dtype, std::vector<Dim>(dims.begin(), dims.end())); }

Type Type::SequenceOf(Type element) {
  Type type;
  type.kind = TypeKind::kSequence;
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

Type Type::OptionalOf(Type element) {
  Type type = SequenceOf(std::move(element));
  type.kind = TypeKind::kOptional;
  return type;
}

Type Type::MapOf(DType key, Type value) {
  Type type = SequenceOf(std::move(value));
  type.kind = TypeKind::kMap;
  type.dtype = key;
  return type;
}

bool Type::HasStaticShape() const {
  return has_rank && std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.known(); });
}

Shape Type::StaticShape() const {
  Shape shape;
  shape.Resize(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) shape[i] = dims[i].number();
  return shape;
}

bool Type::operator==(const Type& other) const {
  if (kind != other.kind || dtype != other.dtype || has_rank != other.has_rank || dims != other.dims) return false;
  if (denotation != other.denotation || (element == nullptr) != (other.element == nullptr)) return false;
  return element == other.element || *element == *other.element;
}

std::string Type::ToText() const {
  const auto inner = [this] { return element ? element->ToText() : std::string("unknown"); };
  switch (kind) {
    case TypeKind::kNone:
      return "unknown";
    case TypeKind::kTensor:
      return TensorText(*this);
    case TypeKind::kSparseTensor:
      return "sparse_tensor(" + TensorText(*this) + ")";
    case TypeKind::kSequence:
      return "seq(" + inner() + ")";
    case TypeKind::kMap:
      return "map(" + std::string(Name(dtype)) + ", " + inner() + ")";
    case TypeKind::kOptional:
      return "optional(" + inner() + ")";
  }
  return "unknown";
}

Type Merge(const Type& declared, const Type& inferred) {
  if (declared.is_none()) return inferred;
  if (inferred.is_none()) return declared;
  if (declared.kind != inferred.kind) FailDiffering(declared, inferred);
  Type merged = declared;
  if (declared.dtype == DType::kUndefined) {
    merged.dtype = inferred.dtype;
  } else if (inferred.dtype != DType::kUndefined && inferred.dtype != declared.dtype) {
    FailDiffering(declared, inferred);
  }
  if (merged.denotation.empty()) merged.denotation = inferred.denotation;
  if (!IsDense(declared.kind)) {
    if (!declared.element) {
      merged.element = inferred.element;
    } else if (inferred.element && inferred.element != declared.element) {
      merged.element = std::make_shared<const Type>(Merge(*declared.element, *inferred.element));
    }
    return merged;
  }
  if (!declared.has_rank) {
    merged.has_rank = inferred.has_rank;
    merged.dims = inferred.dims;
  } else if (inferred.has_rank) {
    if (declared.rank() != inferred.rank()) FailDiffering(declared, inferred);
    for (std::size_t i = 0; i < merged.rank(); ++i) {
      merged.dims[i] = MergeDims(declared.dims[i], inferred.dims[i], declared, inferred);
    }
  }
  return merged;
}

Type Union(const Type& a, const Type& b) {
  if (a.kind != b.kind) return {};
  Type either = a;
  if (a.dtype != b.dtype) either.dtype = DType::kUndefined;
  if (a.denotation != b.denotation) either.denotation.clear();
  if (!IsDense(a.kind)) {
    if (!a.element || !b.element) {
      either.element = nullptr;
    } else if (a.element != b.element) {
      either.element = std::make_shared<const Type>(Union(*a.element, *b.element));
    }
    return either;
  }
  if (!a.has_rank || !b.has_rank || a.rank() != b.rank()) {
    either.has_rank = false;
    either.dims.clear();
    return either;
  }
  for (std::size_t i = 0; i < either.rank(); ++i) {
    if (!SameDim(a.dims[i], b.dims[i])) either.dims[i] = Dim();
  }
  return either;
}

}  // namespace sardonyx
