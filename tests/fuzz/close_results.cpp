// tests/fuzz/close_results.cpp - compares results with the effect of rounding; see close_results.h.
#include "fuzz/close_results.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

}  // namespace

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (IsString(a.dtype())) {
    const auto x = a.span<std::string>(), y = b.span<std::string>();
    return std::equal(x.begin(), x.end(), y.begin());
  }
  return a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

std::string CloseResults::Difference(std::size_t k, const Tensor& got, const std::vector<const Tensor*>& noisy) const {
  const Tensor& want = graph_.results[k].tensor();
  const std::vector<double> a = Numbers(got), b = Numbers(want);
  std::vector<double> noise(b.size(), 0.0);
  for (const Tensor* other : noisy) {
    const std::vector<double> c = Numbers(*other);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const double d = (std::isnan(c[i]) && std::isnan(b[i])) || c[i] == b[i] ? 0 : std::abs(c[i] - b[i]);
      noise[i] = std::max(noise[i], std::isnan(d) ? HUGE_VAL : d);
    }
  }
  double largest = 0, worst_noise = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
    worst_noise = std::max(worst_noise, noise[i]);
  }
  // Where results jump, another element may jump next time, but not further.
  const double jumps = graph_.discontinuous ? 8 * worst_noise + 50 * Median(noise) : 0;
  const double rounding = Rounding(want.dtype());
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double smooth = 50 * std::max(noise[i], worst_noise / 8);
    const double bound = rounding * (std::abs(b[i]) + largest / 2) + 1e-30 + (graph_.discontinuous ? jumps : smooth);
    const double error = std::abs(a[i] - b[i]);
    if (error <= bound || std::isinf(bound) || std::isnan(bound)) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(b[i]) + ", found " + std::to_string(a[i]) +
           ", bound " + std::to_string(bound);
  }
  return "";
}

std::string CloseResults::Compare(std::size_t k, const Value& got) {
  const Value& want = graph_.results[k];
  if (!got.is_tensor()) return "no tensor";
  const Tensor &a = got.tensor(), &b = want.tensor();
  if (a.dtype() != b.dtype()) return "another type";
  if (SameBits(a, b)) return "";
  if (IsString(b.dtype())) return graph_.discontinuous ? "" : "other texts";
  if (a.shape() == b.shape() && Difference(k, a, {}).empty()) return "";
  std::string found;
  // A result that hangs on three roundings meets them in one of eight runs.
  for (const std::size_t samples : {4U, 24U, 96U}) {
    while (noisy_.size() < samples)
      noisy_.push_back(RunWithNoise(graph_, registry_, static_cast<unsigned>(noisy_.size() + 1)));
    std::vector<const Tensor*> others;
    for (const auto& results : noisy_) {
      if (!(results[k].tensor().shape() == b.shape())) return "";  // shapes that hang on a rounding
      others.push_back(&results[k].tensor());
    }
    if (!(a.shape() == b.shape()))
      return "another shape: expected " + Type::TensorOf(b.dtype(), b.shape()).ToText() + ", found " +
             Type::TensorOf(a.dtype(), a.shape()).ToText();
    found = Difference(k, a, others);
    if (found.empty()) return "";
  }
  return found;
}

}  // namespace sardonyx::fuzz
