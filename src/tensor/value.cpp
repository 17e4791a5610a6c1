// tensor/value.cpp - construction, views and copies of tensors and other values.
#include "tensor/value.h"

#include <cstring>
#include <utility>

namespace sardonyx {

Tensor::Tensor(DType dtype, Shape shape, const std::shared_ptr<Allocator>& allocator)
    : dtype_(dtype), shape_(std::move(shape)), count_(ElementCount(shape_)), byte_size_(ByteSize(dtype, count_)) {
  if (IsString(dtype)) {
    if (!allocator->device().IsHost()) {
      Fail(Code::kInvalidArgument, "expected host memory for a tensor of strings, found a device's allocator");
    }
    buffer_ = Buffer::Strings(static_cast<std::size_t>(count_));
  } else {
    buffer_ = Buffer::Allocate(byte_size_, allocator);
  }
  data_ = buffer_->data();
}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<Buffer> buffer, std::size_t byte_offset)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(ElementCount(shape_)),
      byte_size_(ByteSize(dtype, count_)),
      buffer_(std::move(buffer)) {
  const std::size_t size = buffer_ ? buffer_->size() : 0;
  if (byte_offset > size || byte_size_ > size - byte_offset) {
    Fail(Code::kInvalidArgument, "expected a buffer of at least ", byte_size_, " bytes from offset ", byte_offset,
         " for ", Name(dtype), ToText(shape_), ", found ", size, " bytes");
  }
  if (buffer_ && buffer_->data() != nullptr) data_ = static_cast<std::byte*>(buffer_->data()) + byte_offset;
}

Tensor Tensor::Reshaped(Shape shape) const {
  const std::int64_t count = ElementCount(shape);
  if (count != count_) {
    Fail(Code::kInvalidArgument, "expected a shape with ", count_, " elements, as ", ToText(shape_), " has, found ",
         ToText(shape));
  }
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::Clone() const {
  if (!device().IsHost())
    Fail(Code::kNotImplemented, "expected a tensor in host memory to copy, found one on a device");
  if (!defined()) return {};
  Tensor copy(dtype_, shape_);
  if (IsString(dtype_)) {
    std::copy_n(data<std::string>(), count_, copy.data<std::string>());
  } else if (byte_size_ != 0) {
    std::memcpy(copy.data_, data_, byte_size_);
  }
  return copy;
}

Value::Value(Sequence sequence) : data_(std::make_shared<const Sequence>(std::move(sequence))) {}
Value::Value(Map map) : data_(std::make_shared<const Map>(std::move(map))) {}
Value::Value(SparseTensor sparse) : data_(std::make_shared<const SparseTensor>(std::move(sparse))) {}

std::string Value::KindName() const {
  if (is_tensor()) return "tensor(" + std::string(Name(tensor().dtype())) + ")";
  if (is_sequence()) return "sequence";
  if (is_map()) return "map";
  if (is_sparse()) return "sparse tensor";
  return "nothing";
}

}  // namespace sardonyx
