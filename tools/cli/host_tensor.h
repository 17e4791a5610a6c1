// tools/cli/host_tensor.h - a tensor that the command line tool reads, fills, describes and writes.
//
// To add an element type, add its row to kElementTypes (host_tensor.cpp).
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

// What a small floating-point type does with its highest exponent.
enum class Specials : std::uint8_t { kIeee, kNanOnly, kNegativeZeroIsNan, kNone, kExponentOnly };

struct ElementType {
  ONNXTensorElementDataType type;
  std::string_view name;  // ONNX's name in lower case
  std::string_view npy;   // NumPy's descr; "" for types that NumPy lacks, which are written as unsigned integers
  int onnx;               // TensorProto.DataType
  int bits;
  Layout layout;
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  Specials specials = Specials::kIeee;
};

// The row of `type`. Throws a Failure with ORT_NOT_IMPLEMENTED if it has none.
const ElementType& FindElementType(ONNXTensorElementDataType type);
// nullptr if there is none.
const ElementType* FindOnnxType(std::int64_t onnx);
const ElementType* FindNpyType(std::string_view descr);

struct HostTensor {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;       // row-major; types of less than 8 bits are packed, lowest bits first
  std::vector<std::string> strings;  // the elements of a string tensor, which has no data
};

// The product of the dimensions. Throws a Failure for a negative dimension and if the product overflows.
std::size_t ElementCount(std::span<const std::int64_t> shape);
// The number of bytes of `count` elements, rounded up. Throws a Failure if it overflows.
std::size_t DataSize(const ElementType& type, std::size_t count);

// Element `index` as a number; for complex types, the magnitude. Not for strings.
double ElementValue(const ElementType& type, std::span<const std::byte> data, std::size_t index);
// Stores the nearest value that `type` can hold; integers saturate, complex numbers become real. Not for strings.
void SetElement(const ElementType& type, std::span<std::byte> data, std::size_t index, double value);

// "2x3x4", or "scalar" for rank 0.
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_HOST_TENSOR_H
