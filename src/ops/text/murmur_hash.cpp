// ops/text/murmur_hash.cpp - com.microsoft.MurmurHash3: the 32-bit hash of each element, of a text's bytes or of a
// number's. Source: Appleby, MurmurHash3_x86_32 (public domain).
#include "ops/text/murmur_hash.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "ops/kernel_context.h"

namespace sardonyx::ops {
namespace {

struct HashState {
  std::uint32_t seed;
};

std::uint32_t Mixed(std::uint32_t block) { return std::rotl(block * 0xCC9E2D51U, 15) * 0x1B873593U; }

std::uint32_t HashOf(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t hash = seed;
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t block;
    std::memcpy(&block, bytes.data() + i, 4);
    hash = std::rotl(hash ^ Mixed(block), 13) * 5 + 0xE6546B64U;
  }
  std::uint32_t rest = 0;
  for (std::size_t end = bytes.size(); end > i; --end) rest = rest << 8 | static_cast<unsigned char>(bytes[end - 1]);
  hash ^= Mixed(rest);  // 0 if there is no rest
  hash ^= static_cast<std::uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
  return hash ^ hash >> 16;
}

void RunMurmurHash(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::uint32_t seed = c.state<HashState>().seed;
  const OutputRef y = c.Output(0, x.shape);
  auto* hashes = static_cast<std::uint32_t*>(y.data);  // or int32, of the same bits
  if (IsString(x.dtype)) {
    for (std::int64_t i = 0; i < x.count; ++i) hashes[i] = HashOf(x.As<std::string>()[i], seed);
    return;
  }
  const std::size_t size = ByteSize(x.dtype, 1);
  const auto* bytes = static_cast<const char*>(x.data);
  for (std::int64_t i = 0; i < x.count; ++i)
    hashes[i] = HashOf({bytes + static_cast<std::size_t>(i) * size, size}, seed);
}

}  // namespace

void InferMurmurHash(InferContext& c) {
  Type type = c.InputType(0);
  if (!type.is_tensor()) return;
  type.dtype = c.Int("positive", 1) != 0 ? DType::kUInt32 : DType::kInt32;
  c.SetOutputType(0, std::move(type));
}

Prepared PrepareMurmurHash(PrepareContext& c) {
  return WithState(RunMurmurHash, HashState{static_cast<std::uint32_t>(c.Int("seed", 0))});
}

}  // namespace sardonyx::ops
