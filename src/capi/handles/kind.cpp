// capi/handles/kind.cpp - the names of the kinds of handles.
#include "capi/handles/kind.h"

#include <array>
#include <cstddef>

namespace sardonyx::capi {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Kind::kCount)> kNames = {
#define SARDONYX_HANDLE_KIND(NAME, TYPE, WORDS) WORDS,
#include "capi/handles/kinds.inc"
#undef SARDONYX_HANDLE_KIND
};

}  // namespace

const char* NameOf(Kind kind) noexcept { return kNames[static_cast<std::size_t>(kind)]; }

const char* NameOf(const void* handle) noexcept {
  const std::uint64_t word = FirstWord(handle);
  const std::size_t number = word & 0x7F;
  return (word & ~std::uint64_t{0x7F}) == kMark && number < kNames.size() ? kNames[number] : "something else";
}

}  // namespace sardonyx::capi
