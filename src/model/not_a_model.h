// model/not_a_model.h - recognizes files that are not ONNX models by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::model {

// For error messages: "starts with '<!DOCTYPE html>'", "is a Git LFS pointer ..."; "" if the bytes may be a protobuf.
std::string WhyNotAModel(std::string_view bytes);

}  // namespace sardonyx::model
