// runtime/inspect/value_check.h - statistics of every value of a run, and which nodes made the first NaN and the first
// infinity.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/profile/step_observer.h"

namespace sardonyx::runtime {

// Statistics of one tensor, or of all tensors that one value of a body was in its iterations ("turns").
struct ValueStatistics {
  std::string value, node, op_type;
  std::string graph;  // the body's path (runtime/inspect/body_path.h); "" for the model's own
  std::string type;   // "float", "int64"; "sequence" ... for values that are not tensors
  Shape shape;        // of the last turn
  std::int64_t turns = 0, count = 0;
  std::int64_t nan_count = 0, infinity_count = 0;
  double lowest = 0, highest = 0, mean = 0, deviation = 0;  // of the finite elements, `finite_count` of them
  std::int64_t finite_count = 0;
  bool readable = true;  // false: on a device, or of a type without numbers
};

// A turn of a body, counted from 0 in each run of the node that has the body.
struct BodyTurn {
  std::string graph;
  std::int64_t turn = 0;
};

// A node whose outputs have NaN (infinities) although its inputs have none.
struct FirstMaker {
  bool found = false;
  std::string value, node, op_type;
  std::vector<BodyTurn> turns;          // of the bodies that it is in, the outermost first
  std::vector<ValueStatistics> inputs;  // of that turn
};

class ValueCheck final : public StepObserver {
 public:
  explicit ValueCheck(const Program& main);  // the session's
  ~ValueCheck() override;
  void OnStep(const ObservedStep& step) override;

  const std::vector<ValueStatistics>& values() const { return values_; }  // in the order they were made first
  const FirstMaker& first_nan() const { return first_nan_; }
  const FirstMaker& first_infinity() const { return first_infinity_; }

 private:
  struct Places;
  void Look(const ObservedStep& observed, std::size_t output);
  void Note(const ObservedStep& observed, const std::string& value, bool nan, FirstMaker& first);

  std::vector<ValueStatistics> values_;
  FirstMaker first_nan_, first_infinity_;
  std::unique_ptr<Places> places_;
};

}  // namespace sardonyx::runtime
