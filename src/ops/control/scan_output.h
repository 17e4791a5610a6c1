// ops/control/scan_output.h - what Loop and Scan collect: the tensors of all iterations, stacked.
#pragma once

#include <vector>

#include "ir/type.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Appends tensors of one type and shape. Grows by doubling, so that n iterations move O(n) bytes. Those that lie on a
// device are kept as they are, and stacked there when they are written: along the first axis, in their order.
class ScanOutput {
 public:
  void Reserve(std::int64_t iterations) { reserved_ = iterations; }
  // Fails if the tensor's type or shape differs from the first one's.
  void Append(const Value& value, std::size_t index);
  void AppendZero();  // after the first tensor
  std::int64_t count() const { return count_; }
  // The stack [count, shape...]; not defined() if nothing was appended.
  Tensor Stacked() const;
  // Writes output `index` of the node: stacked along `axis`, last iteration first if `reversed`. `element` is the
  // declared type of one tensor, for when there is none: unknown dimensions are 0 then.
  void Write(KernelContext& c, std::size_t index, std::int64_t axis, bool reversed, const Type& element) const;

 private:
  void Grow();
  void WriteOnDevice(const OutputRef& y) const;
  Tensor stack_;               // [capacity, shape...]
  std::vector<Tensor> parts_;  // in place of the stack: on a device
  DType dtype_ = DType::kUndefined;
  Shape shape_;  // of one tensor
  std::int64_t size_ = 0, count_ = 0, capacity_ = 0, reserved_ = 0;
};

}  // namespace sardonyx::ops
