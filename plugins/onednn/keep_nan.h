// plugins/onednn/keep_nan.h - NaN. Some functions of oneDNN 2.6 take the other operand where an element is NaN. A run
// whose inputs hold one gets a plan without these functions.
#pragma once

#include <span>

#include "builder.h"
#include "operators.h"
#include "window.h"

namespace sardonyx_onednn {

// Whether a plan of the graph may lose a NaN that an input brings.
bool LosesNan(const Graph& graph);
// Whether NaN may arise from finite inputs: of roots, divisions and powers, or because it stands in a constant.
bool MakesNan(const Graph& graph);

bool AllFinite(std::span<const float> numbers);

// Whether oneDNN's function makes a number of NaN.
bool TakesLimitForNan(const Eltwise& function);
// The same function, for row-major tensors.
void RunClamp(Builder& builder, const Tensor& from, const Tensor& to, const Eltwise& function);
// The largest element of each window, or its NaN; of row-major tensors.
void RunMaxPool(Builder& builder, const Tensor& from, const Tensor& to, const Window& window);

}  // namespace sardonyx_onednn
