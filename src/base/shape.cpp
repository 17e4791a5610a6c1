// base/shape.cpp - storage of shapes and checked arithmetic on them.
#include "base/shape.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace sardonyx {
namespace {

[[noreturn]] void FailOverflow(const char* what) {
  Fail(Code::kInvalidArgument, "expected ", what, " to fit in 64 bits, found an overflow");
}

}  // namespace

Shape& Shape::operator=(Shape&& other) noexcept {
  if (this == &other) return *this;
  rank_ = std::exchange(other.rank_, 0);
  capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(kInline));
  heap_ = std::move(other.heap_);
  if (!heap_) std::copy_n(other.inline_, rank_, inline_);
  return *this;
}

void Shape::Assign(Dims dims) {
  if (dims.size() > capacity_) {  // `dims` may lie in this shape's old memory: copy before it goes
    auto heap = std::make_unique<std::int64_t[]>(dims.size());
    std::copy(dims.begin(), dims.end(), heap.get());
    heap_ = std::move(heap);
    capacity_ = static_cast<std::uint32_t>(dims.size());
  } else if (!dims.empty()) {
    std::memmove(data(), dims.data(), dims.size() * sizeof(std::int64_t));
  }
  rank_ = static_cast<std::uint32_t>(dims.size());
}

void Shape::Resize(std::size_t rank, std::int64_t fill) {
  if (rank > capacity_) {
    const std::size_t capacity = std::max(rank, std::size_t{capacity_} * 2);
    auto heap = std::make_unique<std::int64_t[]>(capacity);
    std::copy_n(data(), rank_, heap.get());
    heap_ = std::move(heap);
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  if (rank > rank_) std::fill(data() + rank_, data() + rank, fill);
  rank_ = static_cast<std::uint32_t>(rank);
}

void Shape::Append(std::int64_t dim) { Resize(rank_ + 1, dim); }

bool Shape::Equal(Dims a, Dims b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::int64_t ElementCount(Dims dims) {
  std::int64_t count = 1;
  bool zero = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) Fail(Code::kInvalidArgument, "expected dimensions of at least 0, found shape ", ToText(dims));
    zero |= dim == 0;
    if (dim != 0 && (__builtin_mul_overflow(count, dim, &count) || count >= kElementLimit))
      Fail(Code::kInvalidArgument, "expected dimensions whose product is below 2^59 (zeros not counted), found shape ",
           ToText(dims));
  }
  return zero ? 0 : count;
}

std::int64_t ElementCount(Dims dims, std::size_t begin, std::size_t end) {
  return ElementCount(dims.subspan(begin, end - begin));
}

std::size_t CheckedMul(std::size_t a, std::size_t b, const char* what) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) FailOverflow(what);
  return product;
}

std::size_t CheckedAdd(std::size_t a, std::size_t b, const char* what) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) FailOverflow(what);
  return sum;
}

std::string ToText(Dims dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

bool Broadcast(Dims a, Dims b, Shape* out) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result;  // `out` may be what a or b view
  result.Resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) return false;
    result[i] = x == 1 ? y : x;
  }
  *out = std::move(result);
  return true;
}

std::size_t NormalizeAxis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) {
    Fail(Code::kInvalidArgument, "expected an axis in [", -r, ", ", r - 1, "] for rank ", rank, ", found ", axis);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace sardonyx
