// tools/cli/host_tensor.h - a tensor as the command line reads, fills, describes and writes it.
//
// To add an element type: its row in kElementTypes (host_tensor.cpp).
#ifndef SARDONYX_TOOLS_CLI_HOST_TENSOR_H
#define SARDONYX_TOOLS_CLI_HOST_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxruntime_c_api.h"

namespace sardonyx::cli {

enum class Layout : std::uint8_t { kSigned, kUnsigned, kFloat, kBool, kComplex, kString };

// How a small or unusual floating-point type treats its highest exponents.
enum class Specials : std::uint8_t { kIeee, kNanOnly, kNegativeZeroIsNan, kNone, kExponentOnly };

struct ElementType {
  ONNXTensorElementDataType type;
  std::string_view name;  // as ONNX writes it in lower case
  std::string_view npy;   // NumPy's descr; "" for types that NumPy lacks: written as unsigned bytes
  int onnx;               // TensorProto.DataType
  int bits;
  Layout layout;
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  Specials specials = Specials::kIeee;
};

// The row of `type`. Throws Failure with ORT_NOT_IMPLEMENTED for a type without one.
const ElementType& FindElementType(ONNXTensorElementDataType type);
// nullptr when there is none.
const ElementType* FindOnnxType(std::int64_t onnx);
const ElementType* FindNpyType(std::string_view descr);

struct HostTensor {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;       // row-major; types under 8 bits packed, lowest bits first
  std::vector<std::string> strings;  // of a string tensor instead of data
};

// Product of the dimensions. Throws Failure on a negative dimension or an overflow.
std::size_t ElementCount(std::span<const std::int64_t> shape);
// Bytes of `count` elements, the last byte padded. Throws Failure on overflow.
std::size_t DataSize(const ElementType& type, std::size_t count);

// Element `index` as a number; of complex types the magnitude. Not for strings.
double ElementValue(const ElementType& type, std::span<const std::byte> data, std::size_t index);
// Stores the nearest value that `type` holds; integers saturate. Not for strings; complex types get a real value.
void SetElement(const ElementType& type, std::span<std::byte> data, std::size_t index, double value);

// "2x3x4"; "scalar" for rank 0.
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_HOST_TENSOR_H
