// model/not_a_model.cpp - the signatures of files that are often given in place of a model.
#include "model/not_a_model.h"

#include <algorithm>

namespace sardonyx::model {
namespace {

struct Signature {
  std::size_t at;
  std::string_view bytes, what;
};
constexpr Signature kSignatures[] = {
    {0, "version https://git-lfs", "is a Git LFS pointer, not the file itself (fetch it with 'git lfs pull')"},
    {4, "TFL3", "is a TensorFlow Lite model; convert it to ONNX first"},
    {0, "GGUF", "is a GGUF file; convert it to ONNX first"},
    {0, "PK\x03\x04", "is a zip archive (PyTorch and Keras save such files); export the model to ONNX first"},
    {0, "\x89HDF", "is an HDF5 file; convert it to ONNX first"},
    {0,
     "\x7f"
     "ELF",
     "is a program or library"},
    {0, "\x93NUMPY", "is a NumPy array; arrays are inputs of a model"},
    {0, "\x80\x02", "is a Python pickle; export the model to ONNX first"},
    {0, "\x80\x03", "is a Python pickle; export the model to ONNX first"},
    {0, "\x80\x04", "is a Python pickle; export the model to ONNX first"},
    {0, "\x80\x05", "is a Python pickle; export the model to ONNX first"},
    {0, "\x89PNG", "is an image; images are inputs of a model"},
    {0, "\xff\xd8\xff", "is an image; images are inputs of a model"},
    {0, "\x1f\x8b", "is compressed with gzip; decompress it first"},
};

bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

std::string WhyNotAModel(std::string_view bytes) {
  if (bytes.empty()) return "is empty";
  for (const Signature& s : kSignatures) {
    if (bytes.size() < s.at || bytes.substr(s.at, s.bytes.size()) != s.bytes) continue;
    // Flatbuffers begin with the offset of their root, which is small. A model may have such text there: its producer.
    if (s.at == 0 || bytes[3] == '\0') return std::string(s.what);
  }
  // A model starts with a few small numbers: no text does.
  constexpr std::size_t kEnough = 64, kShown = 40;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes.substr(0, kByteOrderMark.size()) == kByteOrderMark) bytes.remove_prefix(kByteOrderMark.size());
  const std::string_view start = bytes.substr(0, kEnough);
  if (!std::all_of(start.begin(), start.end(), IsText)) return "";
  const std::string_view line = start.substr(0, std::min(start.find_first_of("\r\n"), kShown));
  return "starts with '" + std::string(line) + "'";
}

}  // namespace sardonyx::model
