// kernels/fft/fft.h - discrete Fourier transforms of any length, in double: radix 2, and Bluestein's algorithm for
// other lengths.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace sardonyx::kernels {

// A transform of fixed length; several threads may use one, each with work space of its own.
// The error of a result is about log2(n) units in the last place of the largest one; fft_test.cpp compares with the
// sum.
class Fft {
 public:
  using Complex = std::complex<double>;
  explicit Fft(std::int64_t length);  // at least 1
  std::int64_t length() const { return length_; }
  // Elements of work space that Transform wants; often 0.
  std::int64_t work_count() const { return padded_ == length_ ? 0 : padded_; }
  // data[k] = sum over t of data[t] * exp(-2 pi i k t / length); with `inverse`, the sign is + and the result divided
  // by length.
  void Transform(Complex* data, bool inverse, Complex* work) const;

 private:
  void RadixTwo(Complex* data) const;                  // forward, of padded_ elements
  void Bluestein(Complex* data, Complex* work) const;  // forward
  std::int64_t length_, padded_;
  std::vector<Complex> roots_;           // of the passes from half = 4 on: exp(-pi i k / half), k < half
  std::vector<std::uint32_t> reversed_;  // the bits of the index of an element, in reverse
  std::vector<Complex> chirp_, filter_;  // of Bluestein
};

// Complex numbers as their parts: real, imaginary, real, ...
inline double* Parts(Fft::Complex* data) { return reinterpret_cast<double*>(data); }

}  // namespace sardonyx::kernels
