// ir/domain.h - the two names of ONNX's own domain.
#pragma once

#include <string_view>

namespace sardonyx {

// "" for "ai.onnx", which are the same; other domains as they are.
inline std::string_view StandardDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace sardonyx
