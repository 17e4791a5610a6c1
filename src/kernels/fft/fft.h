// kernels/fft/fft.h - discrete Fourier transforms of any length, in double: radix 2, and Bluestein's algorithm for
// other lengths.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace sardonyx::kernels {

// A transform of fixed length. Not for use by several threads at once: it owns its work space.
// The error of a result is about log2(n) units in the last place of the largest one; fft_test.cpp compares with the
// sum.
class Fft {
 public:
  using Complex = std::complex<double>;
  explicit Fft(std::int64_t length);  // at least 1
  std::int64_t length() const { return length_; }
  // data[k] = sum over t of data[t] * exp(-2 pi i k t / length); with `inverse`, the sign is + and the result divided
  // by length.
  void Transform(Complex* data, bool inverse);

 private:
  void RadixTwo(Complex* data) const;  // forward, of padded_ elements
  void Bluestein(Complex* data);       // forward
  std::int64_t length_, padded_;
  std::vector<Complex> roots_;           // exp(-2 pi i k / padded_), k < padded_ / 2
  std::vector<Complex> chirp_, filter_;  // of Bluestein
  std::vector<Complex> work_;
};

}  // namespace sardonyx::kernels
