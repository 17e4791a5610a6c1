// tensor/packing.h - where kernels get constant weights in the form that they read: packed now, or packed earlier and
// kept in a compiled model.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "tensor/value.h"

namespace sardonyx {

// The type and the shape of packed weights.
struct PackedForm {
  DType dtype;
  Shape shape;
};

// What Packed makes on this thread while the object lives, in order. Scopes may not be nested.
class PackingScope {
 public:
  // `known`: what an earlier scope collected for the same kernel, which is taken instead of packing again; null: none.
  explicit PackingScope(const std::vector<Tensor>* known);
  ~PackingScope();
  PackingScope(const PackingScope&) = delete;
  PackingScope& operator=(const PackingScope&) = delete;

  const std::vector<Tensor>& packed() const { return packed_; }

 private:
  friend Tensor Packed(std::span<const PackedForm>, FunctionRef<std::size_t()>, FunctionRef<void(Tensor&)>);
  Tensor Take(std::span<const PackedForm> forms);

  const std::vector<Tensor>* known_;
  std::vector<Tensor> packed_;
};

// A tensor that `pack` fills with constant weights as a kernel reads them; it comes as zeros. Equal ones are shared
// (tensor/shared_bytes.h). What is packed may depend on the node, its types and weights, the CPU's units and
// kernels::kPackerVersion, never on the number of threads. All work on the weights belongs into `pack`, which is not
// called if the scope of this thread has the tensor. Fails with kInvalidProtobuf if the scope has another one in its
// place.
Tensor Packed(DType dtype, Shape shape, FunctionRef<void(Tensor&)> pack);
// The same where the form depends on the weights: `choose` looks at them and says which of `forms` they get.
Tensor Packed(std::span<const PackedForm> forms, FunctionRef<std::size_t()> choose, FunctionRef<void(Tensor&)> pack);

}  // namespace sardonyx
