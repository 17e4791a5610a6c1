// runtime/late_shapes.cpp - encodes inputs as a list of numbers, and keeps the types that follow from them.
#include "runtime/late_shapes.h"

#include <cstring>

namespace sardonyx::runtime {

void LateShapes::Add(const ops::TensorRef& tensor, bool with_contents) {
  next_.push_back(static_cast<std::int64_t>(tensor.dtype));
  next_.push_back(static_cast<std::int64_t>(tensor.shape.size()));
  next_.insert(next_.end(), tensor.shape.begin(), tensor.shape.end());
  next_.push_back(with_contents ? 1 : 0);
  if (!with_contents) return;
  const std::size_t bytes = tensor.byte_size(), at = next_.size();
  next_.resize(at + (bytes + 7) / 8, 0);
  std::memcpy(next_.data() + at, tensor.data, bytes);
}

void LateShapes::Keep(std::span<const ops::InferContext::Output> inferred) {
  outputs_.clear();
  for (const ops::InferContext::Output& output : inferred) outputs_.push_back(ops::OutputShapeOf(output.type));
  last_.swap(next_);
  valid_ = true;
}

}  // namespace sardonyx::runtime
