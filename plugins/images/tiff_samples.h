// tiff_samples.h - reads the samples of a TIFF file as they are, for tiff.cpp.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <memory>

namespace sardonyx_images {

// The form of an image in a TIFF file.
struct TiffForm {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1, samples = 1, photometric = 0, planar = PLANARCONFIG_CONTIG, format = SAMPLEFORMAT_UINT,
                compression = COMPRESSION_NONE, orientation = ORIENTATION_TOPLEFT;
  std::uint16_t used = 1;  // samples of a pixel that count
  bool separate() const { return planar == PLANARCONFIG_SEPARATE && samples > 1; }
};

// All pixels, `used` samples each: samples of 16 bits by their upper half, those of less than 8 as they are.
std::unique_ptr<std::uint8_t[]> ReadTiffSamples(TIFF* file, const TiffForm& form);

}  // namespace sardonyx_images
