// ir/type.h - the type of a value: element type and symbolic shape, or a sequence, map or optional of types.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "ir/dim.h"

namespace sardonyx {

enum class TypeKind : std::uint8_t { kNone, kTensor, kSparseTensor, kSequence, kMap, kOptional };

struct Type {
  TypeKind kind = TypeKind::kNone;  // kNone: not known
  DType dtype = DType::kUndefined;  // tensors: element; maps: key
  bool has_rank = false;            // tensors: false if the rank is unknown
  std::vector<Dim> dims;            // tensors with a rank
  std::shared_ptr<const Type>
      element;             // sequence, optional: element; map: value. Shared because types are copied often.
  std::string denotation;  // TypeProto.denotation, carried through

  static Type TensorOf(DType dtype);  // rank unknown
  static Type TensorOf(DType dtype, std::vector<Dim> dims);
  static Type TensorOf(DType dtype, Dims dims);
  static Type SequenceOf(Type element);
  static Type OptionalOf(Type element);
  static Type MapOf(DType key, Type value);

  bool is_tensor() const { return kind == TypeKind::kTensor; }
  bool is_none() const { return kind == TypeKind::kNone; }
  std::size_t rank() const { return dims.size(); }
  bool HasStaticShape() const;  // a rank, and every dimension a number
  Shape StaticShape() const;    // only if HasStaticShape()
  bool operator==(const Type& other) const;
  std::string ToText() const;  // ONNX text syntax: float[batch,3], seq(float[]), map(int64, float), optional(...)
};

// Joins two statements about one value (a declared and an inferred type). Fails with kInvalidGraph, naming both, where
// element types, kinds, ranks or numbers differ; where a symbol meets a number, the number counts.
Type Merge(const Type& declared, const Type& inferred);
// The type of a value that has one of two types (those of the branches of an If): dimensions that differ become
// unknown, ranks that differ an unknown rank.
Type Union(const Type& a, const Type& b);

}  // namespace sardonyx
