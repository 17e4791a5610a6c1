// jpeg2000.cpp - JPEG 2000 by OpenJPEG: files (JP2) and bare codestreams; gray, color, YCC and CMYK, with or without
// alpha.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "image.h"

namespace sardonyx_images {
namespace {

using Codec = std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)>;
using Stream = std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)>;

struct ImageCloser {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
using Image = std::unique_ptr<opj_image_t, ImageCloser>;

struct Source {
  Bytes data;
  std::size_t at = 0;
};

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T size, void* user) {
  Source& source = *static_cast<Source*>(user);
  const std::size_t count = std::min<std::size_t>(size, source.data.size() - source.at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.data.data() + source.at, count);
  source.at += count;
  return count;
}

OPJ_OFF_T Skip(OPJ_OFF_T size, void* user) {
  Source& source = *static_cast<Source*>(user);
  if (size < 0 || static_cast<std::uint64_t>(size) > source.data.size() - source.at) return -1;
  source.at += static_cast<std::size_t>(size);
  return size;
}

OPJ_BOOL Seek(OPJ_OFF_T to, void* user) {
  Source& source = *static_cast<Source*>(user);
  if (to < 0 || static_cast<std::uint64_t>(to) > source.data.size()) return OPJ_FALSE;
  source.at = static_cast<std::size_t>(to);
  return OPJ_TRUE;
}

// Keeps the first error and drops the line's end.
void Remember(const char* text, void* user) {
  std::string& message = *static_cast<std::string*>(user);
  if (message.empty()) message = std::string(text, std::strcspn(text, "\r\n"));
}

Stream Open(Source& source) {
  Stream stream(opj_stream_default_create(OPJ_TRUE), opj_stream_destroy);
  if (stream == nullptr) throw std::bad_alloc();
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.data.size());
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), Seek);
  return stream;
}

// What the header says, before memory is allocated for the components.
void CheckHeader(const opj_image_t& image, const Picture& picture) {
  const std::uint64_t width = image.x1 - image.x0, height = image.y1 - image.y0;
  picture.CheckSize(image.x1 > image.x0 ? width : 0, image.y1 > image.y0 ? height : 0);
  if (image.numcomps < 1 || image.numcomps > 4)
    throw Damaged("expected a JPEG 2000 image of 1 to 4 components, found " + std::to_string(image.numcomps));
  for (OPJ_UINT32 i = 0; i < image.numcomps; ++i) {
    const opj_image_comp_t& component = image.comps[i];
    if (component.prec < 1 || component.prec > 31)
      throw Damaged("expected components of 1 to 31 bits in the JPEG 2000 image, found " +
                    std::to_string(component.prec));
    if (component.dx < 1 || component.dy < 1) throw Damaged("a component of the JPEG 2000 image has no size");
  }
}

Image Decode(Bytes data, const Picture& picture) {
  Source source{data};
  const Stream stream = Open(source);
  const bool bare = data[0] == 0xFF;
  const Codec codec(opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  if (codec == nullptr) throw std::bad_alloc();
  std::string message;
  opj_set_error_handler(codec.get(), Remember, &message);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  const auto fail = [&] { throw Damaged("the JPEG 2000 image is damaged: " + message); };
  if (!opj_setup_decoder(codec.get(), &parameters)) fail();
  opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE);
  const bool header = opj_read_header(stream.get(), codec.get(), &made);
  Image image(made);
  if (!header || image == nullptr) fail();
  CheckHeader(*image, picture);
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get())) fail();
  return image;
}

// A component's samples as 8 bits for every pixel of the image.
class Plane {
 public:
  Plane(const opj_image_t& image, const opj_image_comp_t& component)
      : component_(component),
        offset_(component.sgnd ? 1 << (component.prec - 1) : 0),
        most_((std::int64_t{1} << component.prec) - 1),
        x0_(image.x0),
        y0_(image.y0) {
    if (component.data == nullptr || component.w == 0 || component.h == 0)
      throw Damaged("the JPEG 2000 image is damaged: a component has no samples");
  }

  std::uint8_t At(std::uint64_t x, std::uint64_t y) const {
    // Samples lie on a grid that begins at 0, of which the image shows a part.
    const std::uint64_t column =
        std::min<std::uint64_t>((x0_ + x) / component_.dx - First(x0_, component_.dx), component_.w - 1);
    const std::uint64_t row =
        std::min<std::uint64_t>((y0_ + y) / component_.dy - First(y0_, component_.dy), component_.h - 1);
    const std::int64_t value =
        std::clamp<std::int64_t>(component_.data[row * component_.w + column] + offset_, 0, most_);
    const int shift = static_cast<int>(component_.prec) - 8;
    return static_cast<std::uint8_t>(shift >= 0 ? value >> shift : value << -shift);
  }

 private:
  static std::uint64_t First(std::uint64_t origin, std::uint64_t step) { return origin / step; }
  const opj_image_comp_t& component_;
  std::int64_t offset_, most_;
  std::uint64_t x0_, y0_;
};

std::uint8_t Limit(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

void YccToRgb(std::uint8_t* rgb) {
  const double y = rgb[0], cb = rgb[1] - 128.0, cr = rgb[2] - 128.0;
  rgb[0] = Limit(y + 1.402 * cr);
  rgb[1] = Limit(y - 0.344136 * cb - 0.714136 * cr);
  rgb[2] = Limit(y + 1.772 * cb);
}

// Three components of which the second is stored with fewer samples can only be luma and chroma.
bool IsYcc(const opj_image_t& image) {
  if (image.color_space == OPJ_CLRSPC_SYCC) return true;
  return image.numcomps >= 3 && image.color_space == OPJ_CLRSPC_UNSPECIFIED &&
         (image.comps[1].dx != image.comps[0].dx || image.comps[1].dy != image.comps[0].dy);
}

}  // namespace

void DecodeJpeg2000(Bytes data, Picture& picture) {
  const Image image = Decode(data, picture);
  CheckHeader(*image, picture);  // a palette may have changed the components
  std::vector<Plane> planes;
  for (OPJ_UINT32 i = 0; i < image->numcomps; ++i) planes.emplace_back(*image, image->comps[i]);
  const bool cmyk = image->color_space == OPJ_CLRSPC_CMYK && planes.size() == 4;
  const bool ycc = IsYcc(*image) && planes.size() >= 3;
  picture.Begin(image->x1 - image->x0, image->y1 - image->y0);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(picture.width()) * 3);
  for (std::int64_t y = 0; y < picture.height(); ++y) {
    for (std::int64_t x = 0; x < picture.width(); ++x) {
      std::uint8_t* const rgb = &row[static_cast<std::size_t>(x) * 3];
      std::uint8_t samples[4] = {};
      for (std::size_t i = 0; i < planes.size(); ++i)
        samples[i] = planes[i].At(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y));
      if (cmyk) {
        CmykToRgb(samples, rgb);
      } else if (planes.size() <= 2) {
        GrayToRgb(samples[0], rgb);
      } else {
        std::copy_n(samples, 3, rgb);
        if (ycc) YccToRgb(rgb);
      }
    }
    picture.Row(y, row.data());
  }
}

}  // namespace sardonyx_images
