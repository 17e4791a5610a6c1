// tiff.cpp - TIFF by libtiff: the first image of a file, in every compression but JBIG, LERC and old-style JPEG.
//
// Gray, RGB, palettes and CMYK are read as samples; other color spaces (YCbCr, CIE L*a*b*, LogLuv) are converted by
// libtiff. The image is turned as its orientation says: Pillow does this for TIFF, though not for other formats.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "image.h"
#include "tiff_samples.h"

namespace sardonyx_images {
namespace {

constexpr tmsize_t kMostMemoryOfLibtiff = tmsize_t{1} << 30;  // for one of its own allocations

struct Source {
  Bytes data;
  std::uint64_t at = 0;
  std::string message;  // libtiff's first error
};

Source& Of(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t Read(thandle_t handle, void* to, tmsize_t size) {
  Source& source = Of(handle);
  if (source.at >= source.data.size() || size <= 0) return 0;
  const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(size), source.data.size() - source.at);
  std::memcpy(to, source.data.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t Write(thandle_t, void*, tmsize_t) { return 0; }

toff_t Seek(thandle_t handle, toff_t to, int whence) {
  Source& source = Of(handle);
  source.at = to + (whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.data.size() : 0);
  return source.at;
}

int Close(thandle_t) { return 0; }
toff_t Size(thandle_t handle) { return Of(handle).data.size(); }
int Map(thandle_t handle, void** base, toff_t* size) {
  *base = const_cast<std::uint8_t*>(Of(handle).data.data());  // libtiff only reads it
  *size = Of(handle).data.size();
  return 1;
}
void Unmap(thandle_t, void*, toff_t) {}

int Remember(TIFF*, void* user, const char*, const char* format, va_list values) {
  std::string& message = static_cast<Source*>(user)->message;
  char text[200];
  std::vsnprintf(text, sizeof(text), format, values);
  if (message.empty()) message = text;
  return 1;
}

int Ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Closer {
  void operator()(TIFF* file) const { TIFFClose(file); }
};
using File = std::unique_ptr<TIFF, Closer>;

File Open(Source& source) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                 TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostMemoryOfLibtiff);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Remember, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), Ignore, nullptr);
  return File(TIFFClientOpenExt("image", "r", &source, Read, Write, Seek, Close, Size, Map, Unmap, options.get()));
}

template <typename T>
void Get(TIFF* file, std::uint32_t tag, T* value) {
  T found{};
  if (TIFFGetFieldDefaulted(file, tag, &found)) *value = found;
}

TiffForm FormOf(TIFF* file, const Picture& picture) {
  TiffForm form;
  Get(file, TIFFTAG_IMAGEWIDTH, &form.width);
  Get(file, TIFFTAG_IMAGELENGTH, &form.height);
  picture.CheckSize(form.width, form.height);
  Get(file, TIFFTAG_BITSPERSAMPLE, &form.bits);
  Get(file, TIFFTAG_SAMPLESPERPIXEL, &form.samples);
  Get(file, TIFFTAG_PLANARCONFIG, &form.planar);
  Get(file, TIFFTAG_SAMPLEFORMAT, &form.format);
  Get(file, TIFFTAG_COMPRESSION, &form.compression);
  Get(file, TIFFTAG_ORIENTATION, &form.orientation);
  form.photometric = form.samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  Get(file, TIFFTAG_PHOTOMETRIC, &form.photometric);
  if (form.compression == COMPRESSION_JBIG || form.compression == COMPRESSION_LERC ||
      form.compression == COMPRESSION_OJPEG || !TIFFIsCODECConfigured(form.compression))
    throw Damaged("a TIFF image with compression " + std::to_string(form.compression) + " is not supported");
  // libtiff's decoder of JPEG turns YCbCr into RGB if it is asked to.
  if (form.photometric == PHOTOMETRIC_YCBCR && form.compression == COMPRESSION_JPEG &&
      form.planar == PLANARCONFIG_CONTIG && form.samples == 3) {
    TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    form.photometric = PHOTOMETRIC_RGB;
  }
  return form;
}

// Whether the samples can be used as they are; sets the number of them that count.
bool ReadsSamples(TIFF* file, TiffForm& form) {
  if (form.format != SAMPLEFORMAT_UINT && form.format != SAMPLEFORMAT_VOID) return false;
  const bool whole = form.bits == 8 || form.bits == 16;
  const bool part = form.bits == 1 || form.bits == 2 || form.bits == 4;
  std::uint16_t inks = INKSET_CMYK;
  switch (form.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      form.used = 1;
      return whole || part;
    case PHOTOMETRIC_PALETTE:
      form.used = 1;
      return part || form.bits == 8;
    case PHOTOMETRIC_RGB:
      form.used = std::min<std::uint16_t>(form.samples, 4);
      return whole && form.samples >= 3;
    case PHOTOMETRIC_SEPARATED:
      Get(file, TIFFTAG_INKSET, &inks);
      form.used = 4;
      return whole && form.samples >= 4 && inks == INKSET_CMYK;
    default:
      return false;
  }
}

