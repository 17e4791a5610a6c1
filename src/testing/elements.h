// testing/elements.h - single elements of tensors of any numeric type, for tests that care about values, not speed.
#pragma once

#include <complex>
#include <cstdint>

#include "tensor/value.h"

namespace sardonyx::testing {

// Element `index` (row-major), packed types unpacked, bool as 0 or 1. Exact but for 64-bit integers beyond 2^53 (use
// GetInteger) and for the imaginary part of complex numbers (use GetComplex).
double GetElement(const Tensor& tensor, std::int64_t index);
std::int64_t GetInteger(const Tensor& tensor, std::int64_t index);  // integers and bool; uint64 as its bits
std::complex<double> GetComplex(const Tensor& tensor, std::int64_t index);
// Rounds as Cast does; integers must be in range.
void SetElement(Tensor& tensor, std::int64_t index, double value);

// Floats sin(step), sin(2 * step), ...: different numbers in [-1, 1] without a random generator.
Tensor Wave(Shape shape, float step);
// The same numbers of a float tensor as doubles.
Tensor AsDouble(const Tensor& floats);

}  // namespace sardonyx::testing
