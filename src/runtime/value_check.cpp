// runtime/value_check.cpp - looks at what each step has read and written.
#include "runtime/value_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/program.h"

namespace sardonyx::runtime {
namespace {

// The sums of one tensor.
struct Sums {
  std::int64_t nan_count = 0, infinity_count = 0, finite_count = 0;
  double lowest = 0, highest = 0, sum = 0, squares = 0;

  void Add(double x) {
    if (std::isnan(x)) {
      ++nan_count;
    } else if (std::isinf(x)) {
      ++infinity_count;
    } else {
      lowest = finite_count != 0 ? std::min(lowest, x) : x;
      highest = finite_count != 0 ? std::max(highest, x) : x;
      sum += x;
      squares += x * x;
      ++finite_count;
    }
  }
};

template <typename T>
void AddAll(const ops::TensorRef& tensor, Sums& sums) {
  for (const T& x : tensor.Span<T>()) {
    if constexpr (std::is_arithmetic_v<T>) {
      sums.Add(static_cast<double>(x));
    } else {
      sums.Add(static_cast<double>(static_cast<float>(x)));
    }
  }
}

// False for types without a number for each element.
bool AddTensor(const ops::TensorRef& tensor, Sums& sums) {
  switch (tensor.dtype) {
#define SDX_CASE(kind, type)    \
  case DType::kind:             \
    AddAll<type>(tensor, sums); \
    return true;
    SDX_CASE(kFloat, float)
    SDX_CASE(kDouble, double)
    SDX_CASE(kFloat16, Half)
    SDX_CASE(kBFloat16, BFloat16)
    SDX_CASE(kFloat8E4M3FN, Float8E4M3FN)
    SDX_CASE(kFloat8E4M3FNUZ, Float8E4M3FNUZ)
    SDX_CASE(kFloat8E5M2, Float8E5M2)
    SDX_CASE(kFloat8E5M2FNUZ, Float8E5M2FNUZ)
    SDX_CASE(kFloat8E8M0, Float8E8M0)
    SDX_CASE(kInt8, std::int8_t)
    SDX_CASE(kInt16, std::int16_t)
    SDX_CASE(kInt32, std::int32_t)
    SDX_CASE(kInt64, std::int64_t)
    SDX_CASE(kUInt8, std::uint8_t)
    SDX_CASE(kUInt16, std::uint16_t)
    SDX_CASE(kUInt32, std::uint32_t)
    SDX_CASE(kUInt64, std::uint64_t)
    SDX_CASE(kBool, bool)
#undef SDX_CASE
    default:
      return false;
  }
}

void Merge(const Sums& sums, ValueStatistics& into) {
  const double before = static_cast<double>(into.finite_count), now = static_cast<double>(sums.finite_count);
  into.nan_count += sums.nan_count;
  into.infinity_count += sums.infinity_count;
  if (sums.finite_count == 0) return;
  const double mean = sums.sum / now, variance = std::max(0.0, sums.squares / now - mean * mean);
  into.lowest = into.finite_count != 0 ? std::min(into.lowest, sums.lowest) : sums.lowest;
  into.highest = into.finite_count != 0 ? std::max(into.highest, sums.highest) : sums.highest;
  const double all = before + now, difference = mean - into.mean;
  const double squares =
      before * into.deviation * into.deviation + now * variance + difference * difference * before * now / all;
  into.mean += difference * now / all;
  into.deviation = std::sqrt(squares / all);
  into.finite_count += sums.finite_count;
}

}  // namespace

struct ValueCheck::Places {
  struct Place {
    std::size_t index = 0;                       // of values_
    bool has_nan = false, has_infinity = false;  // in this turn
  };
  std::map<std::pair<const Program*, ValueId>, Place> made;

  // Whether a NaN, or an infinity, is among what the step read. What steps made is remembered, for the step may have
  // written over it; everything else is as it was.
  bool IsRead(const ObservedStep& observed, const Node& node, bool nan) const {
    const Step& step = observed.program.steps()[static_cast<std::size_t>(observed.step)];
    for (std::size_t i = 0; i < observed.inputs.size(); ++i) {
      const ops::Slot* slot = observed.inputs[i];
      if (slot == nullptr) continue;
      if (const auto entry = made.find({&observed.program, node.inputs[i]}); entry != made.end()) {
        if (nan ? entry->second.has_nan : entry->second.has_infinity) return true;
        continue;
      }
      const bool here = observed.program.slots()[static_cast<std::size_t>(step.inputs[i])].memory == 0;
      if (!here || !slot->ref.present() || slot->ref.data == nullptr) continue;
      Sums sums;
      AddTensor(slot->ref, sums);
      if ((nan ? sums.nan_count : sums.infinity_count) != 0) return true;
    }
    return false;
  }
};

ValueCheck::ValueCheck(const Program& main) : main_(main), places_(std::make_unique<Places>()) {}
ValueCheck::~ValueCheck() = default;

void ValueCheck::OnStep(const ObservedStep& observed) {
  const Step& step = observed.program.steps()[static_cast<std::size_t>(observed.step)];
  const Graph& graph = observed.program.graph();
  const Node& node = graph.node(step.node);
  for (std::size_t i = 0; i < observed.outputs.size(); ++i) {
    const ops::Slot* slot = observed.outputs[i];
    if (slot == nullptr) continue;
    const auto [entry, fresh] =
        places_->made.try_emplace({&observed.program, node.outputs[i]}, Places::Place{values_.size()});
    if (fresh) {
      ValueStatistics made;
      made.value = graph.value(node.outputs[i]).name;
      made.node = node.name;
      made.op_type = node.op_type;
      if (&observed.program != &main_) made.graph = graph.name;
      values_.push_back(std::move(made));
    }
    ValueStatistics& value = values_[entry->second.index];
    ++value.turns;
    if (!slot->ref.present()) {
      value.type = slot->value.KindName();
      value.readable = false;
      continue;
    }
    value.type = Name(slot->ref.dtype);
    value.shape = Shape(slot->ref.shape);
    value.count += slot->ref.count;
    const bool here = observed.program.slots()[static_cast<std::size_t>(step.outputs[i])].memory == 0;
    Sums sums;
    if (!here || (slot->ref.data == nullptr && slot->ref.count != 0) || !AddTensor(slot->ref, sums)) {
      value.readable = false;
      continue;
    }
    Merge(sums, value);
    entry->second.has_nan = sums.nan_count != 0;
    entry->second.has_infinity = sums.infinity_count != 0;
    const auto note = [&](FirstMaker& first, bool nan) {
      if (first.found || places_->IsRead(observed, node, nan)) return;
      first = {true, value.value, node.name, node.op_type, value.graph, value.turns - 1};
    };
    if (sums.nan_count != 0) note(first_nan_, true);
    if (sums.infinity_count != 0) note(first_infinity_, false);
  }
}

}  // namespace sardonyx::runtime
