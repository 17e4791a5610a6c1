// testing/tolerance.h - whether two values are the same within a bound: EXPECT_TRUE(AllClose(got, want)).
//
// The error of an element is measured against the largest finite magnitude of the wanted tensor, so small elements next
// to large ones do not fail a sum. NaN must stand where NaN is wanted, infinities where they are wanted, with their
// sign.
#pragma once

#include <gtest/gtest.h>

#include "tensor/value.h"

namespace sardonyx::testing {

struct Tolerance {
  double relative = 0;  // of the largest finite magnitude that is wanted
  double absolute = 0;  // besides: for results that are wanted to be zero
};

// What a result of one or a few operations may differ by, a few units in the last place of the type: 1e-5 for float,
// 1e-13 for double, 2e-3 for float16, 1.6e-2 for bfloat16, one step for the 8- and 4-bit floats; nothing for all other
// types. A sum over k elements may differ by about sqrt(k) times as much: say so where the test knows k.
Tolerance DefaultTolerance(DType dtype);

// Element types and shapes are equal, elements within the tolerance. The failure names the worst element, both values,
// its error and the bound.
::testing::AssertionResult AllClose(const Tensor& got, const Tensor& want);
::testing::AssertionResult AllClose(const Tensor& got, const Tensor& want, const Tolerance& tolerance);
// Values of any kind: what they hold, one by one, with the default tolerance of each element type.
::testing::AssertionResult AllClose(const Value& got, const Value& want);
// Equal bits (NaN equals NaN of the same bits), shapes and types: for data movement, and for runs that must repeat.
::testing::AssertionResult SameBits(const Tensor& got, const Tensor& want);

}  // namespace sardonyx::testing
