// planner/plan.h - for one set of input shapes: every shape, every byte's place, every step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/kernel_context.h"
#include "planner/outline.h"

namespace sardonyx::planner {

struct Plan;

// What is known of an input when a plan is made or looked up.
struct InputFact {
  ops::TensorRef ref;  // a tensor that has arrived: shape and host bytes
  Type type;           // else what is known of it
  Value known;         // contents that the enclosing plan implies, whatever the run brings
};

struct PlannedSlot {
  enum class Place : std::uint8_t {
    kNone,      // not computed in this plan
    kConstant,  // of the graph, or known because of the key
    kInput,     // the bytes of input `source`
    kArena,     // at `offset`
    kOutput,    // the bytes of output `source`
    kLate,      // its shape comes with the run, or it is no plain tensor: memory of its own
  };
  Place place = Place::kNone;
  bool promised = false;  // kLate, but of a shape that the plan knows and later steps rely on
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t count = 0;
  int source = -1;
  int memory = 0;  // of Outline::memories()
  std::size_t offset = 0;
  Tensor known;  // contents that the key implies
};

struct PlannedStep {
  int step = -1;
  bool late = false;                 // infers its shapes, and checks its inputs', when it runs
  int branch = -1;                   // If: the body that runs, where the key implies the condition
  std::shared_ptr<const Plan> body;  // its plan; shared with the run states that are bound to it
};

// Bytes of an arena that values take in turn: those of `slot` and of its views, from the step that writes them first to
// the last that reads them (of Outline::steps(); after the last of them for what the run delivers).
struct PlannedBuffer {
  int slot = -1;
  int memory = 0;  // of Outline::memories()
  std::size_t offset = 0, bytes = 0;
  int first = 0, last = 0;
};

// Planned steps [begin, end), one after another.
struct StepRange {
  int begin = 0, end = 0;
};

// How a run delivers an output.
enum class Delivery : std::uint8_t {
  kDirect,  // the step writes into the output's own memory
  kCopy,    // copied at the end: an input, a constant, or the bytes of another output
  kLate,    // from the slot's own memory, or not a tensor
};

struct Plan {
  // The key: shapes of tensor inputs (unset: not a tensor) and the bytes of inputs whose contents matter.
  std::vector<std::optional<Shape>> input_shapes;
  std::vector<std::pair<int, std::string>> contents;

  std::vector<PlannedSlot> slots;
  std::vector<PlannedStep> steps;
  // In parallel mode: stages that run one after another, each of tasks that run at once; none: all steps in their
  // order.
  std::vector<std::vector<StepRange>> stages;
  std::vector<std::vector<int>> input_slots;   // by input: the slots that view its bytes
  std::vector<std::vector<int>> output_slots;  // by output: the slots that live in its bytes (kDirect)
  std::vector<Delivery> deliveries;            // by output
  std::vector<std::size_t> arena_bytes;        // by memory
  std::vector<PlannedBuffer> buffers;          // of all arenas

  bool Matches(std::span<const InputFact> inputs) const;
};

// Which inputs' contents belong to the keys of a graph's plans, since shapes depend on them: learned plan by plan.
struct KeyContents {
  std::vector<int> inputs;
  std::vector<bool> futile;  // by step: knowing contents did not make its shapes known

  bool AddInput(int input);  // whether it is new
  void Add(const KeyContents& other);
};

}  // namespace sardonyx::planner
