// tools/cli/tensor_file.h - tensors in files: NumPy's .npy and .npz, and ONNX's TensorProto in .pb.
//
// To add a format, declare its reader and writer here and add its suffix to ReadTensors and WriteTensors.
#ifndef SARDONYX_TOOLS_CLI_TENSOR_FILE_H
#define SARDONYX_TOOLS_CLI_TENSOR_FILE_H

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_tensor.h"

namespace sardonyx::cli {

// The suffix selects the format. A tensor has its name from the .npz or .pb; in an .npy its name is "". Throws a
// Failure: NO_SUCHFILE, or INVALID_ARGUMENT for an unknown suffix or a damaged file.
std::vector<HostTensor> ReadTensors(const std::filesystem::path& path);

// A `path` that ends in .npz receives all tensors, one that ends in .npy or .pb a single tensor. Any other path is a
// folder, created if needed, that receives a file NAME.npy for each tensor. Returns the files that were written.
std::vector<std::filesystem::path> WriteTensors(const std::filesystem::path& path, std::span<const HostTensor> tensors);

// Parsers and writers of a whole file in each format. Types that NumPy lacks (bfloat16, float8, types of less than 8
// bits) are written as unsigned integers with the same bits; an input of such a type accepts them again.
HostTensor ParseNpy(std::string_view bytes);
std::string FormatNpy(const HostTensor& tensor);
HostTensor ParseTensorProto(std::string_view bytes);
std::string FormatTensorProto(const HostTensor& tensor);

using NamedBytes = std::pair<std::string, std::string>;
std::vector<NamedBytes> ParseZip(std::string_view bytes);    // stored and deflated entries
std::string FormatZip(std::span<const NamedBytes> entries);  // stored

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_TENSOR_FILE_H
