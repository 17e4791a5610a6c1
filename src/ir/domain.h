// ir/domain.h - ONNX's standard domain, which has two names.
#pragma once

#include <string_view>

namespace sardonyx {

// "" for "ai.onnx", which is another name for it; other domains unchanged.
inline std::string_view StandardDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace sardonyx