// Turns the `used` samples of pixels into RGB.
class Colors {
 public:
  Colors(TIFF* file, const TiffForm& form) : form_(form) {
    std::uint16_t count = 0, *kinds = nullptr;
    TIFFGetFieldDefaulted(file, TIFFTAG_EXTRASAMPLES, &count, &kinds);
    multiplied_ = form.photometric == PHOTOMETRIC_RGB && form.used == 4 && count > 0 && kinds != nullptr &&
                  kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    if (form.photometric != PHOTOMETRIC_PALETTE) return;
    std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (!TIFFGetField(file, TIFFTAG_COLORMAP, &red, &green, &blue) || red == nullptr)
      throw Damaged("the TIFF image is damaged: it has no palette");
    for (std::size_t i = 0; i < std::size_t{1} << form.bits; ++i)
      palette_[i] = {High(red[i]), High(green[i]), High(blue[i])};
  }

  void ToRgb(const std::uint8_t* samples, std::uint8_t* rgb) const {
    if (form_.photometric == PHOTOMETRIC_PALETTE) {
      std::copy_n(palette_[samples[0]].begin(), 3, rgb);
    } else if (form_.photometric == PHOTOMETRIC_SEPARATED) {
      CmykToRgb(samples, rgb);
    } else if (form_.photometric == PHOTOMETRIC_RGB) {
      for (std::size_t i = 0; i < 3; ++i) rgb[i] = multiplied_ ? Divided(samples[i], samples[3]) : samples[i];
    } else {
      const int most = form_.bits < 8 ? (1 << form_.bits) - 1 : 255;
      const int value = samples[0] * 255 / most;
      GrayToRgb(static_cast<std::uint8_t>(form_.photometric == PHOTOMETRIC_MINISWHITE ? 255 - value : value), rgb);
    }
  }

 private:
  static std::uint8_t High(std::uint16_t value) { return static_cast<std::uint8_t>(value >> 8); }
  // A color that was multiplied by its alpha, as it was before.
  static std::uint8_t Divided(std::uint8_t color, std::uint8_t alpha) {
    return alpha == 0 ? 0 : static_cast<std::uint8_t>(std::min(255, 255 * color / alpha));
  }
  const TiffForm& form_;
  bool multiplied_ = false;
  Palette palette_ = {};
};

void DecodeSamples(TIFF* file, const TiffForm& form, Picture& picture) {
  const Colors colors(file, form);
  const auto samples = ReadTiffSamples(file, form);
  picture.Begin(form.width, form.height, form.orientation);
  std::vector<std::uint8_t> row(std::size_t{form.width} * 3);
  for (std::size_t y = 0; y < form.height; ++y) {
    for (std::size_t x = 0; x < form.width; ++x)
      colors.ToRgb(samples.get() + (y * form.width + x) * form.used, &row[x * 3]);
    picture.Row(static_cast<std::int64_t>(y), row.data());
  }
}

void DecodeByLibtiff(TIFF* file, const TiffForm& form, Picture& picture) {
  char message[1024] = {};
  TIFFRGBAImage image;
  if (!TIFFRGBAImageOK(file, message) || !TIFFRGBAImageBegin(&image, file, 1, message))
    throw Damaged(std::string("a TIFF image of this kind is not supported: ") + message);
  const std::unique_ptr<TIFFRGBAImage, decltype(&TIFFRGBAImageEnd)> end(&image, TIFFRGBAImageEnd);
  image.req_orientation = image.orientation;  // the picture turns it
  const auto raster = std::make_unique_for_overwrite<std::uint32_t[]>(std::size_t{form.width} * form.height);
  if (!TIFFRGBAImageGet(&image, raster.get(), form.width, form.height)) throw Damaged("its pixels cannot be read");
  picture.Begin(form.width, form.height, form.orientation);
  std::vector<std::uint8_t> row(std::size_t{form.width} * 3);
  for (std::size_t y = 0; y < form.height; ++y) {
    for (std::size_t x = 0; x < form.width; ++x) {
      const std::uint32_t pixel = raster[y * form.width + x];
      row[x * 3] = static_cast<std::uint8_t>(TIFFGetR(pixel));
      row[x * 3 + 1] = static_cast<std::uint8_t>(TIFFGetG(pixel));
      row[x * 3 + 2] = static_cast<std::uint8_t>(TIFFGetB(pixel));
    }
    picture.Row(static_cast<std::int64_t>(y), row.data());
  }
}

}  // namespace

void DecodeTiff(Bytes data, Picture& picture) {
  Source source{.data = data};
  try {
    const File file = Open(source);
    if (file == nullptr) throw Damaged("its directory cannot be read");
    TiffForm form = FormOf(file.get(), picture);
    ReadsSamples(file.get(), form) ? DecodeSamples(file.get(), form, picture)
                                   : DecodeByLibtiff(file.get(), form, picture);
  } catch (const Damaged& damage) {
    if (source.message.empty()) throw;
    throw Damaged("the TIFF image is damaged: " + source.message + " (" + damage.what() + ")");
  }
}

}  // namespace sardonyx_images
