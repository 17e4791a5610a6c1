// runtime/run_on_streams.cpp - steps whose work a stream takes: who waits for whom, and the end of such a run.
//
// The host waits only for a value that it, or another provider, is about to read; a step of the same stream never waits
// for what lies on the device.
#include <algorithm>

#include "ops/tensor_ref.h"
#include "planner/foreign_steps.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::TensorRef;
using planner::kNoSlot;
using planner::Step;
using Point = RunStreams::Point;

void RunState::PrepareStreams() {
  if (points_.empty()) {
    points_.resize(slots_.size());
    read_elsewhere_.assign(slots_.size(), 0);
    for (const Step& step : program_.steps()) {
      const auto read = [&](int slot) {
        if (slot == kNoSlot) return;
        const int producer = program_.slots()[slot].producer;
        if (producer < 0) return;
        const bool same = program_.steps()[producer].stream == step.stream;
        read_elsewhere_[slot] |= static_cast<char>(!same || program_.slots()[slot].memory == 0);
      };
      for (const int slot : step.inputs) read(slot);
      for (const auto& captures : step.captures)
        for (const int slot : captures) read(slot);
    }
  }
  std::fill(points_.begin(), points_.end(), Point());
  if (is_body_) return;
  if (own_streams_ == nullptr) own_streams_ = std::make_unique<RunStreams>(program_.providers());
  streams_ = own_streams_.get();
  streams_->Begin(options_ != nullptr ? options_->stream : nullptr);
}

// On a device, memory is used again in the order of the stream: unless it is allocated anew in each run.
bool RunState::WaitsForLastRun() const {
  return std::any_of(plan_->steps.begin(), plan_->steps.end(), [&](const planner::PlannedStep& planned) {
    const Step& step = program_.steps()[planned.step];
    const auto changes = [&](int slot) {
      return slot != kNoSlot &&
             (program_.slots()[slot].memory == 0 || plan_->slots[slot].place == planner::PlannedSlot::Place::kLate);
    };
    const bool across = step.op == &planner::DeviceCopy() && program_.slots()[step.inputs[0]].memory != 0 &&
                        program_.slots()[step.outputs[0]].memory != 0;  // two streams have an order in this run alone
    return !step.bodies.empty() || across ||
           (step.stream >= 0 && (std::any_of(step.inputs.begin(), step.inputs.end(), changes) ||
                                 std::any_of(step.outputs.begin(), step.outputs.end(), changes)));
  });
}

// Copies of inputs, which touch no memory of the run state, have waited before they were given.
void RunState::WaitForLastRun() {
  if (own_streams_ != nullptr && before_.empty()) own_streams_->Flush();
}

// A view has the point of what it views: its own step may have had nothing to do.
Point RunState::PointOf(int slot) const {
  while (points_[slot].provider < 0) {
    const int producer = program_.slots()[slot].producer;
    if (producer < 0) return {};
    const Step& step = program_.steps()[producer];
    if ((step.op->traits & ops::kView) == 0 || step.inputs.empty() || step.inputs[0] == kNoSlot) return {};
    slot = step.inputs[0];
  }
  return points_[slot];
}

void RunState::WaitForInputs(const planner::PlannedStep& planned) {
  if (points_.empty()) return;
  const Step& step = program_.steps()[planned.step];
  // What a late step reads on the host it may read while its shapes are inferred.
  const bool copies = step.op == &planner::DeviceCopy() && !planned.late;
  for (const int slot : step.inputs) {
    if (slot == kNoSlot) continue;
    const Point point = PointOf(slot);
    const bool on_host = program_.slots()[slot].memory == 0;
    if (point.provider < 0 || (point.provider == step.stream && (!on_host || copies))) continue;
    if (step.stream < 0 || (on_host && !copies)) {
      streams_->WaitOnHost(point);
    } else {
      streams_->WaitOnDevice(point, step.stream);
    }
  }
  for (const auto& captures : step.captures) {
    for (const int slot : captures)  // on a device, only steps of the same stream read them
      if (const Point point = PointOf(slot); point.provider >= 0 && program_.slots()[slot].memory == 0)
        streams_->WaitOnHost(point);
  }
}

void RunState::MarkOutputs(const Step& step) {
  if (step.stream < 0) return;
  const bool elsewhere = std::any_of(step.outputs.begin(), step.outputs.end(),
                                     [&](int slot) { return slot != kNoSlot && read_elsewhere_[slot] != 0; });
  if (!elsewhere) return;
  const Point point = streams_->Mark(step.stream);
  for (const int slot : step.outputs)
    if (slot != kNoSlot) points_[slot] = point;
}

// The provider whose stream takes the copy: the target's before the source's. -1: none does.
int RunState::StreamFor(const BorderCopy& copy) const {
  if (streams_ == nullptr) return -1;
  const auto& providers = program_.providers()->providers;
  for (const Device& device : {copy.to, copy.from})
    for (std::size_t i = 0; i < providers.size(); ++i)
      if (!device.IsHost() && providers[i]->device() == device && providers[i]->HasStreams())
        return static_cast<int>(i);
  return -1;
}

// Plans read the contents of short inputs on the host. Whoever reads other inputs waits for their copies.
void RunState::CopyInputs() {
  constexpr std::int64_t kMaxPlanned = 1024;  // elements
  if (!before_.empty() && own_streams_ != nullptr) own_streams_->Flush();
  for (BorderCopy& border : before_) {
    const int provider = StreamFor(border);
    border.given = true;
    if (provider < 0) {
      border.copy(nullptr);
      continue;
    }
    border.copy(&streams_->Give(provider));
    const Point point = streams_->Mark(provider);
    if (border.to.IsHost() && facts_[border.port].ref.count <= kMaxPlanned) {
      streams_->WaitOnHost(point);
    } else {
      points_[program_.inputs()[border.port]] = point;
    }
  }
}

void RunState::CopyOutputsAway() {
  for (BorderCopy& border : after_) {
    const int provider = border.from.IsHost() ? -1 : StreamFor(border);
    if (provider < 0) continue;
    border.copy(&streams_->Give(provider));
    border.given = true;
  }
}

// A body runs again, in the same memory, and gives its results to the host. Of a run, what is still to be copied to the
// caller has to be there.
void RunState::EndStreams() {
  if (points_.empty()) return;
  if (is_body_) return streams_->Flush();
  const auto copied = [&](std::size_t k) {
    return program_.slots()[program_.outputs()[k]].memory == 0 &&
           (plan_->deliveries[k] != planner::Delivery::kDirect || copy_spare_[k]);
  };
  bool copies = false;
  for (std::size_t k = 0; k < plan_->deliveries.size(); ++k) copies = copies || copied(k);
  if (!synchronize_ && copies) streams_->Flush();
  streams_->End(synchronize_);
}

// Into the caller's memory on the device; a stream does it after the steps.
void RunState::CopyOutput(std::size_t k, void* to) {
  const int slot = program_.outputs()[k];
  const TensorRef& ref = slots_[slot].ref;
  const auto& providers = program_.providers()->providers;
  for (std::size_t i = 0; streams_ != nullptr && i < providers.size(); ++i) {
    if (program_.slots()[slot].memory == 0 || !(providers[i]->device() == AllocatorOf(slot)->device())) continue;
    if (ref.count == 0 || !providers[i]->HasStreams()) break;
    const StreamScope scope(&streams_->Give(static_cast<int>(i)));
    return CopyInto(slot, ref, to);
  }
  CopyInto(slot, ref, to);
}

}  // namespace sardonyx::runtime
