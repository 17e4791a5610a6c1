// ops/float_function.h - a function of one float with its parameters, as operators and fused activations use it.
#pragma once

#include <span>
#include <string_view>

#include "kernels/elementwise/unary_kind.h"

namespace sardonyx::ops {

struct FloatParameter {
  std::string_view attribute = "";  // empty: the parameter is always `otherwise`
  float otherwise = 0;              // ONNX's default; decimals of the specification are rounded once
  bool may_be_zero = true;
};

struct FloatFunction {
  kernels::UnaryKind kind = kernels::UnaryKind::kNone;  // kNone: there is no function
  FloatParameter a = {}, b = {};
};

// An operator of floats that computes y[i] = f(x[i]).
struct FloatOperator {
  std::string_view domain = "", name;
  FloatFunction function;
};
std::span<const FloatOperator> FloatOperators();  // the table of ops/math/unary.cpp
const FloatOperator* FindFloatOperator(std::string_view domain, std::string_view name);  // nullptr if there is none

}  // namespace sardonyx::ops
