// tools/cli/tensor_file.h - tensors in files: NumPy's .npy and .npz, and ONNX's TensorProto in .pb.
//
// To add a format: its reader and writer here, its suffix in ReadTensors and WriteTensors (tensor_file.cpp).
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

// The format follows the suffix. A tensor is named as in the .npz or .pb, and "" in an .npy.
// Errors (Failure): NO_SUCHFILE, INVALID_ARGUMENT for a suffix or content that is not understood.
std::vector<HostTensor> ReadTensors(const std::filesystem::path& path);

// `path` ends in .npz: all in one file. It ends in .npy or .pb: one tensor. Else it is a folder, made if needed, that
// receives NAME.npy for each. Returns the files written.
std::vector<std::filesystem::path> WriteTensors(const std::filesystem::path& path, std::span<const HostTensor> tensors);

// The bytes of one file of each format. Types that NumPy lacks (bfloat16, float8, types under 8 bits) are written as
// the unsigned integers that hold their bits; reading one for such an input takes them back.
HostTensor ParseNpy(std::string_view bytes);
std::string FormatNpy(const HostTensor& tensor);
HostTensor ParseTensorProto(std::string_view bytes);
std::string FormatTensorProto(const HostTensor& tensor);

using NamedBytes = std::pair<std::string, std::string>;
std::vector<NamedBytes> ParseZip(std::string_view bytes);    // stored and deflated entries
std::string FormatZip(std::span<const NamedBytes> entries);  // stored

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_TENSOR_FILE_H
