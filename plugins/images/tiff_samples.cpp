// tiff_samples.cpp - tiles and lines of a TIFF file into one array.
#include "tiff_samples.h"

#include <algorithm>

#include "image.h"

namespace sardonyx_images {
namespace {

constexpr std::uint64_t kMostBytesAtOnce = 1u << 30;  // of a line or a tile

class SampleReader {
 public:
  SampleReader(TIFF* file, const TiffForm& form)
      : file_(file),
        form_(form),
        in_row_(form.separate() ? 1 : form.samples),
        result_(std::make_unique_for_overwrite<std::uint8_t[]>(std::size_t{form.width} * form.height * form.used)) {}

  std::unique_ptr<std::uint8_t[]> Read() {
    const std::uint16_t planes = form_.separate() ? form_.used : 1;
    for (std::uint16_t plane = 0; plane < planes; ++plane) TIFFIsTiled(file_) ? ReadTiles(plane) : ReadLines(plane);
    return std::move(result_);
  }

 private:
  // Memory for `bytes`, of which the pixels of a row fill at least `needed`.
  static std::unique_ptr<std::uint8_t[]> Memory(std::uint64_t bytes, std::uint64_t needed) {
    if (bytes < needed || bytes > kMostBytesAtOnce)
      throw Damaged("expected lines and tiles of " + std::to_string(needed) + " to " +
                    std::to_string(kMostBytesAtOnce) + " bytes in the TIFF image, found " + std::to_string(bytes));
    return std::make_unique<std::uint8_t[]>(bytes);
  }
  std::uint64_t RowBytes(std::uint64_t pixels) const { return (pixels * in_row_ * form_.bits + 7) / 8; }

  void ReadLines(std::uint16_t plane) {
    const auto line = Memory(TIFFScanlineSize64(file_), RowBytes(form_.width));
    for (std::uint32_t y = 0; y < form_.height; ++y) {
      if (TIFFReadScanline(file_, line.get(), y, plane) < 0) throw Damaged("a line cannot be read");
      Unpack(line.get(), form_.width, y, 0, plane);
    }
  }

  void ReadTiles(std::uint16_t plane) {
    std::uint32_t width = 0, height = 0;
    TIFFGetField(file_, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(file_, TIFFTAG_TILELENGTH, &height);
    if (width == 0 || height == 0) throw Damaged("the TIFF image is damaged: its tiles have no size");
    const std::uint64_t row = TIFFTileRowSize64(file_), size = TIFFTileSize64(file_);
    if (row < RowBytes(width) || size / height < row)
      throw Damaged("the TIFF image is damaged: its tiles are too small");
    const auto tile = Memory(size, row);
    for (std::uint64_t y = 0; y < form_.height; y += height) {
      for (std::uint64_t x = 0; x < form_.width; x += width) {
        const auto left = static_cast<std::uint32_t>(x), top = static_cast<std::uint32_t>(y);
        if (TIFFReadTile(file_, tile.get(), left, top, 0, plane) < 0) throw Damaged("a tile cannot be read");
        for (std::uint32_t i = 0; i < std::min(height, form_.height - top); ++i)
          Unpack(tile.get() + i * row, std::min(width, form_.width - left), top + i, left, plane);
      }
    }
  }

  void Unpack(const std::uint8_t* from, std::uint32_t pixels, std::uint32_t y, std::uint32_t x, std::uint16_t plane) {
    std::uint8_t* to = result_.get() + (std::size_t{y} * form_.width + x) * form_.used + plane;
    const std::size_t count = form_.separate() ? 1 : form_.used;
    for (std::uint32_t i = 0; i < pixels; ++i, to += form_.used)
      for (std::size_t k = 0; k < count; ++k) to[k] = Sample(from, std::size_t{i} * in_row_ + k);
  }

  std::uint8_t Sample(const std::uint8_t* row, std::size_t i) const {
    if (form_.bits == 8) return row[i];
    if (form_.bits == 16) return static_cast<std::uint8_t>(reinterpret_cast<const std::uint16_t*>(row)[i] >> 8);
    const std::size_t bit = i * form_.bits;
    return static_cast<std::uint8_t>(row[bit / 8] >> (8 - form_.bits - bit % 8) & ((1 << form_.bits) - 1));
  }

  TIFF* file_;
  const TiffForm& form_;
  std::size_t in_row_;  // samples of a pixel that lie in one row of the file
  std::unique_ptr<std::uint8_t[]> result_;
};

}  // namespace

std::unique_ptr<std::uint8_t[]> ReadTiffSamples(TIFF* file, const TiffForm& form) {
  return SampleReader(file, form).Read();
}

}  // namespace sardonyx_images
