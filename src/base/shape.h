// base/shape.h - the concrete shape of a tensor, without heap memory up to rank 8, and checked arithmetic on it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace sardonyx {

using Dims = std::span<const std::int64_t>;

class Shape {
 public:
  static constexpr std::size_t kInline = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) { Assign(Dims(dims.begin(), dims.size())); }
  explicit Shape(Dims dims) { Assign(dims); }
  Shape(const Shape& other) { Assign(other); }
  Shape(Shape&& other) noexcept { *this = std::move(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) Assign(other);
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept;  // leaves `other` with rank 0

  void Assign(Dims dims);
  void Resize(std::size_t rank, std::int64_t fill = 1);
  void Append(std::int64_t dim);

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const std::int64_t* data() const { return heap_ ? heap_.get() : inline_; }
  std::int64_t& operator[](std::size_t i) { return data()[i]; }
  std::int64_t operator[](std::size_t i) const { return data()[i]; }
  std::int64_t back() const { return data()[rank_ - 1]; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + rank_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + rank_; }
  operator Dims() const { return {data(), rank_}; }  // NOLINT(google-explicit-constructor): a shape is its dimensions
  friend bool operator==(const Shape& a, const Shape& b) { return Equal(a, b); }
  static bool Equal(Dims a, Dims b);

 private:
  std::uint32_t rank_ = 0;
  std::uint32_t capacity_ = kInline;
  std::int64_t inline_[kInline] = {};
  std::unique_ptr<std::int64_t[]> heap_;
};

// The product of all dimensions other than 0 must be below this, so that the byte size of the widest elements does not
// overflow, nor do the strides of a shape without elements.
inline constexpr std::int64_t kElementLimit = std::int64_t{1} << 59;

// The number of elements. Fails with kInvalidArgument if a dimension is negative or the product reaches kElementLimit.
std::int64_t ElementCount(Dims dims);
std::int64_t ElementCount(Dims dims, std::size_t begin, std::size_t end);  // of dims[begin..end)

// a * b, or a + b, of sizes; fails with kInvalidArgument naming `what` on overflow.
std::size_t CheckedMul(std::size_t a, std::size_t b, const char* what);
std::size_t CheckedAdd(std::size_t a, std::size_t b, const char* what);

std::string ToText(Dims dims);  // "[2, 3, 4]", "[]" for a scalar

// The shape both inputs broadcast to (ONNX: NumPy's rule); false if they do not.
bool Broadcast(Dims a, Dims b, Shape* out);

// `axis` in [-rank, rank) as [0, rank); fails with kInvalidArgument otherwise.
std::size_t NormalizeAxis(std::int64_t axis, std::size_t rank);

}  // namespace sardonyx
