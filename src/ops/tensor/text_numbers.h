// ops/tensor/text_numbers.h - converts numbers to text and back, as ONNX's Cast between strings and numbers spells
// them.
#pragma once

#include <cstdint>
#include <string>

namespace sardonyx::ops {

// Up to 8 significant digits ("0.1", "1e-07", "-0"), "INF", "-INF", "NaN": what ONNX Runtime writes for every float
// type.
std::string TextOf(double x);

// The number a text says: blanks around it, a sign, decimals, exponents, "inf" and "nan" in any case. Beyond the range:
// infinity, or 0 if it is too small. What follows a number does not matter, and "0x" begins a hexadecimal one, as in
// ONNX Runtime. Fail with kInvalidArgument, quoting the text, if it does not begin with a number.
float FloatOf(const std::string& text);
double DoubleOf(const std::string& text);
// Fractions are cut off, and there are no hexadecimal numbers. Fails with kInvalidArgument beyond the range of int64 (uint64 for UIntOf: negative ones wrap).
std::int64_t IntOf(const std::string& text);
std::uint64_t UIntOf(const std::string& text);

}  // namespace sardonyx::ops
