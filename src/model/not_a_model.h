// model/not_a_model.h - what a file is that is no ONNX model, by its first bytes.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::model {

// "starts with '<!DOCTYPE html>'", "is a Git LFS pointer ..."; "" if the bytes may be a protobuf.
std::string WhyNotAModel(std::string_view bytes);

}  // namespace sardonyx::model
