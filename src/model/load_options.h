// model/load_options.h - options for loading a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/logging.h"
#include "tensor/buffer.h"
#include "tensor/value.h"

namespace sardonyx::model {

struct CompiledParts;

struct LoadOptions {
  const Logger* logger = nullptr;  // warnings (newer IR or opset); null: dropped
  // External data handed over in memory, by the location string of the model; looked at before the disk.
  std::map<std::string, std::shared_ptr<Buffer>> external_files;
  // Tensors handed over for external data, by the initializer's name; their files are not looked for.
  std::map<std::string, Tensor> external_tensors;
  std::string external_data_folder;  // overrides the model's own folder; required for bytes with external data
  std::size_t max_model_bytes = std::size_t{1} << 31;  // of the protobuf itself (ONNX's limit)
  std::int64_t newest_opset = 0;                       // of ai.onnx, to warn of newer ones; 0: no warning
  bool newest_opset_is_limit = false;                  // newer ones are errors instead
  std::string format;  // "ONNX" or "ORT": a model in another format is an error; "": each is known by its first bytes
  // Receives what a compiled model has beside the model (model/compiled_file.h). Null: that is left out, and the model
  // is like any other that was optimized.
  std::optional<CompiledParts>* compiled = nullptr;
  bool* is_ort_format = nullptr;  // told whether the model is in ORT format; may be null
};

}  // namespace sardonyx::model
