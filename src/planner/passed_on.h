// planner/passed_on.h - values that control flow passes on without the host: from turn to turn, and out of branches.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sardonyx::planner {

// Where the inputs and outputs of a node lie, by index. Device{}: on the host.
struct PassedOn {
  std::vector<Device> inputs, outputs;
};

// For a node whose bodies have their copies (planner/place_copies.h). These lose their copies, and are told: what a
// body of Loop or Scan reads and makes on one device for the next turn, what it reads of the turn or makes in it on
// one, if that is a slice along the first axis, and what all branches of If make on one.
PassedOn MovePassedOn(Node& node);

}  // namespace sardonyx::planner
