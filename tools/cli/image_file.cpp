// tools/cli/image_file.cpp - reads image files with stb_image, and resizes images.
#include <algorithm>
#include <cmath>
#include <memory>

#include "image.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#include <stb_image.h>

namespace sardonyx::cli {
namespace {

// How much each old pixel contributes to a new one.
struct Weights {
  std::size_t first = 0;
  std::vector<float> weights;  // their sum is 1
};

// A triangle around the centre of the new pixel, as wide as a new pixel but at least as wide as an old one.
std::vector<Weights> TriangleWeights(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(scale, 1.0);
  std::vector<Weights> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(centre - radius)));
    const std::size_t end = std::min(from, static_cast<std::size_t>(std::ceil(centre + radius)));
    all[i].first = first;
    double sum = 0;
    for (std::size_t k = first; k < end; ++k) {
      const double distance = std::abs(static_cast<double>(k) + 0.5 - centre) / radius;
      all[i].weights.push_back(static_cast<float>(std::max(0.0, 1 - distance)));
      sum += all[i].weights.back();
    }
    for (float& weight : all[i].weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

Image ResizeRows(const Image& image, std::size_t height) {
  Image result{height, image.width, image.channels, std::vector<float>(height * image.width * image.channels)};
  const std::vector<Weights> weights = TriangleWeights(image.height, height);
  for (std::size_t y = 0; y < height; ++y) {
    float* to = result.row(y);
    for (std::size_t k = 0; k < weights[y].weights.size(); ++k) {
      const float* from = image.row(weights[y].first + k);
      const float weight = weights[y].weights[k];
      for (std::size_t i = 0; i < image.width * image.channels; ++i) to[i] += weight * from[i];
    }
  }
  return result;
}

Image ResizeColumns(const Image& image, std::size_t width) {
  Image result{image.height, width, image.channels, std::vector<float>(image.height * width * image.channels)};
  const std::vector<Weights> weights = TriangleWeights(image.width, width);
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      float* to = result.row(y) + x * image.channels;
      for (std::size_t k = 0; k < weights[x].weights.size(); ++k) {
        const float* from = image.row(y) + (weights[x].first + k) * image.channels;
        for (std::size_t c = 0; c < image.channels; ++c) to[c] += weights[x].weights[k] * from[c];
      }
    }
  }
  return result;
}

}  // namespace

bool IsImageFile(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr const char* kSuffixes[] = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".psd", ".tga", ".ppm", ".pgm"};
  return std::ranges::find(kSuffixes, suffix) != std::end(kSuffixes);
}

Image ReadImage(const std::filesystem::path& path, std::size_t channels) {
  const std::string bytes = ReadFile(path);
  int width = 0;
  int height = 0;
  int found = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()), &width,
                            &height, &found, static_cast<int>(channels)),
      &stbi_image_free);
  if (!pixels) {
    throw Failure(ORT_INVALID_ARGUMENT, "'" + path.string() + "': expected an image (PNG, JPEG, BMP, GIF ...), found " +
                                            (bytes.empty() ? std::string("an empty file")
                                                           : std::string("something else: ") + stbi_failure_reason()));
  }
  Image image{static_cast<std::size_t>(height), static_cast<std::size_t>(width), channels, {}};
  image.pixels.assign(pixels.get(), pixels.get() + image.height * image.width * channels);
  return image;
}

Image Resize(const Image& image, std::size_t height, std::size_t width) {
  if (image.height == height && image.width == width) return image;
  return ResizeColumns(ResizeRows(image, height), width);
}

}  // namespace sardonyx::cli
