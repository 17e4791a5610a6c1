// image.h - what the decoders share: the bytes they read, the pixels they write, and their one type of exception.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "sardonyx_images.h"

namespace sardonyx_images {

using Bytes = std::span<const std::uint8_t>;

// The image cannot be decoded; the text says why.
class Damaged : public std::exception {
 public:
  explicit Damaged(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// The image as the operator gives it away: 8 bits for each channel, in the format that was asked for.
//
// Decoders hand over rows of RGB, from the first to the last as they are stored. Alpha has been dropped by then, as
// Pillow, the reference's library, does it in convert("RGB").
class Picture {
 public:
  explicit Picture(const SdxImageRequest& request) : request_(request) {}

  // Fails if the size is not one that may be decoded. Decoders call it before they allocate anything of that size.
  void CheckSize(std::uint64_t width, std::uint64_t height) const;
  // Checks the size and allocates the output. `orientation` is that of TIFF and EXIF, 1 to 8: where the first row and
  // column of the stored image belong.
  void Begin(std::uint64_t width, std::uint64_t height, int orientation = 1);
  // Row y of the stored image: 3 * width bytes.
  void Row(std::int64_t y, const std::uint8_t* rgb) noexcept;
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }

 private:
  const SdxImageRequest& request_;
  std::int64_t width_ = 0, height_ = 0;                // as stored
  std::uint8_t* first_ = nullptr;                      // where pixel (0, 0) belongs
  std::int64_t to_next_column_ = 0, to_next_row_ = 0;  // in bytes
};

// One pixel of CMYK, where 255 is full ink, as RGB: by Pillow's formula.
inline void CmykToRgb(const std::uint8_t* cmyk, std::uint8_t* rgb) {
  const int light = 255 - cmyk[3];
  for (int i = 0; i < 3; ++i) {
    const int product = cmyk[i] * light + 128;
    const int value = light - ((product + (product >> 8)) >> 8);
    rgb[i] = static_cast<std::uint8_t>(value < 0 ? 0 : value);
  }
}

inline void GrayToRgb(std::uint8_t gray, std::uint8_t* rgb) { rgb[0] = rgb[1] = rgb[2] = gray; }

// Colors of a palette. What no color was given for is black.
using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

// The decoders. Each reads the whole image or throws Damaged.
void DecodeBmp(Bytes data, Picture& picture);
void DecodeJpeg(Bytes data, Picture& picture);
void DecodeJpeg2000(Bytes data, Picture& picture);
void DecodePng(Bytes data, Picture& picture);
void DecodePnm(Bytes data, Picture& picture);
void DecodeTiff(Bytes data, Picture& picture);
void DecodeWebP(Bytes data, Picture& picture);

}  // namespace sardonyx_images
