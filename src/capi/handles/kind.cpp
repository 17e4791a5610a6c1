// capi/handles/kind.cpp - the names of the kinds of handles.
#include "capi/handles/kind.h"

#include <array>
#include <cstddef>

namespace sardonyx::capi {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Kind::kCount)> kNames = {
    "an environment",
    "a session",
    "session options",
    "run options",
    "a binding",
    "a memory info",
    "a type info",
    "a tensor type and shape info",
    "a map type info",
    "a sequence type info",
    "an optional type info",
    "model metadata",
    "threading options",
    "an arena configuration",
    "a container of prepacked weights",
    "key-value pairs",
    "a LoRA adapter",
    "a status",
    "a logger",
    "a custom operator domain",
    "an operator",
    "a kernel info",
    "a kernel context",
    "a shape inference context",
    "a hardware device",
    "a provider's device",
    "an assigned subgraph",
    "an assigned node",
    "a value info",
    "a node",
    "a graph",
    "a model",
    "an external initializer info",
    "model compilation options",
    "model package options",
    "a model package",
    "a component of a model package",
    "a kernel registry",
    "a kernel definition builder",
    "a kernel definition",
    "an operator schema",
    "a type constraint",
    "a profiling event",
    "a container of profiling events",
    "an EP context configuration",
    "incompatibility details",
    "a graph support info",
    "a node compute context",
    "a cache of prepacked weights",
};

}  // namespace

const char* NameOf(Kind kind) noexcept { return kNames[static_cast<std::size_t>(kind)]; }

const char* NameOf(const void* handle) noexcept {
  const std::uint64_t word = FirstWord(handle);
  const std::size_t number = word & 0x7F;
  return (word & ~std::uint64_t{0x7F}) == kMark && number < kNames.size() ? kNames[number] : "something else";
}

}  // namespace sardonyx::capi
