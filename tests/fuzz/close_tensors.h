// tests/fuzz/close_tensors.h - whether a tensor differs from the expected one by more than rounding.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/value.h"

namespace sardonyx::fuzz {

// NaN is NaN: which one, the order of operands decides in the processor.
bool SameBits(const Tensor& a, const Tensor& b);

// What the graph in front of a tensor allows.
struct Latitude {
  bool discontinuous = false;  // a result may jump where an input moves a little
  // Why an element may become NaN, an infinity or a number, and why the shape may change; empty where they may not.
  std::string class_exception;
  std::string shape_exception;
};

// What is wrong with `got` where `want` is expected; "" if nothing is. `noisy`: what became of `want` in runs in which
// every value was disturbed a little.
//
// Numbers may differ by what noise does to them, and a little more. NaN, infinities with their sign, and the shape must
// be the same; with an exception they may also be those that noise gives them: an element has to be NaN, an infinity or
// a number as in `want` or as in one of `noisy` at that place, and the shape has to be one of theirs.
std::string DifferenceBeyondRounding(const Tensor& got, const Tensor& want, std::span<const Tensor> noisy,
                                     const Latitude& latitude);

}  // namespace sardonyx::fuzz
