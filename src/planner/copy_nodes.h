// planner/copy_nodes.h - the names of the nodes that copy values between devices, and which memory needs none.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace sardonyx::planner {

// The domain and the op_types of copies. A copy belongs to the provider whose device is on one side of it.
inline constexpr std::string_view kCopyDomain = "ai.sardonyx";
inline constexpr std::string_view kCopyFromHost = "MemcpyFromHost";
inline constexpr std::string_view kCopyToHost = "MemcpyToHost";
inline constexpr std::string_view kCopyAcross = "MemcpyAcross";  // from one device to another

// Ordinary memory of the host. Host memory of a kind that a device reaches is none: a provider's values lie there if it
// says so, and are copied like those on its device.
inline bool IsOrdinary(const Device& device) { return device.IsHost() && device.memory != MemoryKind::kHostAccessible; }

}  // namespace sardonyx::planner
