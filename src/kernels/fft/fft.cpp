// kernels/fft/fft.cpp - radix 2 and Bluestein.
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
  for (std::int64_t k = 0; k < padded_ / 2; ++k) roots_.push_back(Root(k, padded_));
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
  work_.resize(static_cast<std::size_t>(padded_));
}

void Fft::Transform(Complex* data, bool inverse) {
  const auto n = static_cast<double>(length_);
  if (inverse)
    for (std::int64_t i = 0; i < length_; ++i) data[i] = std::conj(data[i]);
  if (padded_ == length_) {
    RadixTwo(data);
  } else {
    Bluestein(data);
  }
  if (inverse)
    for (std::int64_t i = 0; i < length_; ++i) data[i] = std::conj(data[i]) / n;
}

void Fft::RadixTwo(Complex* data) const {
  for (std::int64_t i = 1, j = 0; i < padded_; ++i) {  // j is i with its bits reversed
    std::int64_t bit = padded_ >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
  for (std::int64_t half = 1; half < padded_; half *= 2) {
    const std::int64_t step = padded_ / (2 * half);
    for (std::int64_t begin = 0; begin < padded_; begin += 2 * half) {
      for (std::int64_t k = 0; k < half; ++k) {
        const Complex odd = Times(data[begin + half + k], roots_[static_cast<std::size_t>(k * step)]);
        data[begin + half + k] = data[begin + k] - odd;
        data[begin + k] += odd;
      }
    }
  }
}

void Fft::Bluestein(Complex* data) {
  const auto n = static_cast<std::size_t>(length_);
  for (std::size_t k = 0; k < n; ++k) work_[k] = Times(data[k], chirp_[k]);
  std::fill(work_.begin() + static_cast<std::ptrdiff_t>(n), work_.end(), Complex());
  RadixTwo(work_.data());
  for (std::size_t k = 0; k < work_.size(); ++k) work_[k] = std::conj(Times(work_[k], filter_[k]));
  RadixTwo(work_.data());
  const auto size = static_cast<double>(padded_);
  for (std::size_t k = 0; k < n; ++k) data[k] = Times(std::conj(work_[k]) / size, chirp_[k]);
}

}  // namespace sardonyx::kernels
