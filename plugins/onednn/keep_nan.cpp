// plugins/onednn/keep_nan.cpp - comparisons that a NaN passes.
#include "keep_nan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace sardonyx_onednn {
namespace {

// Sizes of three spatial axes, with ones in front.
std::array<std::int64_t, 3> Three(std::span<const std::int64_t> sizes, std::int64_t missing) {
  std::array<std::int64_t, 3> three{missing, missing, missing};
  std::copy(sizes.begin(), sizes.end(), three.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  return three;
}

struct Axes {
  std::array<std::int64_t, 3> from, to, kernel, strides, dilations, begin;
};

// One element of the result, at `at` of one image.
float Largest(const float* image, const Axes& axes, const std::array<std::int64_t, 3>& at) {
  float best = -std::numeric_limits<float>::infinity();
  std::array<std::int64_t, 3> k{};
  for (k[0] = 0; k[0] < axes.kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < axes.kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < axes.kernel[2]; ++k[2]) {
        std::int64_t place = 0;
        bool inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          const std::int64_t i = at[d] * axes.strides[d] - axes.begin[d] + k[d] * axes.dilations[d];
          inside = inside && i >= 0 && i < axes.from[d];
          place = place * axes.from[d] + i;
        }
        if (!inside) continue;
        const float element = image[place];
        if (std::isnan(element) || element > best) best = element;
        if (std::isnan(best)) return best;
      }
    }
  }
  return best;
}

bool HasZero(const Graph& graph, int value) {
  const Constant* constant = graph.ConstantOf(value);
  if (constant == nullptr) return true;  // it may have one
  const std::vector<double> numbers = constant->Numbers();
  return std::any_of(numbers.begin(), numbers.end(), [](double number) { return number == 0; });
}

// A power that is a number for every finite base.
bool IsWholePower(const Graph& graph, const Node& node) {
  const Constant* exponent = graph.ConstantOf(node.Input(1));
  if (exponent == nullptr) return false;
  const std::vector<double> numbers = exponent->Numbers();
  return std::all_of(numbers.begin(), numbers.end(),
                     [](double number) { return number >= 0 && number == std::floor(number); });
}

}  // namespace

bool LosesNan(const Graph& graph) {
  constexpr std::string_view kLosing[] = {"Relu", "Clip", "HardSigmoid", "MaxPool", "GlobalMaxPool"};
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::find(std::begin(kLosing), std::end(kLosing), node.op_type) != std::end(kLosing);
  });
}

bool MakesNan(const Graph& graph) {
  const bool by_node = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.op_type == "Sqrt" || node.op_type == "Reciprocal") return true;
    if (node.op_type == "Div") return HasZero(graph, node.Input(1));
    return node.op_type == "Pow" && !IsWholePower(graph, node);
  });
  return by_node || std::any_of(graph.values.begin(), graph.values.end(), [](const Value& value) {
           if (!value.constant || value.constant->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return false;
           const std::span<const std::byte> bytes = value.constant->bytes;
           return !AllFinite({reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
         });
}

// Of a number that is none, or infinite, all bits of the exponent are set.
bool AllFinite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t found = 0;
  for (const float& number : numbers) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    found |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return found == 0;
}

bool TakesLimitForNan(const Eltwise& function) {
  return function.algorithm == dnnl::algorithm::eltwise_clip_v2 ||
         (function.algorithm == dnnl::algorithm::eltwise_relu && function.alpha == 0);
}

void RunClamp(Builder& builder, const Tensor& from, const Tensor& to, const Eltwise& function) {
  const bool relu = function.algorithm == dnnl::algorithm::eltwise_relu;
  const float low = relu ? 0 : function.alpha, high = relu ? std::numeric_limits<float>::infinity() : function.beta;
  builder.Native(
      [count = CountOf(from.dims), low, high](std::span<void* const> places) {
        const auto* source = static_cast<const float*>(places[0]);
        auto* target = static_cast<float*>(places[1]);
        for (std::int64_t i = 0; i < count; ++i) {
          const float raised = source[i] < low ? low : source[i];
          target[i] = raised > high ? high : raised;
        }
      },
      {from, to});
}

void RunMaxPool(Builder& builder, const Tensor& from, const Tensor& to, const Window& window) {
  const std::span<const std::int64_t> input(from.dims), output(to.dims);
  const Axes axes{.from = Three(input.subspan(2), 1),
                  .to = Three(output.subspan(2), 1),
                  .kernel = Three(window.kernel, 1),
                  .strides = Three(window.strides, 1),
                  .dilations = Three(window.dilations, 1),
                  .begin = Three(window.begin, 0)};
  builder.Native(
      [axes, images = input[0] * input[1]](std::span<void* const> places) {
        const auto* image = static_cast<const float*>(places[0]);
        auto* target = static_cast<float*>(places[1]);
        std::array<std::int64_t, 3> at{};
        for (std::int64_t i = 0; i < images; ++i) {
          for (at[0] = 0; at[0] < axes.to[0]; ++at[0])
            for (at[1] = 0; at[1] < axes.to[1]; ++at[1])
              for (at[2] = 0; at[2] < axes.to[2]; ++at[2]) *target++ = Largest(image, axes, at);
          image += axes.from[0] * axes.from[1] * axes.from[2];
        }
      },
      {from, to});
}

}  // namespace sardonyx_onednn
