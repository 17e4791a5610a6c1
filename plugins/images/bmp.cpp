// bmp.cpp - BMP: 1, 2, 4 and 8 bits with a palette (also run-length encoded), 16, 24 and 32 bits with or without masks.
#include <bit>
#include <vector>

#include "image.h"

namespace sardonyx_images {
namespace {

enum Compression : std::uint32_t { kNone = 0, kRunLength8 = 1, kRunLength4 = 2, kMasks = 3, kMasksWithAlpha = 6 };

// Little-endian numbers at any place; what lies past the end is an error.
class Reader {
 public:
  explicit Reader(Bytes data) : data_(data) {}
  std::uint32_t Number(std::size_t at, std::size_t bytes) const {
    const Bytes part = Part(at, bytes);
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | part[i];
    return value;
  }
  Bytes Part(std::size_t at, std::size_t bytes) const {
    if (at > data_.size() || data_.size() - at < bytes)
      throw Damaged("the BMP image is truncated: expected " + std::to_string(bytes) + " bytes at " +
                    std::to_string(at) + ", found " + std::to_string(data_.size()) + " bytes altogether");
    return data_.subspan(at, bytes);
  }
  std::size_t size() const { return data_.size(); }

 private:
  Bytes data_;
};

// Where a color lies in a pixel of 16 or 32 bits.
struct Mask {
  std::uint32_t mask = 0;
  std::uint8_t Of(std::uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const std::uint64_t most = mask >> shift, value = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>(value * 255 / most);
  }
};

struct Header {
  std::uint32_t width = 0, height = 0, bits = 0, compression = kNone;
  bool from_top = false;
  std::size_t pixels = 0;  // offset
  Palette palette = {};
  Mask red, green, blue;
};

void ReadPalette(const Reader& file, std::size_t at, std::size_t entry, std::uint32_t used, Header& h) {
  std::size_t count = std::size_t{1} << h.bits;
  if (used != 0 && used < count) count = used;
  // Some writers store fewer colors than they say: the pixels begin where the palette must end.
  if (h.pixels > at) count = std::min(count, (h.pixels - at) / entry);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes color = file.Part(at + i * entry, 3);
    h.palette[i] = {color[2], color[1], color[0]};
  }
}

void ReadMasks(const Reader& file, std::size_t at, Header& h) {
  h.red.mask = file.Number(at, 4);
  h.green.mask = file.Number(at + 4, 4);
  h.blue.mask = file.Number(at + 8, 4);
}

void CheckForm(const Header& h) {
  const bool plain = h.compression == kNone && (h.bits == 1 || h.bits == 2 || h.bits == 4 || h.bits == 8 ||
                                                h.bits == 16 || h.bits == 24 || h.bits == 32);
  const bool masked =
      (h.compression == kMasks || h.compression == kMasksWithAlpha) && (h.bits == 16 || h.bits == 32 || h.bits == 24);
  const bool runs = (h.compression == kRunLength8 && h.bits == 8) || (h.compression == kRunLength4 && h.bits == 4);
  if (!plain && !masked && !runs)
    throw Damaged("a BMP image of " + std::to_string(h.bits) + " bits with compression " +
                  std::to_string(h.compression) + " is not supported");
}

Header ReadHeader(const Reader& file) {
  Header h;
  h.pixels = file.Number(10, 4);
  const std::size_t size = file.Number(14, 4), end = 14 + size;
  if (size == 12) {  // OS/2
    h.width = file.Number(18, 2), h.height = file.Number(20, 2), h.bits = file.Number(24, 2);
    CheckForm(h);
    if (h.bits <= 8) ReadPalette(file, end, 3, 0, h);
  } else if (size >= 40 && size <= 124) {
    h.width = file.Number(18, 4), h.height = file.Number(22, 4);
    h.bits = file.Number(28, 2), h.compression = file.Number(30, 4);
    h.from_top = (h.height >> 31) != 0;
    if (h.from_top) h.height = 0u - h.height;
    CheckForm(h);
    if (h.bits <= 8) ReadPalette(file, end, 4, file.Number(46, 4), h);
  } else {
    throw Damaged("expected a BMP header of 12 or 40 to 124 bytes, found " + std::to_string(size));
  }
  if (h.compression == kMasks || h.compression == kMasksWithAlpha) {
    ReadMasks(file, 54, h);  // in longer headers and behind the short one they lie at the same place
  } else if (h.bits == 16) {
    h.red.mask = 0x7C00, h.green.mask = 0x3E0, h.blue.mask = 0x1F;
  } else {
    h.red.mask = 0xFF0000, h.green.mask = 0xFF00, h.blue.mask = 0xFF;
  }
  return h;
}

void ReadPlainRows(const Reader& file, const Header& h, Picture& picture) {
  const std::size_t stride = (static_cast<std::size_t>(h.width) * h.bits + 31) / 32 * 4;
  file.Part(h.pixels, (h.height - 1) * stride + (static_cast<std::size_t>(h.width) * h.bits + 7) / 8);
  picture.Begin(h.width, h.height, h.from_top ? 1 : 4);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(h.width) * 3);
  for (std::uint32_t y = 0; y < h.height; ++y) {
    const std::size_t at = h.pixels + y * stride;
    for (std::uint32_t x = 0; x < h.width; ++x) {
      std::uint8_t* const rgb = &row[static_cast<std::size_t>(x) * 3];
      if (h.bits <= 8) {
        const std::uint32_t byte = file.Number(at + static_cast<std::size_t>(x) * h.bits / 8, 1);
        const std::uint32_t shift = 8 - h.bits - x * h.bits % 8;
        const auto& color = h.palette[(byte >> shift) & ((1u << h.bits) - 1)];
        rgb[0] = color[0], rgb[1] = color[1], rgb[2] = color[2];
      } else {
        const std::uint32_t pixel = file.Number(at + static_cast<std::size_t>(x) * (h.bits / 8), h.bits / 8);
        rgb[0] = h.red.Of(pixel), rgb[1] = h.green.Of(pixel), rgb[2] = h.blue.Of(pixel);
      }
    }
    picture.Row(y, row.data());
  }
}

