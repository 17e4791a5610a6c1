// png.cpp - PNG by libpng: every color type and depth, interlaced or not.
//
// Of samples with 16 bits the upper 8 count, as in Pillow; transparency is dropped.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "image.h"

namespace sardonyx_images {
namespace {

constexpr png_alloc_size_t kMostChunkBytes = 8u << 20;  // of a profile or a comment, which is read and not used

struct Reading {
  Bytes data;
  std::size_t at = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf back;
  char message[200] = {};
  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void Stop(png_structp png, const char* text) {
  Reading& reading = *static_cast<Reading*>(png_get_error_ptr(png));
  std::strncpy(reading.message, text, sizeof(reading.message) - 1);
  std::longjmp(reading.back, 1);
}

void Ignore(png_structp, const char*) {}

void Read(png_structp png, png_bytep to, std::size_t size) {
  Reading& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (reading.data.size() - reading.at < size) png_error(png, "its data ends too early");
  std::memcpy(to, reading.data.data() + reading.at, size);
  reading.at += size;
}

[[noreturn]] void Refuse(const Reading& reading) {
  throw Damaged(std::string("the PNG image is damaged: ") + reading.message);
}

void Open(Reading& reading) {
  if (setjmp(reading.back) != 0) Refuse(reading);
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, Stop, Ignore);
  if (reading.png == nullptr) throw Damaged("libpng has no memory to begin");
  reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) throw Damaged("libpng has no memory to begin");
  png_set_read_fn(reading.png, &reading, Read);
  png_set_user_limits(reading.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(reading.png, kMostChunkBytes);
  png_read_info(reading.png, reading.info);
}

// Asks for 8 bits of red, green and blue, whatever the file holds. Returns the number of passes over the rows.
int Transform(Reading& reading) {
  if (setjmp(reading.back) != 0) Refuse(reading);
  png_set_strip_16(reading.png);
  png_set_palette_to_rgb(reading.png);
  if (png_get_color_type(reading.png, reading.info) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(reading.png);
  png_set_strip_alpha(reading.png);
  png_set_gray_to_rgb(reading.png);
  const int passes = png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  if (png_get_rowbytes(reading.png, reading.info) != std::size_t{3} * png_get_image_width(reading.png, reading.info))
    png_error(reading.png, "its rows are not red, green and blue");
  return passes;
}

void ReadRow(Reading& reading, std::uint8_t* row) {
  if (setjmp(reading.back) != 0) Refuse(reading);
  png_read_row(reading.png, row, nullptr);
}

// Also checks what lies behind the pixels, so that no truncated file passes.
void Finish(Reading& reading) {
  if (setjmp(reading.back) != 0) Refuse(reading);
  png_read_end(reading.png, nullptr);
}

}  // namespace

void DecodePng(Bytes data, Picture& picture) {
  Reading reading{.data = data};
  Open(reading);
  const std::size_t width = png_get_image_width(reading.png, reading.info);
  const std::size_t height = png_get_image_height(reading.png, reading.info);
  picture.CheckSize(width, height);
  const int passes = Transform(reading);
  picture.Begin(width, height);
  std::vector<std::uint8_t> rows(width * 3 * (passes > 1 ? height : 1));
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) {
      std::uint8_t* const row = rows.data() + (passes > 1 ? y * width * 3 : 0);
      ReadRow(reading, row);
      if (pass + 1 == passes) picture.Row(static_cast<std::int64_t>(y), row);
    }
  }
  Finish(reading);
}

}  // namespace sardonyx_images
