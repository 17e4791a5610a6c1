// kernels/fft/fft.cpp - the radix-2 algorithm and Bluestein's.
#include "kernels/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace sardonyx::kernels {
namespace {

bool IsPowerOfTwo(std::int64_t n) { return (n & (n - 1)) == 0; }

// The plain product: std::complex's operator also repairs infinities, which costs a call.
Fft::Complex Times(const Fft::Complex& a, const Fft::Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Fft::Complex Root(std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

Fft::Fft(std::int64_t length) : length_(length), padded_(length) {
  if (!IsPowerOfTwo(length)) {
    padded_ = 1;
    while (padded_ < 2 * length - 1) padded_ *= 2;
  }
  for (std::int64_t half = 4; half < padded_; half *= 2)
    for (std::int64_t k = 0; k < half; ++k) roots_.push_back(Root(k, 2 * half));
  reversed_.assign(static_cast<std::size_t>(padded_), 0);
  for (std::size_t i = 1; i < reversed_.size(); ++i)
    reversed_[i] = reversed_[i / 2] / 2 + (i % 2 == 0 ? 0 : static_cast<std::uint32_t>(padded_ / 2));
  if (padded_ == length_) return;
  // k t = (k^2 + t^2 - (k - t)^2) / 2 makes the sum a convolution with the chirp exp(-pi i k^2 / n).
  std::int64_t square = 0;  // k^2 modulo 2 n
  for (std::int64_t k = 0; k < length_; ++k) {
    chirp_.push_back(Root(square, 2 * length_));
    square = (square + 2 * k + 1) % (2 * length_);
  }
  filter_.assign(static_cast<std::size_t>(padded_), Complex());
  for (std::int64_t k = 0; k < length_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    filter_[at] = std::conj(chirp_[at]);
    if (k > 0) filter_[static_cast<std::size_t>(padded_ - k)] = filter_[at];
  }
  RadixTwo(filter_.data());
}

void Fft::Transform(Complex* data, bool inverse, Complex* work) const {
  const auto n = static_cast<double>(length_);
  if (inverse)
    for (std::int64_t i = 0; i < length_; ++i) data[i] = std::conj(data[i]);
  if (padded_ == length_) {
    RadixTwo(data);
  } else {
    Bluestein(data, work);
  }
  if (inverse)
    for (std::int64_t i = 0; i < length_; ++i) data[i] = std::conj(data[i]) / n;
}

void Fft::RadixTwo(Complex* data) const {
  for (std::size_t i = 1; i < reversed_.size(); ++i)
    if (i < reversed_[i]) std::swap(data[i], data[reversed_[i]]);
  if (padded_ == 2) {
    const Complex a = data[0];
    data[0] = a + data[1];
    data[1] = a - data[1];
  }
  // The first two passes in one: their roots are 1 and -i.
  for (std::int64_t i = 0; i + 4 <= padded_; i += 4) {
    const Complex a = data[i] + data[i + 1], b = data[i] - data[i + 1];
    const Complex c = data[i + 2] + data[i + 3], d = data[i + 2] - data[i + 3], turned = {d.imag(), -d.real()};
    data[i] = a + c;
    data[i + 1] = b + turned;
    data[i + 2] = a - c;
    data[i + 3] = b - turned;
  }
  const Complex* roots = roots_.data();
  for (std::int64_t half = 4; half < padded_; roots += half, half *= 2) {
    for (std::int64_t begin = 0; begin < padded_; begin += 2 * half) {
      Complex *low = data + begin, *high = low + half;
      for (std::int64_t k = 0; k < half; ++k) {
        const Complex odd = Times(high[k], roots[k]), even = low[k];
        high[k] = even - odd;
        low[k] = even + odd;
      }
    }
  }
}

void Fft::Bluestein(Complex* data, Complex* work) const {
  for (std::int64_t k = 0; k < length_; ++k) work[k] = Times(data[k], chirp_[static_cast<std::size_t>(k)]);
  std::fill(work + length_, work + padded_, Complex());
  RadixTwo(work);
  for (std::int64_t k = 0; k < padded_; ++k) work[k] = std::conj(Times(work[k], filter_[static_cast<std::size_t>(k)]));
  RadixTwo(work);
  const auto size = static_cast<double>(padded_);
  for (std::int64_t k = 0; k < length_; ++k)
    data[k] = Times(std::conj(work[k]) / size, chirp_[static_cast<std::size_t>(k)]);
}

}  // namespace sardonyx::kernels
