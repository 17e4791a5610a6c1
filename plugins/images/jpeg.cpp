// jpeg.cpp - JPEG by libjpeg-turbo: gray, color and CMYK, baseline and progressive.
//
// The library reports errors with longjmp, so nothing with a destructor is made between setjmp and the last of its
// calls.
#include <csetjmp>
#include <cstdio>
#include <string>
#include <vector>

#include "image.h"
// clang-format off
#include <jpeglib.h>  // needs <cstdio> before it
#include <jerror.h>   // needs jpeglib.h
// clang-format on

namespace sardonyx_images {
namespace {

// A progressive image may refine its coefficients any number of times, in a few bytes each; encoders use about ten.
constexpr int kMostScans = 500;

struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

Decoder& Of(j_common_ptr jpeg) { return *static_cast<Decoder*>(jpeg->client_data); }

[[noreturn]] void Stop(j_common_ptr jpeg) {
  jpeg->err->format_message(jpeg, Of(jpeg).message);
  std::longjmp(Of(jpeg).back, 1);
}

// Warnings after which pixels are missing or invented are errors; others, such as extra bytes between segments, are
// not.
void Warn(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      Stop(jpeg);
    default:
      ++jpeg->err->num_warnings;
  }
}

void Discard(j_common_ptr) {}

void LimitScans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  std::snprintf(Of(jpeg).message, JMSG_LENGTH_MAX, "expected at most %d scans, found more", kMostScans);
  std::longjmp(Of(jpeg).back, 1);
}

[[noreturn]] void Refuse(const Decoder& decoder) {
  throw Damaged(std::string("the JPEG image is damaged: ") + decoder.message);
}

void Open(Decoder& decoder, Bytes data) {
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = Stop;
  decoder.errors.emit_message = Warn;
  decoder.errors.output_message = Discard;
  decoder.jpeg.client_data = &decoder;
  if (setjmp(decoder.back) != 0) Refuse(decoder);
  jpeg_create_decompress(&decoder.jpeg);
  decoder.progress.progress_monitor = LimitScans;
  decoder.jpeg.progress = &decoder.progress;
  jpeg_mem_src(&decoder.jpeg, data.data(), data.size());
  jpeg_read_header(&decoder.jpeg, TRUE);
  const int components = decoder.jpeg.num_components;
  decoder.jpeg.out_color_space = components == 4 ? JCS_CMYK : components == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

void Start(Decoder& decoder) {
  if (setjmp(decoder.back) != 0) Refuse(decoder);
  jpeg_start_decompress(&decoder.jpeg);
}

void ReadRow(Decoder& decoder, std::uint8_t* row) {
  if (setjmp(decoder.back) != 0) Refuse(decoder);
  jpeg_read_scanlines(&decoder.jpeg, &row, 1);
}

void Finish(Decoder& decoder) {
  if (setjmp(decoder.back) != 0) Refuse(decoder);
  jpeg_finish_decompress(&decoder.jpeg);
}

void ToRgb(const Decoder& decoder, const std::uint8_t* row, std::uint8_t* rgb) {
  const bool cmyk = decoder.jpeg.out_color_space == JCS_CMYK;
  // Adobe's programs store inks inverted, and say with their marker that they wrote the file.
  const std::uint8_t inverted = decoder.jpeg.saw_Adobe_marker ? 255 : 0;
  for (JDIMENSION x = 0; x < decoder.jpeg.output_width; ++x, rgb += 3) {
    if (cmyk) {
      std::uint8_t inks[4];
      for (std::size_t i = 0; i < 4; ++i) inks[i] = row[x * 4 + i] ^ inverted;
      CmykToRgb(inks, rgb);
    } else {
      GrayToRgb(row[x], rgb);
    }
  }
}

void ReadRows(Decoder& decoder, Picture& picture) {
  const std::size_t width = decoder.jpeg.output_width;
  std::vector<std::uint8_t> row(width * static_cast<std::size_t>(decoder.jpeg.output_components)), rgb(width * 3);
  for (std::int64_t y = 0; y < picture.height(); ++y) {
    ReadRow(decoder, row.data());
    if (decoder.jpeg.out_color_space == JCS_RGB) {
      picture.Row(y, row.data());
    } else {
      ToRgb(decoder, row.data(), rgb.data());
      picture.Row(y, rgb.data());
    }
  }
}

struct Closer {
  Decoder& decoder;
  ~Closer() { jpeg_destroy_decompress(&decoder.jpeg); }
};

}  // namespace

void DecodeJpeg(Bytes data, Picture& picture) {
  Decoder decoder = {};
  Closer closer{decoder};
  Open(decoder, data);
  picture.CheckSize(decoder.jpeg.image_width, decoder.jpeg.image_height);
  Start(decoder);
  picture.Begin(decoder.jpeg.output_width, decoder.jpeg.output_height);
  ReadRows(decoder, picture);
  Finish(decoder);
}

}  // namespace sardonyx_images
