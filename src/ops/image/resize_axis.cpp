// ops/image/resize_axis.cpp - coordinates and weights of one axis, in float as ONNX Runtime computes them.
#include "ops/image/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace sardonyx::ops {
namespace {

double CubicWeight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

}  // namespace

float ResizeAxis::Coordinate(std::int64_t position, ResizeCoordinates mode) const {
  const auto x = static_cast<float>(position), size = static_cast<float>(in), width = scale * size;
  switch (mode) {
    case ResizeCoordinates::kHalfPixel:
      return (x + 0.5f) / scale - 0.5f;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const float adjustment = static_cast<float>(out) / width;
      return size / 2 * (1 - adjustment) + (x + 0.5f) / scale - 0.5f;
    }
    case ResizeCoordinates::kPytorchHalfPixel:
      return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
    case ResizeCoordinates::kAlignCorners:
      return out == 1 || width == 1 ? 0 : x * (size - 1) / (width - 1);
    case ResizeCoordinates::kAsymmetric:
      return x / scale;
    case ResizeCoordinates::kTfHalfPixelForNn:
      return (x + 0.5f) / scale;
    case ResizeCoordinates::kTfCropAndResize: {
      const float at = out > 1 ? roi_start * (size - 1) + x * (roi_end - roi_start) * (size - 1) / (width - 1)
                               : 0.5f * (roi_start + roi_end) * (size - 1);
      return std::isnan(at) ? -1 : at;  // infinite regions: no place in the image
    }
  }
  return 0;
}

bool ResizeAxis::Outside(std::int64_t x, ResizeCoordinates mode) const {
  if (mode != ResizeCoordinates::kTfCropAndResize) return false;
  const float at = Coordinate(x, mode);
  return at < 0 || at > static_cast<float>(in - 1);
}

std::int64_t ResizeAxis::NearestIndex(std::int64_t x, const ResizeOptions& options) const {
  float at = Coordinate(x, options.coordinates);
  switch (options.nearest) {
    case ResizeNearest::kRoundPreferFloor:
      at = std::ceil(at - 0.5f);
      break;
    case ResizeNearest::kRoundPreferCeil:
      at = std::floor(at + 0.5f);
      break;
    case ResizeNearest::kFloor:
      at = std::floor(at);
      break;
    case ResizeNearest::kCeil:
      at = std::ceil(at);
      break;
    case ResizeNearest::kSimple:
      at = scale < 1 ? std::ceil(at) : std::floor(at);
      break;
  }
  return static_cast<std::int64_t>(std::clamp(at, 0.0f, static_cast<float>(in - 1)));
}

bool ResizeAxis::Identity(const ResizeOptions& options) const {
  if (in != out || scale != 1) return false;
  if (options.coordinates == ResizeCoordinates::kTfCropAndResize) return roi_start == 0 && roi_end == 1;
  return options.coordinates != ResizeCoordinates::kTfHalfPixelForNn;
}

std::int64_t ResizeAxis::TapCount(const ResizeOptions& options) const {
  const int reach = options.mode == ResizeMode::kCubic ? 2 : 1;
  if (!options.antialias || scale >= 1) return 2 * reach;
  const double shrunk = std::min(reach / static_cast<double>(scale), 2147483648.0);  // no image has more
  return 2 - 2 * static_cast<std::int64_t>(std::floor(-shrunk) + 1);
}

void ResizeAxis::Taps(std::int64_t x, const ResizeOptions& options, std::int32_t* index, double* weight) const {
  const std::int64_t taps = TapCount(options);
  // A coordinate far outside (of a region of interest) reads the edge, whatever its weights.
  const auto limit = static_cast<float>(in + 1);
  const double at = std::clamp(Coordinate(x, options.coordinates), -limit, 2 * limit);
  const auto left = static_cast<std::int64_t>(std::floor(at));
  const double shrink = options.antialias ? std::min(1.0, static_cast<double>(scale)) : 1.0;
  double sum = 0;
  for (std::int64_t t = 0; t < taps; ++t) {
    const std::int64_t i = left - taps / 2 + 1 + t;
    const double distance = (static_cast<double>(i) - at) * shrink;
    weight[t] = options.mode == ResizeMode::kCubic ? CubicWeight(distance, options.cubic_a)
                                                   : std::max(0.0, 1 - std::abs(distance));
    if (options.exclude_outside && (i < 0 || i >= in)) weight[t] = 0;
    index[t] = static_cast<std::int32_t>(std::clamp<std::int64_t>(i, 0, in - 1));
    sum += weight[t];
  }
  if ((options.exclude_outside || options.antialias) && sum != 0)
    for (std::int64_t t = 0; t < taps; ++t) weight[t] /= sum;
}

}  // namespace sardonyx::ops
