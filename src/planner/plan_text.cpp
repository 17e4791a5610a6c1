// planner/plan_text.cpp - writes the lines of a plan.
#include "planner/plan_text.h"

#include <algorithm>
#include <string>

#include "ir/tensor_text.h"

namespace sardonyx::planner {
namespace {

using Place = PlannedSlot::Place;

class Writer {
 public:
  Writer(const Outline& outline, const Plan& plan) : outline_(outline), plan_(plan) {}

  std::string Write() {
    Key();
    if (plan_.stages.empty()) {
      text_ += "steps:\n";
      for (const PlannedStep& step : plan_.steps) Step(step, "  ");
    } else {
      Stages();
    }
    Values();
    Buffers();
    text_ += "outputs:";
    for (std::size_t k = 0; k < plan_.deliveries.size(); ++k)
      text_ += (k == 0 ? " " : ", ") + NameAt(outline_.outputs()[k]) + DeliveryText(plan_.deliveries[k]);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  static std::string DeliveryText(Delivery delivery) {
    switch (delivery) {
      case Delivery::kDirect:
        return " direct";
      case Delivery::kCopy:
        return " copied";
      case Delivery::kLate:
        return " late";
    }
    return "";
  }
  static std::string ShortDataText(const Tensor& tensor) {
    constexpr std::int64_t kMostShown = 16;
    return tensor.count() > kMostShown ? "" : " " + DataText(tensor);
  }
  std::string NameAt(int slot) const {
    return slot == kNoSlot ? "" : outline_.graph().value(outline_.slots()[slot].value).name;
  }
  static std::string TypeText(DType dtype, const Shape& shape) { return Type::TensorOf(dtype, Dims(shape)).ToText(); }
  std::string MemoryText(int memory) const {
    const bool host = outline_.memories()[memory]->device().IsHost();
    return host ? "host" : "device " + std::to_string(memory);
  }
  std::string OffsetText(int memory, std::size_t offset) const {
    return MemoryText(memory) + " + " + std::to_string(offset);
  }

  void Key() {
    text_ += "plan of " + outline_.graph().name + "(";
    for (std::size_t i = 0; i < outline_.inputs().size(); ++i) {
      const int slot = outline_.inputs()[i];
      const SlotInfo& info = outline_.slots()[slot];
      const DType dtype = plan_.slots[slot].dtype != DType::kUndefined ? plan_.slots[slot].dtype : info.type->dtype;
      const auto& shape = plan_.input_shapes[i];
      text_ += (i == 0 ? "" : ", ") + (shape ? TypeText(dtype, *shape) : info.type->ToText()) + " " + NameAt(slot);
      for (const auto& [input, bytes] : plan_.contents)
        if (input == static_cast<int>(i)) text_ += " " + DataText(plan_.slots[slot].known);
    }
    text_ += ")\n";
  }

  void Step(const PlannedStep& planned, const std::string& indent) {
    const planner::Step& step = outline_.steps()[planned.step];
    const Node& node = outline_.graph().node(step.node);
    text_ += indent + std::to_string(planned.step) + "  " + Names(step.outputs) + " = " +
             (node.domain.empty() ? "" : node.domain + ".") + node.op_type + "(" + Names(step.inputs) + ")";
    if (planned.late) text_ += "  late";
    if (planned.branch >= 0) text_ += "  branch " + step.bodies[planned.branch]->graph().name;
    text_ += '\n';
  }

  std::string Names(const std::vector<int>& slots) const {
    std::string names;
    for (std::size_t i = 0; i < slots.size(); ++i) names += (i == 0 ? "" : ", ") + NameAt(slots[i]);
    return names;
  }

  void Stages() {
    text_ += "stages:\n";
    for (const std::vector<StepRange>& stage : plan_.stages) {
      for (std::size_t task = 0; task < stage.size(); ++task) {
        if (stage.size() > 1)
          text_ += "  at once, " + std::to_string(task + 1) + " of " + std::to_string(stage.size()) + ":\n";
        for (int at = stage[task].begin; at < stage[task].end; ++at)
          Step(plan_.steps[at], stage.size() > 1 ? "    " : "  ");
      }
    }
  }

  void Values() {
    text_ += "values:\n";
    for (std::size_t slot = 0; slot < plan_.slots.size(); ++slot) {
      const PlannedSlot& planned = plan_.slots[slot];
      text_ += "  " + NameAt(static_cast<int>(slot));
      if (planned.dtype != DType::kUndefined) text_ += "  " + TypeText(planned.dtype, planned.shape);
      text_ += "  ";
      text_ += NameOf(planned.place);
      if (planned.place == Place::kArena) text_ += " " + OffsetText(planned.memory, planned.offset);
      if (planned.place == Place::kInput) text_ += " " + NameAt(outline_.inputs()[planned.source]);
      if (planned.place == Place::kOutput) text_ += " " + NameAt(outline_.outputs()[planned.source]);
      if (planned.place == Place::kConstant && planned.source >= 0) text_ += " " + NameAt(planned.source);
      if (planned.pitch != 0) text_ += ", rows " + std::to_string(planned.pitch) + " apart";
      if (planned.promised) text_ += ", promised " + ToText(planned.shape);
      if (planned.known.defined()) text_ += ", known" + ShortDataText(planned.known);
      text_ += '\n';
    }
  }

  void Buffers() {
    text_ += plan_.buffers.empty() ? "" : "buffers:\n";
    for (const PlannedBuffer& buffer : plan_.buffers) {
      text_ += "  " + OffsetText(buffer.memory, buffer.offset) + ", " + std::to_string(buffer.bytes) +
               " bytes, steps " + std::to_string(buffer.first) + " to " + std::to_string(buffer.last) + ": " +
               Names(SlotsIn(outline_, plan_, buffer)) + "\n";
    }
    text_ += "arenas:";
    for (std::size_t memory = 0; memory < plan_.arena_bytes.size(); ++memory)
      text_ += (memory == 0 ? " " : ", ") + MemoryText(static_cast<int>(memory)) + " " +
               std::to_string(plan_.arena_bytes[memory]) + " bytes";
    text_ += '\n';
  }

  const Outline& outline_;
  const Plan& plan_;
  std::string text_;
};

}  // namespace

std::string_view NameOf(Place place) {
  switch (place) {
    case Place::kNone:
      return "none";
    case Place::kConstant:
      return "constant";
    case Place::kInput:
      return "input";
    case Place::kArena:
      return "arena";
    case Place::kOutput:
      return "output";
    case Place::kLate:
      return "late";
  }
  return "";
}

std::vector<int> SlotsIn(const Outline& outline, const Plan& plan, const PlannedBuffer& buffer) {
  std::vector<int> slots;
  for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
    const PlannedSlot& planned = plan.slots[slot];
    const int producer = outline.slots()[slot].producer;
    if (planned.place == Place::kArena && planned.memory == buffer.memory && planned.offset == buffer.offset &&
        buffer.first <= producer && producer <= buffer.last)
      slots.push_back(static_cast<int>(slot));
  }
  return slots;
}

std::string PlanText(const Outline& outline, const Plan& plan) { return Writer(outline, plan).Write(); }

}  // namespace sardonyx::planner
