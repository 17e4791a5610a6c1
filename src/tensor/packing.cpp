// tensor/packing.cpp - packs weights, or takes them from where they were packed before.
#include "tensor/packing.h"

#include <algorithm>
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

Tensor PackingScope::Take(std::span<const PackedForm> forms) {
  const std::size_t index = packed_.size();
  if (index >= known_->size())
    Fail(Code::kInvalidProtobuf, "the packed weights of the compiled model: expected more than ", index,
         " tensors, found ", known_->size());
  const Tensor& found = (*known_)[index];
  const auto fits = [&](const PackedForm& form) { return found.dtype() == form.dtype && found.shape() == form.shape; };
  if (std::none_of(forms.begin(), forms.end(), fits))
    Fail(Code::kInvalidProtobuf, "the packed weights of the compiled model: expected ", Name(forms[0].dtype),
         ToText(forms[0].shape), ", found ", Name(found.dtype()), ToText(found.shape()));
  return found;
}

Tensor Packed(std::span<const PackedForm> forms, FunctionRef<std::size_t()> choose, FunctionRef<void(Tensor&)> pack) {
  PackingScope* scope = ScopeOfThread();
  Tensor tensor;
  if (scope != nullptr && scope->known_ != nullptr) {
    tensor = scope->Take(forms);
  } else {
    const PackedForm& form = forms[choose()];
    tensor = ZeroedToShare(form.dtype, form.shape);
    pack(tensor);
    tensor = Shared(std::move(tensor));
  }
  if (scope != nullptr) scope->packed_.push_back(tensor);
  return tensor;
}

Tensor Packed(DType dtype, Shape shape, FunctionRef<void(Tensor&)> pack) {
  const PackedForm form{dtype, std::move(shape)};
  return Packed(
      {&form, 1}, [] { return std::size_t{0}; }, pack);
}

}  // namespace sardonyx
