// optimizer/shapes/value_range.cpp - derives bounds for the elements of a value from the graph.
#include "optimizer/shapes/value_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>

#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOrdinary = 1e30;
constexpr int kMaxDepth = 16;
constexpr std::int64_t kMaxScan = std::int64_t{1} << 24;  // elements of a constant that is looked through

ValueRange Join(ValueRange a, ValueRange b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// The largest finite number of a floating type.
double LargestOf(DType dtype) {
  if (dtype == DType::kFloat16) return 65504;
  if (dtype == DType::kDouble) return std::numeric_limits<double>::max();
  return dtype == DType::kBFloat16 ? 3.3895313892515355e38 : std::numeric_limits<float>::max();
}

// What has no bounds by its contents.
ValueRange RangeOfType(DType dtype, double of_floats) {
  ValueRange range{-of_floats, of_floats};
  if (dtype == DType::kBool) return {0, 1};
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(dtype, [&]<typename T>() {
    range = {static_cast<double>(std::numeric_limits<T>::lowest()), static_cast<double>(std::numeric_limits<T>::max())};
  });
  return range;
}

// Beyond the type's numbers lie its infinities.
ValueRange Rounded(ValueRange range, DType dtype) {
  if (!IsFloating(dtype)) return range;
  const double largest = LargestOf(dtype);
  if (range.low < -largest) range.low = -kInfinity;
  if (range.high > largest) range.high = kInfinity;
  return range;
}

ValueRange RangeOfConstant(const Tensor& t) {
  if (t.count() == 0) return {};
  ValueRange range = RangeOfType(t.dtype(), kInfinity);
  VisitDType<float, double, Half, BFloat16, bool, std::int32_t, std::int64_t>(t.dtype(), [&]<typename T>() {
    const auto number = [](T x) {
      if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(x);
      } else {
        return static_cast<double>(static_cast<float>(x));
      }
    };
    range = {kInfinity, -kInfinity};
    for (const T x : t.span<T>()) range = Join(range, {number(x), number(x)});
  });
  return range;
}

// The four corners of a bilinear function; 0 times infinity counts as 0, since one of them is the end of a range.
template <typename F>
ValueRange Corners(ValueRange a, ValueRange b, F&& f) {
  ValueRange range{kInfinity, -kInfinity};
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      const double z = f(x, y);
      range = Join(range, std::isnan(z) ? ValueRange{0, 0} : ValueRange{z, z});
    }
  }
  return range;
}

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), node.op_type) != names.end();
}
constexpr std::array<std::string_view, 9> kMovesInput0 = {"Identity", "Expand", "Slice",     "Gather",   "Split",
                                                          "Tile",     "Trilu",  "ReduceMax", "ReduceMin"};

class RangeFinder {
 public:
  explicit RangeFinder(const Graph& graph) : graph_(graph) {}

  ValueRange Find(ValueId value, int depth) {
    const auto [at, fresh] = known_.try_emplace(value);
    if (!fresh) return at->second;
    const ValueRange found = Compute(value, depth);
    return known_[value] = found;
  }

 private:
  ValueRange Compute(ValueId value, int depth) {
    const ValueInfo& info = graph_.value(value);
    if (const Tensor* constant = info.constant()) {
      const bool is_large = constant->count() > kMaxScan;
      return is_large ? RangeOfType(info.type.dtype, kInfinity) : RangeOfConstant(*constant);
    }
    if (info.producer == kNoNode) return RangeOfType(info.type.dtype, kInfinity);
    const Node& node = graph_.node(info.producer);
    if (!node.domain.empty() || depth > kMaxDepth) return RangeOfType(info.type.dtype, kOrdinary);
    const auto input = [&](std::size_t i) { return Find(node.inputs[i], depth + 1); };
    if (IsViewNode(node) || IsOneOf(node, kMovesInput0)) {
      const ValueRange range = input(0);
      return node.op_type == "Trilu" ? Join(range, {0, 0}) : range;
    }
    if (node.op_type == "Cast") return Rounded(input(0), info.type.dtype);
    if (node.op_type == "Where") return Join(input(1), input(2));
    if (node.op_type == "Add") return Rounded(Corners(input(0), input(1), std::plus<>()), info.type.dtype);
    if (node.op_type == "Sub") return Rounded(Corners(input(0), input(1), std::minus<>()), info.type.dtype);
    if (node.op_type == "Mul") return Rounded(Corners(input(0), input(1), std::multiplies<>()), info.type.dtype);
    if (node.op_type == "Log") return {-kInfinity, 1000};
    if (node.op_type == "Neg") {
      const ValueRange range = input(0);
      return {-range.high, -range.low};
    }
    if (node.op_type == "Concat" || node.op_type == "Min" || node.op_type == "Max") {
      ValueRange range = input(0);
      for (std::size_t i = 1; i < node.inputs.size(); ++i) range = Join(range, input(i));
      return range;
    }
    return RangeOfType(info.type.dtype, kOrdinary);
  }

  const Graph& graph_;
  std::unordered_map<ValueId, ValueRange> known_;
};

}  // namespace

ValueRange RangeOf(const Graph& graph, ValueId value) { return RangeFinder(graph).Find(value, 0); }

}  // namespace sardonyx::optimizer
