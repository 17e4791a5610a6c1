// tensor/packing.cpp - packs weights, or takes them from where they were packed before.
#include "tensor/packing.h"

#include <utility>

#include "base/error.h"
#include "tensor/shared_bytes.h"

namespace sardonyx {
namespace {

PackingScope*& ScopeOfThread() {
  thread_local PackingScope* scope = nullptr;
  return scope;
}

}  // namespace

PackingScope::PackingScope(const std::vector<Tensor>* known) : known_(known) { ScopeOfThread() = this; }

PackingScope::~PackingScope() { ScopeOfThread() = nullptr; }

Tensor PackingScope::Take(DType dtype, const Shape& shape) {
  const std::size_t index = packed_.size();
  if (index >= known_->size())
    Fail(Code::kInvalidProtobuf, "the packed weights of the compiled model: expected more than ", index,
         " tensors, found ", known_->size());
  const Tensor& found = (*known_)[index];
  if (found.dtype() != dtype || !(found.shape() == shape))
    Fail(Code::kInvalidProtobuf, "the packed weights of the compiled model: expected ", Name(dtype), ToText(shape),
         ", found ", Name(found.dtype()), ToText(found.shape()));
  return found;
}

Tensor Packed(DType dtype, Shape shape, FunctionRef<void(Tensor&)> pack) {
  PackingScope* scope = ScopeOfThread();
  Tensor tensor;
  if (scope != nullptr && scope->known_ != nullptr) {
    tensor = scope->Take(dtype, shape);
  } else {
    tensor = ZeroedToShare(dtype, std::move(shape));
    pack(tensor);
    tensor = Shared(std::move(tensor));
  }
  if (scope != nullptr) scope->packed_.push_back(tensor);
  return tensor;
}

}  // namespace sardonyx
