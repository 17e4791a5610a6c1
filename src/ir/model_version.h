// ir/model_version.h - the version of a model whose file names none.
#pragma once

#include <cstdint>
#include <limits>

namespace sardonyx {

// As in ONNX Runtime, whose users compare with it. A file may also say 0.
inline constexpr std::int64_t kNoModelVersion = std::numeric_limits<std::int64_t>::max();

}  // namespace sardonyx
