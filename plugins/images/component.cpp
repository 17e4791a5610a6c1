// component.cpp - the two functions that the library calls: finds the decoder for an image by its first bytes.
#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "image.h"
#include "unused_symbols.h"

namespace sardonyx_images {
namespace {

struct Format {
  std::size_t offset;  // of `magic` in the file
  std::string_view magic;
  void (*decode)(Bytes, Picture&);
};

constexpr std::string_view kJpeg2000Signature("\0\0\0\x0CjP  \r\n\x87\n", 12);

constexpr Format kFormats[] = {
    {0, "\xFF\xD8\xFF", DecodeJpeg},
    {0, "\x89PNG\r\n\x1A\n", DecodePng},
    {0, "BM", DecodeBmp},
    {8, "WEBP", DecodeWebP},
    {0, kJpeg2000Signature, DecodeJpeg2000},
    {0, "\xFF\x4F\xFF\x51", DecodeJpeg2000},
    {0, std::string_view("II*\0", 4), DecodeTiff},
    {0, std::string_view("MM\0*", 4), DecodeTiff},
    {0, std::string_view("II+\0", 4), DecodeTiff},
    {0, std::string_view("MM\0+", 4), DecodeTiff},
    {0, "P1", DecodePnm},
    {0, "P2", DecodePnm},
    {0, "P3", DecodePnm},
    {0, "P4", DecodePnm},
    {0, "P5", DecodePnm},
    {0, "P6", DecodePnm},
    {0, "P7", DecodePnm},
};

void Decode(const SdxImageRequest& request) {
  const Bytes data(request.data, request.size);
  const std::string_view text(reinterpret_cast<const char*>(request.data), request.size);
  for (const Format& format : kFormats) {
    if (text.size() < format.offset || !text.substr(format.offset).starts_with(format.magic)) continue;
    Picture picture(request);
    return format.decode(data, picture);
  }
  throw Damaged("expected an image in BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP, found " +
                std::to_string(data.size()) + " bytes of none of these formats");
}

// At most message_size bytes, with the 0 at the end. What a damaged image brings into a message may be any bytes.
std::int32_t Refuse(const SdxImageRequest& request, std::string_view text) {
  const std::size_t size = std::min(text.size(), request.message_size - 1);
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), request.message,
                 [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
  request.message[size] = 0;
  return 1;
}

}  // namespace

void Picture::CheckSize(std::uint64_t width, std::uint64_t height) const {
  if (width == 0 || height == 0)
    throw Damaged("expected an image with pixels, found " + std::to_string(width) + " x " + std::to_string(height));
  if (width > request_.max_pixels / height)
    throw Damaged("expected an image of at most " + std::to_string(request_.max_pixels) + " pixels, found " +
                  std::to_string(width) + " x " + std::to_string(height));
}

void Picture::Begin(std::uint64_t width, std::uint64_t height, int orientation) {
  CheckSize(width, height);
  width_ = static_cast<std::int64_t>(width), height_ = static_cast<std::int64_t>(height);
  const bool transposed = orientation >= 5 && orientation <= 8;
  const std::int64_t out_width = transposed ? height_ : width_, out_height = transposed ? width_ : height_;
  const std::int64_t channels = request_.pixel_format == SDX_PIXELS_GRAYSCALE ? 1 : 3;
  first_ = request_.allocate(request_.context, out_height, out_width, channels);
  if (first_ == nullptr) throw Damaged("there is no memory for its pixels");
  std::int64_t column = channels, row = channels * out_width;
  if (transposed) std::swap(column, row);
  if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) {
    first_ += column * (width_ - 1);
    column = -column;
  }
  if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
    first_ += row * (height_ - 1);
    row = -row;
  }
  to_next_column_ = column, to_next_row_ = row;
}

void Picture::Row(std::int64_t y, const std::uint8_t* rgb) noexcept {
  std::uint8_t* to = first_ + y * to_next_row_;
  if (request_.pixel_format == SDX_PIXELS_RGB && to_next_column_ == 3) {
    std::memcpy(to, rgb, static_cast<std::size_t>(width_) * 3);
    return;
  }
  for (std::int64_t x = 0; x < width_; ++x, rgb += 3, to += to_next_column_) {
    if (request_.pixel_format == SDX_PIXELS_RGB) {
      to[0] = rgb[0], to[1] = rgb[1], to[2] = rgb[2];
    } else if (request_.pixel_format == SDX_PIXELS_BGR) {
      to[0] = rgb[2], to[1] = rgb[1], to[2] = rgb[0];
    } else {  // the luma of ITU-R 601, in the fixed point that Pillow uses
      to[0] = static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
    }
  }
}

}  // namespace sardonyx_images

extern "C" {

__attribute__((visibility("default"))) std::uint32_t SdxImagesVersion() { return SDX_IMAGES_VERSION; }

__attribute__((visibility("default"))) std::int32_t SdxDecodeImage(const SdxImageRequest* request) {
  [[maybe_unused]] static const bool ready = (SetStandardStreams(), true);
  try {
    sardonyx_images::Decode(*request);
    return 0;
  } catch (const std::bad_alloc&) {
    return sardonyx_images::Refuse(*request, "there is no memory to decode it");
  } catch (const std::exception& error) {
    return sardonyx_images::Refuse(*request, error.what());
  }
}
}
