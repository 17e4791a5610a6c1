// testing/tolerance.cpp - comparison of tensors and values.
#include "testing/tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "testing/elements.h"

namespace sardonyx::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

std::string Position(const Tensor& tensor, std::int64_t index) {
  Shape position = tensor.shape();
  for (std::size_t axis = position.rank(); axis-- > 0;) {
    position[axis] = index % tensor.shape()[axis];
    index /= tensor.shape()[axis];
  }
  return "element " + ToText(position);
}

AssertionResult SameTypeAndShape(const Tensor& got, const Tensor& want) {
  if (got.dtype() == want.dtype() && got.shape() == want.shape()) return AssertionSuccess();
  return AssertionFailure() << "expected " << Name(want.dtype()) << ToText(want.shape()) << ", found "
                            << Name(got.dtype()) << ToText(got.shape());
}

bool IsComplex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }

// Calls visit(index, got, want) with each real number of both tensors: two for a complex element.
template <typename Visit>
void ForEachNumber(const Tensor& got, const Tensor& want, Visit&& visit) {
  for (std::int64_t i = 0; i < want.count(); ++i) {
    if (IsComplex(want.dtype())) {
      const auto a = GetComplex(got, i), b = GetComplex(want, i);
      visit(i, a.real(), b.real());
      visit(i, a.imag(), b.imag());
    } else {
      visit(i, GetElement(got, i), GetElement(want, i));
    }
  }
}

AssertionResult SameElements(const Tensor& got, const Tensor& want) {
  std::int64_t differing = 0, first = 0;
  for (std::int64_t i = want.count(); i-- > 0;) {
    const bool same = IsString(want.dtype()) ? got.data<std::string>()[i] == want.data<std::string>()[i]
                                             : GetInteger(got, i) == GetInteger(want, i);
    if (same) continue;
    ++differing;
    first = i;
  }
  if (differing == 0) return AssertionSuccess();
  AssertionResult failure = AssertionFailure();
  failure << Position(want, first) << ": expected ";
  if (IsString(want.dtype())) {
    failure << '"' << want.data<std::string>()[first] << "\", found \"" << got.data<std::string>()[first] << '"';
  } else {
    failure << GetInteger(want, first) << ", found " << GetInteger(got, first);
  }
  return failure << "; " << differing << " of " << want.count() << " elements differ";
}

template <typename List, typename Compare>
AssertionResult EachClose(const List& got, const List& want, Compare&& compare) {
  if (got.size() != want.size())
    return AssertionFailure() << "expected " << want.size() << " items, found " << got.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (const AssertionResult result = compare(got[i], want[i]); !result) {
      return AssertionFailure() << "item " << i << ": " << result.message();
    }
  }
  return AssertionSuccess();
}

}  // namespace

Tolerance DefaultTolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64:
      return {1e-5, 1e-30};
    case DType::kDouble:
    case DType::kComplex128:
      return {1e-13, 1e-300};
    case DType::kFloat16:
      return {2e-3, 1e-7};
    case DType::kBFloat16:
      return {1.6e-2, 1e-30};
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
      return {0.125, 0.002};
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat4E2M1:
      return {0.25, 1.6e-5};
    case DType::kFloat8E8M0:
      return {0.5, 0};
    default:
      return {};
  }
}

AssertionResult AllClose(const Tensor& got, const Tensor& want) {
  return AllClose(got, want, DefaultTolerance(want.dtype()));
}

AssertionResult AllClose(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (AssertionResult same = SameTypeAndShape(got, want); !same) return same;
  if (!want.defined()) return AssertionSuccess();
  const bool floating = IsFloating(want.dtype()) || IsComplex(want.dtype());
  if (!floating && (IsString(want.dtype()) || (tolerance.relative == 0 && tolerance.absolute == 0))) {
    return SameElements(got, want);
  }
  double largest = 0, worst = 0;
  std::int64_t worst_at = -1, special_at = -1;
  ForEachNumber(got, want, [&](std::int64_t index, double a, double b) {
    if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
    if (!std::isfinite(a) || !std::isfinite(b)) {
      const bool same = std::isnan(a) ? std::isnan(b) : a == b;
      if (!same && special_at < 0) special_at = index;
    } else if (std::abs(a - b) > worst) {
      worst = std::abs(a - b);
      worst_at = index;
    }
  });
  const std::int64_t at = special_at >= 0 ? special_at : worst_at;
  const double bound = tolerance.relative * largest + tolerance.absolute;
  if (special_at < 0 && worst <= bound) return AssertionSuccess();
  AssertionResult failure = AssertionFailure();
  failure << Position(want, at) << ": expected ";
  if (IsComplex(want.dtype())) {
    failure << GetComplex(want, at) << ", found " << GetComplex(got, at);
  } else {
    failure << GetElement(want, at) << ", found " << GetElement(got, at);
  }
  if (special_at >= 0) return failure << "; NaN and infinities must stand where they are wanted";
  return failure << "; differs by " << worst << ", more than " << bound << " (the largest value is " << largest << ")";
}

AssertionResult AllClose(const Value& got, const Value& want) {
  if (got.has_value() != want.has_value() || got.is_tensor() != want.is_tensor() || got.is_map() != want.is_map() ||
      got.is_sequence() != want.is_sequence() || got.is_sparse() != want.is_sparse()) {
    return AssertionFailure() << "expected " << want.KindName() << ", found " << got.KindName();
  }
  const auto close = [](const auto& a, const auto& b) { return AllClose(a, b); };
  if (want.is_tensor()) return AllClose(got.tensor(), want.tensor());
  if (want.is_sequence()) return EachClose(got.sequence().items, want.sequence().items, close);
  if (want.is_map()) {
    return EachClose(std::vector<Tensor>{got.map().keys, got.map().values},
                     std::vector<Tensor>{want.map().keys, want.map().values}, close);
  }
  if (!want.is_sparse()) return AssertionSuccess();
  const SparseTensor &a = got.sparse(), &b = want.sparse();
  if (!(a.dense_shape == b.dense_shape)) {
    return AssertionFailure() << "expected the dense shape " << ToText(b.dense_shape) << ", found "
                              << ToText(a.dense_shape);
  }
  return EachClose(std::vector<Tensor>{a.values, a.indices}, std::vector<Tensor>{b.values, b.indices}, close);
}

AssertionResult SameBits(const Tensor& got, const Tensor& want) {
  if (AssertionResult same = SameTypeAndShape(got, want); !same) return same;
  if (IsString(want.dtype())) return SameElements(got, want);
  if (want.byte_size() == 0 || std::memcmp(got.raw(), want.raw(), want.byte_size()) == 0) return AssertionSuccess();
  const auto* a = static_cast<const std::uint8_t*>(got.raw());
  const auto* b = static_cast<const std::uint8_t*>(want.raw());
  const auto byte = std::mismatch(a, a + want.byte_size(), b).first - a;
  const std::int64_t index = std::min<std::int64_t>(byte * 8 / Bits(want.dtype()), want.count() - 1);
  return AssertionFailure() << Position(want, index) << ": expected " << GetElement(want, index) << ", found "
                            << GetElement(got, index) << "; byte " << byte << " differs";
}

}  // namespace sardonyx::testing