// The colors of a run-length encoded image, row by row from the first that is stored. What no run reaches has color 0.
class Runs {
 public:
  Runs(const Reader& file, const Header& h)
      : file_(file), h_(h), at_(h.pixels), indices_(static_cast<std::size_t>(h.width) * h.height) {}

  const std::vector<std::uint8_t>& Read() {
    while (y_ < h_.height) {
      const std::uint32_t count = Next(), value = Next();
      if (count > 0) {
        for (std::uint32_t i = 0; i < count; ++i) Put(ColorOf(value, i));
      } else if (value == 0) {
        x_ = 0, ++y_;
      } else if (value == 1) {
        break;
      } else if (value == 2) {
        x_ += Next();
        y_ += Next();
      } else {
        Literal(value);
      }
    }
    return indices_;
  }

 private:
  std::uint32_t Next() { return file_.Number(at_++, 1); }
  std::uint8_t ColorOf(std::uint32_t byte, std::uint32_t i) const {
    if (h_.bits == 8) return static_cast<std::uint8_t>(byte);
    return static_cast<std::uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
  }
  void Put(std::uint8_t color) {
    if (x_ < h_.width && y_ < h_.height) indices_[static_cast<std::size_t>(y_) * h_.width + x_] = color;
    ++x_;
  }
  void Literal(std::uint32_t count) {
    std::uint32_t byte = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (h_.bits == 8 || i % 2 == 0) byte = Next();
      Put(ColorOf(byte, i));
    }
    const std::uint32_t bytes = h_.bits == 8 ? count : (count + 1) / 2;
    at_ += bytes % 2;
  }

  const Reader& file_;
  const Header& h_;
  std::size_t at_;
  std::uint32_t x_ = 0, y_ = 0;
  std::vector<std::uint8_t> indices_;
};

void ReadRuns(const Reader& file, const Header& h, Picture& picture) {
  picture.CheckSize(h.width, h.height);
  Runs runs(file, h);
  const std::vector<std::uint8_t>& indices = runs.Read();
  picture.Begin(h.width, h.height, h.from_top ? 1 : 4);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(h.width) * 3);
  for (std::uint32_t y = 0; y < h.height; ++y) {
    for (std::uint32_t x = 0; x < h.width; ++x) {
      const auto& color = h.palette[indices[static_cast<std::size_t>(y) * h.width + x]];
      for (std::size_t i = 0; i < 3; ++i) row[static_cast<std::size_t>(x) * 3 + i] = color[i];
    }
    picture.Row(y, row.data());
  }
}

}  // namespace

void DecodeBmp(Bytes data, Picture& picture) {
  const Reader file(data);
  const Header h = ReadHeader(file);
  picture.CheckSize(h.width, h.height);
  if (h.compression == kRunLength8 || h.compression == kRunLength4) return ReadRuns(file, h, picture);
  ReadPlainRows(file, h, picture);
}

}  // namespace sardonyx_images
