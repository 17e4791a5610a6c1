// tests/fuzz/fuzz_load.cpp - the loader: any bytes give a model (or value) or an Error; what loads can be saved.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "base/error.h"
#include "model/load.h"
#include "model/save.h"

namespace {

using namespace sardonyx;

void LoadModel(std::span<const std::byte> bytes) {
  static const model::LoadOptions* const options = [] {
    auto* made = new model::LoadOptions();  // lives as long as the program
    made->external_files["e.bin"] = Buffer::Allocate(256);
    std::memset(made->external_files["e.bin"]->data(), 1, 256);
    return made;
  }();
  std::string saved;
  try {
    saved = model::SaveBytes(model::LoadBytes(bytes, nullptr, *options));
  } catch (const Error&) {
    return;
  }
  // Here an Error is a finding: what we wrote, we must read, and as the same model.
  const std::string again = model::SaveBytes(model::LoadBytes(std::as_bytes(std::span(saved)), nullptr));
  if (again == saved) return;
  std::fputs("a saved model changes when it is loaded and saved again\n", stderr);
  std::abort();
}

template <typename F>
void MayFail(F&& f) {
  try {
    f();
  } catch (const Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  LoadModel(bytes);
  MayFail([&] { model::LoadTensor(bytes); });
  MayFail([&] { model::LoadSequence(bytes); });
  MayFail([&] { model::LoadMap(bytes); });
  MayFail([&] { model::LoadOptional(bytes); });
  return 0;
}
