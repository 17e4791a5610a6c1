// tests/fuzz/close_tensors.cpp - compares elements with the effect of noise; see close_tensors.h.
#include "fuzz/close_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ir/type.h"

namespace sardonyx::fuzz {
namespace {

std::vector<double> Numbers(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.count()));
  VisitDType<float, double, Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
             std::uint32_t, std::int64_t, std::uint64_t, bool>(tensor.dtype(), [&]<typename T>() {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(
          static_cast<std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>>(tensor.data<T>()[i]));
  });
  return numbers;
}

// What an element is, as bits, so that several runs can be joined.
using Classes = unsigned;
constexpr Classes kNumber = 1, kNaN = 2, kPositiveInfinity = 4, kNegativeInfinity = 8;

Classes ClassOf(double x) {
  if (std::isnan(x)) return kNaN;
  if (std::isinf(x)) return x > 0 ? kPositiveInfinity : kNegativeInfinity;
  return kNumber;
}

// What another order of sums may do by itself.
double Rounding(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble:  // mostly casts of floats
      return 2e-5;
    case DType::kFloat16:
      return 2e-3;
    case DType::kBFloat16:
      return 2e-2;
    default:
      return 0;
  }
}

double Median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// What runs with noise show of each element.
struct Noise {
  std::vector<Classes> classes;  // those of the expected tensor included
  std::vector<double> sizes;     // how far a number moved
  double worst = 0;              // the largest of `sizes`
};

Noise NoiseOf(const std::vector<double>& want, std::span<const Tensor> noisy) {
  Noise noise;
  noise.sizes.resize(want.size(), 0.0);
  for (const double x : want) noise.classes.push_back(ClassOf(x));
  for (const Tensor& tensor : noisy) {
    const std::vector<double> other = Numbers(tensor);
    for (std::size_t i = 0; i < want.size(); ++i) {
      noise.classes[i] |= ClassOf(other[i]);
      if (std::isfinite(want[i]) && std::isfinite(other[i]))
        noise.sizes[i] = std::max(noise.sizes[i], std::abs(other[i] - want[i]));
    }
  }
  for (const double size : noise.sizes) noise.worst = std::max(noise.worst, size);
  return noise;
}

std::string OtherNumbers(const Tensor& got, const Tensor& want, std::span<const Tensor> noisy,
                         const Latitude& latitude) {
  const std::vector<double> found = Numbers(got), expected = Numbers(want);
  const Noise noise = NoiseOf(expected, noisy);
  double largest = 0;
  for (const double x : expected)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  // Where results jump, another element may jump next time, but not further.
  const double jumps = 8 * noise.worst + 50 * Median(noise.sizes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = found[i], b = expected[i];
    const Classes was = ClassOf(a), wanted = ClassOf(b);
    const bool undecided = !latitude.class_exception.empty() && noise.classes[i] != wanted;
    if (was == wanted && (wanted != kNumber || a == b)) continue;
    if (undecided && (was & noise.classes[i]) != 0) continue;  // the number beside an infinity may be any
    // What overflows to NaN in some runs and to no infinity in others lies between them in a third kind of run, which
    // a long chain of such values meets too seldom.
    constexpr Classes kOverflows = kNaN | kNumber;
    if (undecided && (noise.classes[i] & kOverflows) == kOverflows) continue;
    const std::string text =
        "element " + std::to_string(i) + ": expected " + std::to_string(b) + ", found " + std::to_string(a);
    if (was != wanted) {
      const std::string why = latitude.class_exception.empty()
                                  ? "no operator in front may decide otherwise"
                                  : "noise never gives that, though it could (" + latitude.class_exception + ")";
      return text + "; " + why;
    }
    const double smooth = 50 * std::max(noise.sizes[i], noise.worst / 8);
    const double bound =
        Rounding(want.dtype()) * (std::abs(b) + largest / 2) + 1e-30 + (latitude.discontinuous ? jumps : smooth);
    if (std::abs(a - b) > bound) return text + ", bound " + std::to_string(bound);
  }
  return "";
}

// Texts of numbers: where noise makes another text, no bound says which.
std::string OtherTexts(const Tensor& got, const Tensor& want, std::span<const Tensor> noisy, const Latitude& latitude) {
  const auto found = got.span<std::string>(), expected = want.span<std::string>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool undecided = std::any_of(
        noisy.begin(), noisy.end(), [&](const Tensor& other) { return other.span<std::string>()[i] != expected[i]; });
    if (found[i] != expected[i] && (latitude.shape_exception.empty() || !undecided))
      return "element " + std::to_string(i) + ": expected '" + expected[i] + "', found '" + found[i] + "'";
  }
  return "";
}

}  // namespace

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (IsString(a.dtype())) {
    const auto x = a.span<std::string>(), y = b.span<std::string>();
    return std::equal(x.begin(), x.end(), y.begin());
  }
  if (a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0) return true;
  constexpr DType kFloats[] = {DType::kFloat, DType::kDouble, DType::kFloat16, DType::kBFloat16};
  if (std::find(std::begin(kFloats), std::end(kFloats), a.dtype()) == std::end(kFloats)) return false;
  const std::vector<double> x = Numbers(a), y = Numbers(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::isnan(x[i]) && std::isnan(y[i])) && (x[i] != y[i] || std::signbit(x[i]) != std::signbit(y[i])))
      return false;
  return true;
}

std::string DifferenceBeyondRounding(const Tensor& got, const Tensor& want, std::span<const Tensor> noisy,
                                     const Latitude& latitude) {
  if (got.dtype() != want.dtype()) return "another type";
  if (SameBits(got, want)) return "";
  std::vector<Tensor> alike;  // with the shape of `got`
  std::copy_if(noisy.begin(), noisy.end(), std::back_inserter(alike),
               [&](const Tensor& other) { return other.shape() == got.shape(); });
  const auto compare = IsString(want.dtype()) ? OtherTexts : OtherNumbers;
  if (got.shape() == want.shape()) return compare(got, want, alike, latitude);
  const std::string found = "another shape: expected " + Type::TensorOf(want.dtype(), want.shape()).ToText() +
                            ", found " + Type::TensorOf(got.dtype(), got.shape()).ToText();
  if (latitude.shape_exception.empty()) return found + "; no operator in front may decide otherwise";
  if (alike.empty()) return found + "; noise never gives that, though it could (" + latitude.shape_exception + ")";
  // A run with noise that has this shape is what is expected then.
  std::string difference;
  for (const Tensor& other : alike)
    if (difference = compare(got, other, alike, latitude); difference.empty()) return "";
  return found + "; compared with a run with noise that has it: " + difference;
}

}  // namespace sardonyx::fuzz
