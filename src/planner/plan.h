// planner/plan.h - a plan: for one set of input shapes, all other shapes, the place of every value, and the steps to
// run.
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

// What is known about an input when a plan is made or looked up.
struct InputFact {
  ops::TensorRef ref;  // a tensor that was given: shape and host bytes
  Type type;           // else what is known about it
  Value known;         // contents that the enclosing plan implies, whatever the run brings
};

struct PlannedSlot {
  enum class Place : std::uint8_t {
    kNone,      // not computed in this plan
    kConstant,  // of the graph, or known because of the key
    kInput,     // the bytes of input `source`
    kArena,     // at `offset`
    kOutput,    // the bytes of output `source`
    kLate,      // its shape comes with the run, or it is not a plain tensor: has its own memory
  };
  Place place = Place::kNone;
  int takes = -1;         // kLate: the slot whose memory a tensor of its type and shape may have; -1: none
  bool promised = false;  // kLate, but of a shape that the plan knows and later steps rely on
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t count = 0;
  int source = -1;
  int memory = 0;  // of Outline::memories()
  std::size_t offset = 0;
  // A part of a wider value: bytes from the beginning of its storage, and elements from a row of its last axis to the
  // next (0: they follow each other).
  std::size_t window = 0;
  std::int64_t pitch = 0;
  bool has_parts = false;  // others are parts of it
  Tensor known;            // contents that the key implies
};

struct PlannedStep {
  int step = -1;
  bool late = false;                 // infers its shapes and checks those of its inputs when it runs
  int branch = -1;                   // of an If whose condition the key implies: the body that runs
  std::shared_ptr<const Plan> body;  // its plan; shared with the run states that are bound to it
};

// A range of an arena that holds `slot` and its views, from the step that first writes them to the last step that reads
// them (indices into Outline::steps(); one past the last step for what the run delivers). Before and after, other
// values may use the same bytes.
struct PlannedBuffer {
  int slot = -1;
  int memory = 0;  // of Outline::memories()
  std::size_t offset = 0, bytes = 0;
  int first = 0, last = 0;
  std::size_t room = 0;  // bytes from `offset` on that nothing else uses meanwhile; `bytes` or more
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
  // By input: the slots that view its bytes. By output: the slots that live in its bytes (kDirect). Plans that differ
  // in sizes share them.
  using SlotLists = std::vector<std::vector<int>>;
  std::shared_ptr<const SlotLists> input_slots, output_slots;
  std::vector<Delivery> deliveries;      // by output
  std::vector<int> updated_inputs;       // by output: the input in whose memory it may be computed, or -1
  std::vector<std::size_t> arena_bytes;  // by memory
  std::vector<PlannedBuffer> buffers;    // of all arenas
  bool has_room = false;                 // arenas are larger than this run needs, for values that grow
  // The slots in which plans up to this one that share input_slots may differ, in size or known contents; sorted.
  std::vector<int> resized;

  bool Matches(std::span<const InputFact> inputs) const;
  // Whether the plans have the same places, so that they differ in `resized` of one of them alone.
  bool HasPlacesOf(const Plan& other) const { return input_slots != nullptr && input_slots == other.input_slots; }
};

// The inputs whose contents belong to the keys of a graph's plans, because shapes depend on them, and other things that
// are learned from plan to plan.
struct KeyContents {
  std::vector<int> inputs;
  std::vector<bool> futile;      // by step: knowing contents did not make its shapes known
  std::vector<bool> surprising;  // by step: its kernel made another shape than inference said (or none: no step did)

  bool AddInput(int input);  // whether it is new
  void Add(const KeyContents& other);
};

}  // namespace sardonyx::planner
