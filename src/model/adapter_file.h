// model/adapter_file.h - LoRA adapters: named tensors that take the place of a model's inputs, in the format of ONNX
// Runtime's .onnx_adapter files (model/adapter.fbs).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/value.h"

namespace sardonyx::model {

struct Adapter {
  int format_version = 1;
  int adapter_version = 0, model_version = 0;  // the author's own
  std::vector<std::pair<std::string, Tensor>> parameters;
};

// Parameters are views of `bytes`, which `owner` keeps alive; with no owner, or where their offset is not aligned for
// their type, copies in memory of `allocator`. Fails with kFail if the bytes are not an adapter, or are damaged.
Adapter ReadAdapter(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                    const std::shared_ptr<Allocator>& allocator = HostAllocator());
// Maps the file. Fails with kInvalidArgument if there is none.
Adapter ReadAdapterFile(const std::string& path, const std::shared_ptr<Allocator>& allocator = HostAllocator());

// The bytes of a file. Fails with kNotImplemented for strings, and for types that the format does not have.
std::vector<std::byte> WriteAdapter(const Adapter& adapter);

}  // namespace sardonyx::model
