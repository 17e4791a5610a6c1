// capi/compile/options.cpp - the functions of OrtModelCompilationOptions.
#include "capi/compile/options.h"

#include <bit>
#include <filesystem>
#include <memory>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "capi/session.h"

namespace sardonyx::capi::compile {
namespace {

// A path or name that may not be empty.
std::string Text(const ORTCHAR_T* text, const char* name) {
  std::string result = &Need(text, name);
  if (result.empty()) Fail(Code::kInvalidArgument, "argument '", name, "': expected a path, found ''");
  return result;
}

template <typename Change>
OrtStatusPtr Modify(OrtModelCompilationOptions* options, Change&& change) noexcept {
  return Guard([&] { change(Need(options, "model_compile_options")); });
}

OutputBuffer BufferOf(OrtAllocator* allocator, void** data, const char* data_name, size_t* size,
                      const char* size_name) {
  return {&Need(allocator, "allocator"), &Need(data, data_name), &Need(size, size_name)};
}

// The last of the three inputs that is set counts.
void ForgetInput(OrtModelCompilationOptions& options) {
  options.input_path.clear();
  options.input_data = nullptr;
  options.input_size = 0;
  options.input_model = nullptr;
}

// What providers read, as ONNX Runtime names it.
void Tell(OrtModelCompilationOptions& options, const char* key, const std::string& value) {
  SetConfigEntry(options.session.config, key, value.c_str());
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateModelCompilationOptionsFromSessionOptions(const OrtEnv* env,
                                                                          const OrtSessionOptions* session_options,
                                                                          OrtModelCompilationOptions** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    auto made = std::make_unique<OrtModelCompilationOptions>();
    made->session = CopyOptions(env, &Need(session_options, "session_options"));
    made->session.optimization_level = runtime::OptimizationLevel::kDisable;
    Tell(*made, "ep.context_enable", "1");
    result = made.release();
  });
}

void ORT_API_CALL ReleaseModelCompilationOptions(OrtModelCompilationOptions* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                                    const ORTCHAR_T* input_model_path) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    std::string path = Text(input_model_path, "input_model_path");
    ForgetInput(options);
    options.input_path = std::move(path);
  });
}

// The bytes have to stay where they are until CompileModel.
OrtStatusPtr ORT_API_CALL
ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions* model_compile_options,
                                                const void* input_model_data, size_t input_model_data_size) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    if (input_model_data == nullptr) FailNullArgument("input_model_data");
    if (input_model_data_size == 0)
      Fail(Code::kInvalidArgument, "argument 'input_model_data_size': expected 1 or more, found 0");
    ForgetInput(options);
    options.input_data = input_model_data;
    options.input_size = input_model_data_size;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions* model_compile_options,
                                                                const OrtModel* model) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    Need(model, "model");
    ForgetInput(options);
    options.input_model = model;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                                     const ORTCHAR_T* output_model_path) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    std::string path = Text(output_model_path, "output_model_path");
    Tell(options, "ep.context_file_path", path);
    options.output = std::move(path);
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelBuffer(
    OrtModelCompilationOptions* model_compile_options, OrtAllocator* allocator, void** output_model_buffer_ptr,
    size_t* output_model_buffer_size_ptr) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    options.output = BufferOf(allocator, output_model_buffer_ptr, "output_model_buffer_ptr",
                              output_model_buffer_size_ptr, "output_model_buffer_size_ptr");
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelWriteFunc(
    OrtModelCompilationOptions* model_compile_options, OrtWriteBufferFunc write_func, void* state) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    if (write_func == nullptr) FailNullArgument("write_func");
    options.output = OutputFunction{write_func, state};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersFile(
    OrtModelCompilationOptions* model_compile_options, const ORTCHAR_T* external_initializers_file_path,
    size_t external_initializers_size_threshold) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    options.weights = WeightFile{Text(external_initializers_file_path, "external_initializers_file_path"),
                                 external_initializers_size_threshold};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
    OrtModelCompilationOptions* model_compile_options, const ORTCHAR_T* logical_file_name,
    size_t initializer_size_threshold, OrtAllocator* allocator, void** output_buffer,
    size_t* output_buffer_size) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    std::string name = Text(logical_file_name, "logical_file_name");
    if (std::filesystem::path(name).is_absolute())
      Fail(Code::kInvalidArgument, "argument 'logical_file_name': expected a relative path, found '", name, "'");
    options.weights =
        WeightBuffer{std::move(name), initializer_size_threshold,
                     BufferOf(allocator, output_buffer, "output_buffer", output_buffer_size, "output_buffer_size")};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
    OrtModelCompilationOptions* model_compile_options, OrtGetInitializerLocationFunc get_initializer_location_func,
    void* state) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    if (get_initializer_location_func == nullptr) FailNullArgument("get_initializer_location_func");
    options.weights = WeightFunction{get_initializer_location_func, state};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(
    OrtModelCompilationOptions* model_compile_options, size_t alignment, size_t minimum_size) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    if (alignment != 0 && !std::has_single_bit(alignment))
      Fail(Code::kInvalidArgument, "argument 'alignment': expected 0 or a power of two, found ", alignment);
    options.alignment = alignment;
    options.aligned_bytes = minimum_size;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetFlags(OrtModelCompilationOptions* model_compile_options,
                                                           uint32_t flags) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) { options.flags = flags; });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetGraphOptimizationLevel(
    OrtModelCompilationOptions* model_compile_options, GraphOptimizationLevel graph_optimization_level) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    options.session.optimization_level = CheckedLevel(graph_optimization_level);
    options.level_is_given = true;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextEmbedMode(
    OrtModelCompilationOptions* model_compile_options, bool embed_ep_context_in_model) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    Tell(options, "ep.context_embed_mode", embed_ep_context_in_model ? "1" : "0");
  });
}

// Where providers put files of their own if the model goes to memory.
OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextBinaryInformation(
    OrtModelCompilationOptions* model_compile_options, const ORTCHAR_T* output_directory,
    const ORTCHAR_T* model_name) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    const std::filesystem::path folder = Text(output_directory, "output_directory");
    const std::string name = Text(model_name, "model_name");
    if (folder.has_filename() && !folder.has_extension()) {
      Fail(Code::kInvalidArgument, "argument 'output_directory': expected a folder that ends in a separator, found '",
           folder.string(), "'");
    }
    Tell(options, "ep.context_file_path", (folder / name).string());
  });
}

// NULL takes an earlier function back.
OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextDataWriteFunc(
    OrtModelCompilationOptions* model_compile_options, OrtWriteNamedBufferFunc write_func, void* state) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    options.write_context = write_func;
    options.write_context_state = state;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetWeightlessEnabled(
    OrtModelCompilationOptions* model_compile_options, bool use_weightless) noexcept {
  return Modify(model_compile_options, [&](OrtModelCompilationOptions& options) {
    Tell(options, "ep.enable_weightless", use_weightless ? "1" : "0");
  });
}

}  // namespace sardonyx::capi::compile
