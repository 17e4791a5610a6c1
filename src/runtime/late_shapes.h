// runtime/late_shapes.h - remembers the last result of a step that infers its shapes while it runs.
//
// Inference sees element types, shapes and the contents of small inputs. If these have not changed, neither have the
// types of the outputs: a repeated run infers and allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/single_node.h"

namespace sardonyx::runtime {

class LateShapes {
 public:
  static constexpr std::int64_t kMaxContents = 64;  // elements of an input whose contents inference may look at

  // First Begin, then one call for each input.
  void Begin() { next_.clear(); }
  void AddMissing(bool present) { next_.push_back(present ? -2 : -1); }
  void Add(const ops::TensorRef& tensor, bool with_contents);

  // True if the inputs are those of the last call that ended with Keep.
  bool Same() const { return valid_ && next_ == last_; }
  void Keep(std::span<const ops::InferContext::Output> inferred);
  std::span<const ops::OutputShape> outputs() const { return outputs_; }

 private:
  bool valid_ = false;
  std::vector<std::int64_t> next_, last_;
  std::vector<ops::OutputShape> outputs_;
};

}  // namespace sardonyx::runtime
