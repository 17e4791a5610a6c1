// tests/fuzz/fuzz_load.cpp - the loader: any bytes give a model (or value) or an Error; what loads can be saved.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/error.h"
#include "model/compiled_file.h"
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

// A compiled model with the checksum that belongs to its header, model and table, so that changes get past it.
std::string Sealed(std::span<const std::byte> bytes) {
  constexpr std::size_t kHeader = 128, kFileBytes = 16, kPlaces = 24, kDigest = 56;
  std::string sealed(static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size());
  std::uint64_t places[4] = {};  // of the model and the table: begin, size
  const std::uint64_t size = sealed.size();
  if (size < kHeader) return sealed;
  std::memcpy(places, sealed.data() + kPlaces, sizeof places);
  for (std::size_t i = 0; i < 4; i += 2)
    if (places[i] > size || places[i + 1] > size - places[i]) return sealed;
  std::memcpy(sealed.data() + kFileBytes, &size, sizeof size);
  std::memset(sealed.data() + kDigest, 0, sizeof(Digest));
  const auto digest_of = [&](std::size_t at, std::size_t count) {
    return DigestOf(std::as_bytes(std::span(sealed).subspan(at, count)));
  };
  const Digest parts[] = {digest_of(0, kHeader), digest_of(places[0], places[1]), digest_of(places[2], places[3])};
  const Digest digest = DigestOf(std::as_bytes(std::span(parts)));
  std::memcpy(sealed.data() + kDigest, &digest, sizeof digest);
  return sealed;
}

void LoadCompiled(std::span<const std::byte> bytes) {
  const std::string sealed = Sealed(bytes);
  std::optional<model::CompiledParts> parts;
  model::LoadOptions options;
  options.compiled = &parts;
  try {
    model::LoadBytes(std::as_bytes(std::span(sealed)), nullptr, options);
  } catch (const Error&) {
    return;
  }
  for (std::size_t i = 0; parts && i < parts->nodes.size(); ++i)  // every byte is there
    for (const Tensor& tensor : parts->nodes[i].tensors)
      DigestOf({static_cast<const std::byte*>(tensor.raw()), tensor.byte_size()});
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
  if (model::IsCompiledModel({static_cast<const char*>(static_cast<const void*>(data)), size})) LoadCompiled(bytes);
  MayFail([&] { model::LoadTensor(bytes); });
  MayFail([&] { model::LoadSequence(bytes); });
  MayFail([&] { model::LoadMap(bytes); });
  MayFail([&] { model::LoadOptional(bytes); });
  return 0;
}
