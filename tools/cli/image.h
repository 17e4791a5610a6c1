// tools/cli/image.h - turns a photograph into the tensor that a vision model wants.
#ifndef SARDONYX_TOOLS_CLI_IMAGE_H
#define SARDONYX_TOOLS_CLI_IMAGE_H

#include <filesystem>
#include <string>
#include <vector>

#include "ort.h"

namespace sardonyx::cli {

// What is done to an image on its way: element = (pixel * scale - mean) / deviation, channel by channel.
struct ImageSettings {
  std::string layout = "auto";  // nchw, nhwc, chw, hwc, hw; auto: by where 1, 3 or 4 channels stand in the shape
  std::string size;             // HxW for dimensions that the model leaves open; "": the image's own
  std::string fit = "stretch";  // stretch; crop: the middle, of the model's shape; pad: the whole, with a black border
  std::string channels = "rgb";
  double scale = 0;  // 0: 1/255 for floating point, 1 for integers
  std::vector<double> mean, deviation;
};

// Rows of pixels, their channels beside each other; 0 ... 255.
struct Image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::vector<float> pixels;

  float* row(std::size_t y) { return pixels.data() + y * width * channels; }
  const float* row(std::size_t y) const { return pixels.data() + y * width * channels; }
};

bool IsImageFile(const std::filesystem::path& path);

// The image of a PNG, JPEG, BMP, GIF, PSD, TGA or PNM file with so many channels (1: grey, 3, or 4 with transparency).
// Errors (Failure): NO_SUCHFILE, INVALID_ARGUMENT for what is no image.
Image ReadImage(const std::filesystem::path& path, std::size_t channels);

// Linear interpolation; where it shrinks, each new pixel is the weighted mean of all those that it covers.
Image Resize(const Image& image, std::size_t height, std::size_t width);

// The input `value` from an image file. Every place of a batch gets the same image.
// Errors (Failure): INVALID_ARGUMENT for a shape that is no image's, settings that do not fit it.
HostTensor ImageTensor(const std::filesystem::path& path, const ValueDescription& value, const ImageSettings& settings);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_IMAGE_H
