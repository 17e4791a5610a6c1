// base/memory/kept_blocks.h - frees small blocks of the heap a little later.
//
// ONNX Runtime's arena leaves a freed block as it is until the block is needed again. Some released programs read an
// output's number right after they released the value. The heap writes its own pointers into a freed block at once.
#pragma once

#include <cstddef>

namespace sardonyx {

inline constexpr std::size_t kLargestKeptBlock = 4096;
inline constexpr std::size_t kKeptBlocks = 16;

// Frees the block once kKeptBlocks others have come here after it. Thread-safe, no lock. If a sanitizer watches the
// heap, it is freed at once: a program that reads it is then told.
void FreeLater(void* data) noexcept;

}  // namespace sardonyx
