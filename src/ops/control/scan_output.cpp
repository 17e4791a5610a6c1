// ops/control/scan_output.cpp - stacks the tensors of all iterations.
#include "ops/control/scan_output.h"

#include <algorithm>
#include <cstring>

#include "kernels/copy/strided_copy.h"
#include "tensor/device_copier.h"

namespace sardonyx::ops {
namespace {

Shape WithLeading(std::int64_t first, Dims rest) {
  Shape shape{first};
  for (const std::int64_t d : rest) shape.Append(d);
  return shape;
}

}  // namespace

void ScanOutput::Grow() {
  capacity_ = std::max({capacity_ * 2, reserved_, std::int64_t{4}});
  Tensor larger(dtype_, WithLeading(capacity_, shape_));
  if (count_ != 0) kernels::CopyElements(dtype_, stack_.raw(), 0, larger.raw(), 0, count_ * size_);
  stack_ = std::move(larger);
}

void ScanOutput::Append(const Value& value, std::size_t index) {
  if (!value.is_tensor()) {
    Fail(Code::kInvalidArgument, "scan output ", index, " of the body: expected a tensor, found ", value.KindName());
  }
  const Tensor& t = value.tensor();
  if (count_ == 0) {
    dtype_ = t.dtype();
    shape_ = t.shape();
    size_ = t.count();
  }
  if (t.dtype() != dtype_ || !(t.shape() == shape_)) {
    Fail(Code::kInvalidArgument, "scan output ", index, " of the body: expected ", Name(dtype_), ToText(shape_),
         " as in the first iteration, found ", Name(t.dtype()), ToText(t.shape()), " in iteration ", count_);
  }
  if (t.buffer() != nullptr && !t.buffer()->device().IsHost()) {
    parts_.push_back(t);
  } else {
    if (count_ == capacity_) Grow();
    kernels::CopyElements(dtype_, t.raw(), 0, stack_.raw(), count_ * size_, size_);
  }
  ++count_;
}

void ScanOutput::AppendZero() {
  if (!stack_.defined()) return;
  if (count_ == capacity_) Grow();
  const std::uint64_t zero[2] = {};
  const std::string empty;
  const void* value = IsString(stack_.dtype()) ? static_cast<const void*>(&empty) : zero;
  kernels::FillElements(stack_.dtype(), value, 0, stack_.raw(), count_ * size_, size_);
  ++count_;
}

Tensor ScanOutput::Stacked() const {
  if (!stack_.defined()) return {};
  return Tensor(stack_.dtype(), WithLeading(count_, shape_), stack_.buffer());
}

void ScanOutput::Write(KernelContext& c, std::size_t index, std::int64_t axis, bool reversed,
                       const Type& element) const {
  if (!c.HasOutput(index)) return;
  Shape one = shape_;
  DType dtype = dtype_;
  if (count_ == 0) {
    dtype = element.dtype;
    for (const Dim& d : element.dims) one.Append(d.known() ? d.number() : 0);
  }
  const std::size_t at = NormalizeAxis(axis, one.size() + 1);
  Shape shape;
  for (std::size_t i = 0; i <= one.size(); ++i) {
    if (i == at) shape.Append(count_);
    if (i < one.size()) shape.Append(one[i]);
  }
  const OutputRef y = c.Output(index, shape, dtype);
  if (y.count == 0) return;
  if (!parts_.empty()) return WriteOnDevice(y);
  const std::int64_t inner = ElementCount(one, at, one.size()), outer = size_ / inner;
  kernels::StridedLoops loops;
  loops.Add(outer, inner, count_ * inner);
  loops.Add(count_, reversed ? -size_ : size_, inner);
  loops.Add(inner, 1, 1);
  kernels::StridedCopy(dtype, loops, stack_.raw(), reversed ? (count_ - 1) * size_ : 0, y.data, 0, c.parallel());
}

void ScanOutput::WriteOnDevice(const OutputRef& y) const {
  const std::size_t bytes = ByteSize(dtype_, size_);
  auto* to = static_cast<std::byte*>(y.data);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    CurrentDeviceCopier()->Copy(parts_[i].buffer()->device(), parts_[i].raw(), to + i * bytes, bytes);
}

}  // namespace sardonyx::ops
