// tensor/value.h - what a run carries: a tensor, sequence, map, optional or sparse tensor. OrtValue is this type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"
#include "tensor/buffer.h"

namespace sardonyx {

// A dense tensor: contiguous, row-major, a view of a buffer that begins at a byte offset. Strings are std::string
// objects. Copying a Tensor copies the view, not the bytes.
class Tensor {
 public:
  Tensor() = default;
  // Not initialised (strings: empty). Fails on negative or overflowing shapes before anything is allocated.
  Tensor(DType dtype, Shape shape, const std::shared_ptr<Allocator>& allocator = HostAllocator());
  // Views `buffer` from `byte_offset`; fails with kInvalidArgument if the buffer is too small.
  Tensor(DType dtype, Shape shape, std::shared_ptr<Buffer> buffer, std::size_t byte_offset = 0);
  template <typename T>
  static Tensor Of(std::initializer_list<T> values, Shape shape);  // copies the values
  template <typename T>
  static Tensor Scalar(T value);
  template <typename T>
  static Tensor Vector(std::span<const T> values);  // 1-D

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  std::size_t byte_size() const { return byte_size_; }
  const void* raw() const { return data_; }
  void* raw() { return data_; }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<std::size_t>(count_)};
  }
  template <typename T>
  std::span<T> span() {
    return {data<T>(), static_cast<std::size_t>(count_)};
  }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  Device device() const { return buffer_ ? buffer_->device() : Device{}; }
  bool defined() const { return dtype_ != DType::kUndefined; }
  Tensor Reshaped(Shape shape) const;  // the same bytes under another shape of the same count
  Tensor Clone() const;                // own bytes, on the host

 private:
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::int64_t count_ = 0;
  std::size_t byte_size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<Buffer> buffer_;
};

class Value;

struct Sequence {
  DType element_dtype = DType::kUndefined;  // of its tensors; kUndefined for sequences of maps, or when not known
  std::vector<Value> items;
};

struct Map {
  Tensor keys;    // [n] of an integer type or strings, ascending
  Tensor values;  // [n]
};

// Where the values of a sparse tensor stand.
enum class SparseFormat : std::uint8_t {
  kCoo,    // values [nnz]; indices int64, [nnz] (linear, row-major) or [nnz, rank]; ascending
  kCsr,    // of a matrix: values [nnz]; indices int64 [nnz], the column of each; row_starts int64 [rows + 1]
  kBlock,  // values [blocks, ...], a block of equal size each; indices int32 [coordinates, blocks]
};

struct SparseTensor {
  Shape dense_shape;
  Tensor values;
  Tensor indices;
  SparseFormat format = SparseFormat::kCoo;
  Tensor row_starts = {};  // of kCsr: where the values of each row begin, and their number
};

// Contents other than tensors are shared between copies of a Value and never change once made.
class Value {
 public:
  Value() = default;                                  // nothing: a missing input, or an optional without a value
  Value(Tensor tensor) : data_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  Value(Sequence sequence);                           // NOLINT(google-explicit-constructor)
  Value(Map map);                                     // NOLINT(google-explicit-constructor)
  Value(SparseTensor sparse);                         // NOLINT(google-explicit-constructor)

  bool has_value() const { return data_.index() != 0; }
  bool is_tensor() const { return std::holds_alternative<Tensor>(data_); }
  bool is_sequence() const { return std::holds_alternative<std::shared_ptr<const Sequence>>(data_); }
  bool is_map() const { return std::holds_alternative<std::shared_ptr<const Map>>(data_); }
  bool is_sparse() const { return std::holds_alternative<std::shared_ptr<const SparseTensor>>(data_); }
  const Tensor& tensor() const { return std::get<Tensor>(data_); }
  Tensor& tensor() { return std::get<Tensor>(data_); }
  const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(data_); }
  const Map& map() const { return *std::get<std::shared_ptr<const Map>>(data_); }
  const SparseTensor& sparse() const { return *std::get<std::shared_ptr<const SparseTensor>>(data_); }
  std::string KindName() const;  // "tensor(float)", "sequence", "map", "sparse tensor", "nothing"

 private:
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>, std::shared_ptr<const Map>,
               std::shared_ptr<const SparseTensor>>
      data_;
};

template <typename T>
Tensor Tensor::Of(std::initializer_list<T> values, Shape shape) {
  Tensor t(kDTypeOf<T>, std::move(shape));
  if (static_cast<std::int64_t>(values.size()) != t.count())
    Fail(Code::kInvalidArgument, "expected ", t.count(), " values, found ", values.size());
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
template <typename T>
Tensor Tensor::Scalar(T value) {
  Tensor t(kDTypeOf<T>, Shape{});
  *t.data<T>() = std::move(value);
  return t;
}
template <typename T>
Tensor Tensor::Vector(std::span<const T> values) {
  Tensor t(kDTypeOf<T>, Shape{static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace sardonyx
