// tools/cli/tensor_file.cpp - reads and writes tensor files; the suffix selects the format.
#include "tensor_file.h"

#include <algorithm>

#include "ort.h"

namespace sardonyx::cli {
namespace {

// A file name for the name of a value: "layer/out:0" -> "layer_out_0".
std::string FileName(std::string name) {
  for (char& c : name) {
    if (std::string_view("/\\:*?\"<>| ").find(c) != std::string_view::npos) c = '_';
  }
  return name.empty() || name == "." || name == ".." ? "output" : name;
}

}  // namespace

std::vector<HostTensor> ReadTensors(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  const std::string bytes = ReadFile(path);
  try {
    if (suffix == ".npy") return {ParseNpy(bytes)};
    if (suffix == ".pb") return {ParseTensorProto(bytes)};
    if (suffix == ".npz") {
      std::vector<HostTensor> tensors;
      for (const auto& [name, content] : ParseZip(bytes)) {
        tensors.push_back(ParseNpy(content));
        tensors.back().name = name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
      }
      return tensors;
    }
  } catch (const Failure& failure) {
    throw Failure(failure.code(), "'" + path.string() + "': " + failure.what());
  }
  throw Failure(ORT_INVALID_ARGUMENT,
                "'" + path.string() + "': expected a file that ends in .npy, .npz or .pb, found '" + suffix + "'");
}

std::vector<std::filesystem::path> WriteTensors(const std::filesystem::path& path,
                                                std::span<const HostTensor> tensors) {
  const std::string suffix = path.extension().string();
  if (suffix == ".npz") {
    std::vector<NamedBytes> entries;
    for (const HostTensor& tensor : tensors) entries.emplace_back(FileName(tensor.name) + ".npy", FormatNpy(tensor));
    WriteFile(path, FormatZip(entries));
    return {path};
  }
  if (suffix == ".npy" || suffix == ".pb") {
    if (tensors.size() != 1) {
      throw Failure(ORT_INVALID_ARGUMENT, "'" + path.string() + "': expected one tensor for this kind of file, found " +
                                              std::to_string(tensors.size()) + ": write an .npz or a folder");
    }
    WriteFile(path, suffix == ".npy" ? FormatNpy(tensors[0]) : FormatTensorProto(tensors[0]));
    return {path};
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Failure(ORT_FAIL, "cannot create the folder '" + path.string() + "': " + error.message());
  std::vector<std::filesystem::path> written;
  for (const HostTensor& tensor : tensors) {
    written.push_back(path / (FileName(tensor.name) + ".npy"));
    WriteFile(written.back(), FormatNpy(tensor));
  }
  return written;
}

}  // namespace sardonyx::cli
