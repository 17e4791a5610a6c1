// optimizer/quantization/quantization.h - reads QuantizeLinear and DequantizeLinear nodes: which integers stand for a
// float value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {

// float = (element - zero) * scale, with constant scale and zero point: those of the whole tensor, or one for each
// index of an axis.
struct Quantization {
  DType dtype = DType::kUndefined;  // of the elements
  ValueId scale = kNoValue;         // float constant, all elements above 0 and finite
  ValueId zero = kNoValue;          // constant of `dtype`; kNoValue: 0
  std::optional<std::size_t> axis;  // nullopt: the whole tensor
  double scale_value = 0;           // where the whole tensor has one
  std::int64_t zero_value = 0;

  bool Is8Bit() const { return dtype == DType::kInt8 || dtype == DType::kUInt8; }
  bool IsSigned() const { return dtype == DType::kInt8 || dtype == DType::kInt16; }
  bool Is16Bit() const { return dtype == DType::kInt16 || dtype == DType::kUInt16; }
  bool IsPerTensor8() const { return !axis && Is8Bit(); }
  bool IsPerTensor() const { return !axis && (Is8Bit() || Is16Bit()); }
  double Span() const { return Is8Bit() ? 255.0 : 65535.0; }  // from the lowest integer to the highest
  double Low() const { return (IsSigned() ? -(Span() + 1) / 2 : 0.0) - static_cast<double>(zero_value); }
  double LowestValue() const { return Low() * scale_value; }              // of IsPerTensor() ones
  double HighestValue() const { return (Low() + Span()) * scale_value; }  // likewise
  bool SameAs(const Quantization& other) const {
    return !axis && !other.axis && dtype == other.dtype && scale_value == other.scale_value &&
           zero_value == other.zero_value;
  }
};

struct QuantizedValue : Quantization {
  ValueId data = kNoValue;  // the integers
  NodeId node = kNoNode;    // the DequantizeLinear (or QuantizeLinear) node
};

// The integers of 8, 16 or 32 bits that the float `value` stands for, if a DequantizeLinear makes it; nullopt for
// blocks, for parameters that are no constants and for other float types.
std::optional<QuantizedValue> DequantizedFrom(const Graph& graph, ValueId value);
// Likewise for 8 bits of the whole tensor whose scale or zero point is known only while the model runs, as behind
// DynamicQuantizeLinear: scale_value and zero_value stay 0, and `scale` and `zero` have one element each.
std::optional<QuantizedValue> DequantizedWhileRunning(const Graph& graph, ValueId value);
// What a QuantizeLinear of floats makes, of 8 or 16 bits: data is its output.
std::optional<QuantizedValue> QuantizedBy(const Graph& graph, NodeId node);
// The QuantizeLinear that alone reads `value`, which is no output of the graph.
std::optional<QuantizedValue> SoleQuantization(const Graph& graph, ValueId value);

// Operators of ONNX's domain that move elements of input 0 and make no new ones: Reshape, Transpose, Gather ...
bool MovesElements(const ops::Registry& registry, const Node& node);
bool IsQuantize(const Node& node);
bool IsDequantize(const Node& node);

// Constant weights [k, n] of 4 or 8 bits, quantized in blocks along k with constant parameters [blocks, n], that a
// DequantizeLinear makes floats of for one MatMul alone.
struct BlockWeight {
  NodeId node = kNoNode;
  ValueId data = kNoValue, scale = kNoValue, zero = kNoValue;  // zero: kNoValue if there is none
  std::int64_t k = 0, n = 0, block = 0;
  int bits = 4;
  bool is_signed = false;
  std::int64_t blocks() const { return (k + block - 1) / block; }
};
std::optional<BlockWeight> BlockWeightFrom(const Graph& graph, ValueId value);

// True if a constant's DequantizeLinear should stay as it is until the passes that make integer operators have run: one
// of them may want the integers. `value` is what it makes.
bool MayFeedIntegers(const Graph& graph, const ops::Registry& registry, ValueId value);

// Zero point and scale as inputs: a constant 0 where there is no zero point.
ValueId ZeroOrConstant(Graph& graph, const Quantization& q);
// The scales as double: one, or one for each index of the axis.
std::vector<double> ScalesOf(const Graph& graph, const Quantization& q);
// What a constant of floats has, or what a DequantizeLinear makes of a constant; nullopt for other values.
std::optional<std::vector<double>> ConstantElements(const Graph& graph, ValueId value);
// True if every zero point is 0.
bool HasOnlyZeroZeros(const Graph& graph, const Quantization& q);

}  // namespace sardonyx::optimizer
