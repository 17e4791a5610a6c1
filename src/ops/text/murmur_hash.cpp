// ops/text/murmur_hash.cpp - com.microsoft.MurmurHash3: the 32-bit hash of each element's bytes.
//
// Source: Austin Appleby, MurmurHash3_x86_32 (public domain), by its description.
#include <bit>
#include <cstring>
#include <string>

#include "base/dtype.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 4096;

struct HashState {
  std::uint32_t seed = 0;
};

std::uint32_t Scramble(std::uint32_t word) { return std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u; }

std::uint32_t Murmur3(const unsigned char* bytes, std::size_t size, std::uint32_t seed) {
  std::uint32_t hash = seed;
  std::size_t at = 0;
  for (; at + 4 <= size; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, bytes + at, 4);
    hash = std::rotl(hash ^ Scramble(word), 13) * 5 + 0xe6546b64u;
  }
  std::uint32_t rest = 0;
  for (std::size_t i = size; i > at; --i) rest = rest << 8 | bytes[i - 1];
  if (at < size) hash ^= Scramble(rest);
  hash ^= static_cast<std::uint32_t>(size);
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

DType ResultType(const AttributeReader& c) { return c.Int("positive", 1) == 1 ? DType::kUInt32 : DType::kInt32; }

void InferHash(InferContext& c) {
  if (c.HasRank(0)) return c.SetOutput(0, ResultType(c), c.InputDims(0));
  c.SetOutput(0, ResultType(c));
}

void RunHash(KernelContext& c) {
  const std::uint32_t seed = c.state<HashState>().seed;
  const TensorRef& x = c.Input(0);
  auto* y = c.Output(0).As<std::uint32_t>();
  const std::size_t size = IsString(x.dtype) ? 0 : ByteSize(x.dtype, 1);
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (IsString(x.dtype)) {
        const std::string& text = x.As<std::string>()[i];
        y[i] = Murmur3(static_cast<const unsigned char*>(static_cast<const void*>(text.data())), text.size(), seed);
      } else {
        y[i] = Murmur3(x.As<unsigned char>() + static_cast<std::size_t>(i) * size, size, seed);
      }
    }
  });
}

Prepared PrepareHash(PrepareContext& c) {
  // The seed is an unsigned 32-bit integer in a signed attribute.
  return WithState(RunHash, HashState{static_cast<std::uint32_t>(c.Int("seed", 0))});
}

constexpr OpDef kMurmurHashOps[] = {
    {.domain = "com.microsoft",
     .name = "MurmurHash3",
     .since = {1},
     .types = {DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64, DType::kFloat, DType::kDouble,
               DType::kString},
     .infer = InferHash,
     .prepare = PrepareHash},
};

}  // namespace

std::span<const OpDef> MurmurHashOps() { return kMurmurHashOps; }

}  // namespace sardonyx::ops
