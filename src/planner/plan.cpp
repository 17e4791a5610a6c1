// planner/plan.cpp - keys of plans: when a plan fits, and which contents belong to its key.
#include "planner/plan.h"

#include <algorithm>
#include <cstring>

namespace sardonyx::planner {

bool Plan::Matches(std::span<const InputFact> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ops::TensorRef& ref = inputs[i].ref;
    if (input_shapes[i].has_value() != ref.present()) return false;
    if (ref.present() && !Shape::Equal(*input_shapes[i], ref.shape)) return false;
  }
  for (const auto& [input, bytes] : contents) {
    if (!bytes.empty() && std::memcmp(inputs[input].ref.data, bytes.data(), bytes.size()) != 0) return false;
  }
  return true;
}

bool KeyContents::AddInput(int input) {
  if (std::find(inputs.begin(), inputs.end(), input) != inputs.end()) return false;
  inputs.push_back(input);
  return true;
}

void KeyContents::Add(const KeyContents& other) {
  for (const int input : other.inputs) AddInput(input);
  futile.resize(std::max(futile.size(), other.futile.size()));
  for (std::size_t step = 0; step < other.futile.size(); ++step)
    if (other.futile[step]) futile[step] = true;
  surprising.resize(std::max(surprising.size(), other.surprising.size()));
  for (std::size_t step = 0; step < other.surprising.size(); ++step)
    if (other.surprising[step]) surprising[step] = true;
}

}  // namespace sardonyx::planner
