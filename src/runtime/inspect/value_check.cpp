// runtime/inspect/value_check.cpp - looks at the inputs and outputs of each step.
#include "runtime/inspect/value_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/inspect/body_path.h"

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
  const std::int64_t row = tensor.pitch != 0 ? tensor.shape[tensor.rank() - 1] : tensor.count;
  for (std::int64_t i = 0; i < tensor.count; ++i) {
    const T& x = tensor.As<T>()[tensor.pitch != 0 ? i / row * tensor.pitch + i % row : i];
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

// What a type without numbers for its elements, or memory of a device, tells.
bool Summed(const ops::Slot& slot, bool here, Sums& sums) {
  return here && slot.ref.present() && (slot.ref.data != nullptr || slot.ref.count == 0) && AddTensor(slot.ref, sums);
}

void Describe(const ops::Slot& slot, ValueStatistics& value) {
  if (!slot.ref.present()) {
    value.type = slot.value.KindName();
    return;
  }
  value.type = Name(slot.ref.dtype);
  value.shape = Shape(slot.ref.shape);
  value.count += slot.ref.count;
}

const planner::Step& StepOf(const ObservedStep& observed) {
  return observed.program.steps()[static_cast<std::size_t>(observed.step)];
}

const Node& NodeOf(const ObservedStep& observed) { return observed.program.graph().node(StepOf(observed).node); }

// What the model's author has written down, such as the minus infinity of a mask.
bool IsWritten(const Node& node) {
  return node.domain.empty() && (node.op_type == "Constant" || node.op_type == "ConstantOfShape");
}

}  // namespace

// What is remembered between steps.
struct ValueCheck::Places {
  struct Place {
    std::size_t index = 0;  // of values_
    ValueStatistics last;   // of the last turn
  };
  struct Body {
    const Program* outer = nullptr;  // null: the model's own program
    int step = 0;                    // there
    std::string path;
    std::int64_t turns_before = 0;  // of earlier runs of the step
  };
  std::map<std::pair<const Program*, ValueId>, Place> made;
  std::map<const Program*, Body> bodies;
  std::map<std::pair<const Program*, int>, std::int64_t> told;  // how often of each step

  void Find(const Program& program, const Body& place) {
    bodies[&program] = place;
    for (std::size_t s = 0; s < program.steps().size(); ++s)
      for (std::size_t b = 0; b < program.kernels()[s].bodies.size(); ++b)
        Find(*program.kernels()[s].bodies[b], {&program, static_cast<int>(s), BodyPath(program, place.path, s, b), 0});
  }

  // Where the step that is being told of is: the turns of its bodies.
  std::vector<BodyTurn> Turns(const Program* program, int step) {
    std::vector<BodyTurn> turns;
    for (const Body* body = &bodies[program]; body->outer != nullptr; body = &bodies[program]) {
      turns.insert(turns.begin(), {body->path, told[{program, step}] - body->turns_before});
      step = body->step;
      program = body->outer;
    }
    return turns;
  }

  void CountTurn(const ObservedStep& observed) {
    ++told[{&observed.program, observed.step}];
    for (const auto& body : observed.program.kernels()[observed.step].bodies)
      bodies[body.get()].turns_before = told[{body.get(), 0}];
  }

  // What steps made is remembered, for the step may have written over it; everything else is as it was.
  ValueStatistics Input(const ObservedStep& observed, std::size_t i) const {
    const ValueId id = NodeOf(observed).inputs[i];
    if (const auto entry = made.find({&observed.program, id}); entry != made.end()) return entry->second.last;
    ValueStatistics value;
    value.value = observed.program.graph().value(id).name;
    value.turns = 1;
    const int slot = StepOf(observed).inputs[i];
    Sums sums;
    Describe(*observed.inputs[i], value);
    value.readable =
        Summed(*observed.inputs[i], observed.program.slots()[static_cast<std::size_t>(slot)].memory == 0, sums);
    Merge(sums, value);
    return value;
  }
};

ValueCheck::ValueCheck(const Program& main) : places_(std::make_unique<Places>()) { places_->Find(main, {}); }
ValueCheck::~ValueCheck() = default;

void ValueCheck::OnStep(const ObservedStep& observed) {
  for (std::size_t i = 0; i < observed.outputs.size(); ++i)
    if (observed.outputs[i] != nullptr) Look(observed, i);
  places_->CountTurn(observed);
}

void ValueCheck::Look(const ObservedStep& observed, std::size_t output) {
  const Node& node = NodeOf(observed);
  const ops::Slot& slot = *observed.outputs[output];
  const ValueId id = node.outputs[output];
  const auto [entry, fresh] = places_->made.try_emplace({&observed.program, id}, Places::Place{values_.size(), {}});
  ValueStatistics named;
  named.value = observed.program.graph().value(id).name;
  named.node = node.name;
  named.op_type = node.op_type;
  named.graph = places_->bodies[&observed.program].path;
  if (fresh) values_.push_back(named);
  ValueStatistics& value = values_[entry->second.index];
  ValueStatistics& last = entry->second.last = named;
  const int at = StepOf(observed).outputs[output];
  Sums sums;
  const bool readable = Summed(slot, observed.program.slots()[static_cast<std::size_t>(at)].memory == 0, sums);
  for (ValueStatistics* of : {&value, &last}) {
    ++of->turns;
    Describe(slot, *of);
    if (!readable) of->readable = false;
    Merge(sums, *of);
  }
  if (sums.nan_count != 0) Note(observed, value.value, true, first_nan_);
  if (sums.infinity_count != 0) Note(observed, value.value, false, first_infinity_);
}

// Control flow makes nothing: what it gives comes from the nodes of its bodies, or from outside of them.
void ValueCheck::Note(const ObservedStep& observed, const std::string& value, bool nan, FirstMaker& first) {
  if (first.found || !StepOf(observed).bodies.empty() || IsWritten(NodeOf(observed))) return;
  std::vector<ValueStatistics> inputs;
  for (std::size_t i = 0; i < observed.inputs.size(); ++i) {
    if (observed.inputs[i] == nullptr) continue;
    inputs.push_back(places_->Input(observed, i));
    if ((nan ? inputs.back().nan_count : inputs.back().infinity_count) != 0) return;
  }
  const Node& node = NodeOf(observed);
  first = {true, value, node.name, node.op_type, places_->Turns(&observed.program, observed.step), std::move(inputs)};
}

}  // namespace sardonyx::runtime
