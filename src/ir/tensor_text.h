// ir/tensor_text.h - the elements of a tensor in ONNX's text syntax.
#pragma once

#include <string>

#include "tensor/value.h"

namespace sardonyx {

// "{1, 2, 3}", as it follows an initializer's type (ir/text.h).
std::string DataText(const Tensor& tensor);

}  // namespace sardonyx
