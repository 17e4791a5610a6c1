// base/digest.h - a digest of bytes: to find equal ones and to notice damage, not to keep out an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sardonyx {

using Digest = std::array<std::uint64_t, 2>;

// Equal for equal bytes, and for others only by an accident of 1 in 2^128.
Digest DigestOf(std::span<const std::byte> bytes);

}  // namespace sardonyx
