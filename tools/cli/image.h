// tools/cli/image.h - images as the tensors that vision models expect.
#ifndef SARDONYX_TOOLS_CLI_IMAGE_H
#define SARDONYX_TOOLS_CLI_IMAGE_H

#include <filesystem>
#include <string>
#include <vector>

#include "ort.h"

namespace sardonyx::cli {

// How an image becomes a tensor: element = (pixel * scale - mean) / deviation, channel by channel.
struct ImageSettings {
  std::string layout = "auto";  // nchw, nhwc, chw, hwc, hw; auto: a dimension of 1, 3 or 4 is the channels
  std::string size;             // HxW for dimensions that the model leaves open; "": those of the image
  std::string fit =
      "stretch";  // stretch; crop: the middle, with the model's aspect ratio; pad: all, with a black border
  std::string channels = "rgb";
  double scale = 0;  // 0: 1/255 for floating point, 1 for integers
  std::vector<double> mean, deviation;
};

// Rows of pixels with interleaved channels; values from 0 to 255.
struct Image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::vector<float> pixels;

  float* row(std::size_t y) { return pixels.data() + y * width * channels; }
  const float* row(std::size_t y) const { return pixels.data() + y * width * channels; }
};

bool IsImageFile(const std::filesystem::path& path);

// Reads a PNG, JPEG, BMP, GIF, PSD, TGA or PNM file with this many channels (1: grey, 3, or 4 with transparency).
// Throws a Failure: NO_SUCHFILE, or INVALID_ARGUMENT if the file is not an image.
Image ReadImage(const std::filesystem::path& path, std::size_t channels);

// Linear interpolation. When an image shrinks, each new pixel is the weighted mean of all pixels that it covers.
Image Resize(const Image& image, std::size_t height, std::size_t width);

// The input `value`, made from an image file. Every element of a batch gets the same image. Throws a Failure with
// INVALID_ARGUMENT if the shape is not that of an image or the settings do not fit it.
HostTensor ImageTensor(const std::filesystem::path& path, const ValueDescription& value, const ImageSettings& settings);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_IMAGE_H
