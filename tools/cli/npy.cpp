// tools/cli/npy.cpp - NumPy's array format, versions 1 to 3 (numpy.lib.format).
#include <algorithm>
#include <charconv>
#include <cstring>

#include "ort.h"
#include "tensor_file.h"

namespace sardonyx::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void Bad(const std::string& what) { throw Failure(ORT_INVALID_ARGUMENT, "not a usable .npy: " + what); }

// The text after "'key':" in the header, a Python dictionary such as {'descr': '<f4', 'shape': (2, 3), }.
std::string_view Entry(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) Bad("its header has no '" + std::string(key) + "'");
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::string Descr(std::string_view header) {
  const std::string_view text = Entry(header, "descr");
  const std::size_t end = text.find('\'', 1);
  if (!text.starts_with('\'') || end == std::string_view::npos) Bad("records are not supported");
  return std::string(text.substr(1, end - 1));
}

std::vector<std::int64_t> Shape(std::string_view header) {
  std::string_view text = Entry(header, "shape");
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) Bad("its shape is not a tuple");
  std::vector<std::int64_t> shape;
  const char* at = text.data() + 1;
  const char* stop = text.data() + end;
  while (at < stop) {
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, stop, dim);
    if (error == std::errc()) shape.push_back(dim);
    at = error == std::errc() ? next : at + 1;
  }
  return shape;
}

void SwapBytes(std::span<std::byte> data, std::size_t width) {
  for (std::size_t i = 0; i + width <= data.size(); i += width) std::ranges::reverse(data.subspan(i, width));
}

// Column-major to row-major.
std::vector<std::byte> Transpose(const std::vector<std::byte>& data, std::span<const std::int64_t> shape,
                                 std::size_t width) {
  std::vector<std::byte> out(data.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t to = 0; to < data.size() / std::max<std::size_t>(width, 1); ++to) {
    std::size_t from = 0;
    std::size_t stride = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      from += static_cast<std::size_t>(index[axis]) * stride;
      stride *= static_cast<std::size_t>(shape[axis]);
    }
    std::memcpy(out.data() + to * width, data.data() + from * width, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

void AppendUtf8(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    text += {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
             static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    text += {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
             static_cast<char>(0x80 | ((c >> 6) & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
}

// The code points of UTF-8 text. A byte that is not valid UTF-8 becomes a code point of its own.
std::u32string CodePoints(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 1 || i + length > text.size()) {
      points += lead;
      ++i;
      continue;
    }
    char32_t point = lead & (0xFFU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) point = (point << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    points += point;
    i += length;
  }
  return points;
}

// Fixed-width strings: '<U5' holds 4-byte code points, '|S5' bytes; both are padded with zeros.
void ReadStrings(HostTensor& tensor, const std::string& descr, std::string_view data, std::size_t count) {
  const std::size_t width = static_cast<std::size_t>(std::stoul(descr.substr(2))) * (descr[1] == 'U' ? 4 : 1);
  if (data.size() < width * count) Bad("its data is cut short");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view cell = data.substr(i * width, width);
    std::string text;
    if (descr[1] == 'S') {
      text = std::string(cell.substr(0, cell.find_last_not_of('\0') + 1));
    } else {
      for (std::size_t k = 0; k < width; k += 4) {
        char32_t point = 0;
        std::memcpy(&point, cell.data() + k, 4);
        if (point) AppendUtf8(text, point);
      }
    }
    tensor.strings.push_back(std::move(text));
  }
}

std::string Header(const std::string& descr, std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : shape) text += std::to_string(dim) + ", ";
  text += "), }";
  const std::size_t unpadded = kMagic.size() + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace

HostTensor ParseNpy(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) Bad("it does not begin with \\x93NUMPY");
  const bool long_header = bytes[6] >= 2;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, long_header ? 4 : 2);
  const std::size_t start = long_header ? 12 : 10;
  if (bytes.size() - start < length) Bad("its header is cut short");
  const std::string_view header = bytes.substr(start, length);
  const std::string_view data = bytes.substr(start + length);
  std::string descr = Descr(header);
  HostTensor tensor{.shape = Shape(header)};
  const std::size_t count = ElementCount(tensor.shape);
  if (descr.size() > 2 && (descr[1] == 'U' || descr[1] == 'S')) {
    tensor.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    if (descr[0] == '>') Bad("big-endian strings are not supported");
    ReadStrings(tensor, descr, data, count);
    return tensor;
  }
  const bool swap = descr.starts_with('>');
  if (swap) descr[0] = '<';
  // NumPy saves the types of ml_dtypes as bits without a name.
  if (descr == "|V1" || descr == "<V1" || descr == "<f1") descr = "|u1";
  if (descr == "|V2" || descr == "<V2") descr = "<u2";
  const ElementType* type = FindNpyType(descr);
  if (!type) Bad("its element type '" + descr + "' has no counterpart in ONNX (objects must be saved as strings)");
  tensor.type = type->type;
  const std::size_t size = DataSize(*type, count);
  if (data.size() < size)
    Bad("expected " + std::to_string(size) + " bytes of data, found " + std::to_string(data.size()));
  tensor.data.resize(size);
  if (size) std::memcpy(tensor.data.data(), data.data(), size);
  const auto width = static_cast<std::size_t>(type->bits / 8);
  if (swap) SwapBytes(tensor.data, type->layout == Layout::kComplex ? width / 2 : width);
  if (Entry(header, "fortran_order").starts_with("True")) tensor.data = Transpose(tensor.data, tensor.shape, width);
  return tensor;
}

std::string FormatNpy(const HostTensor& tensor) {
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    std::vector<std::u32string> cells;
    std::size_t width = 1;
    for (const std::string& text : tensor.strings) {
      cells.push_back(CodePoints(text));
      width = std::max(width, cells.back().size());
    }
    std::string bytes = Header("<U" + std::to_string(width), tensor.shape);
    for (std::u32string& cell : cells) {
      cell.resize(width, U'\0');
      bytes.append(reinterpret_cast<const char*>(cell.data()), width * 4);
    }
    return bytes;
  }
  const ElementType& type = FindElementType(tensor.type);
  std::string descr(type.npy);
  std::vector<std::int64_t> shape = tensor.shape;
  if (descr.empty()) descr = type.bits == 16 ? "<u2" : "|u1";
  if (type.bits < 8) shape = {static_cast<std::int64_t>(tensor.data.size())};
  return Header(descr, shape).append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
}

}  // namespace sardonyx::cli
