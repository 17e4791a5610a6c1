// ops/image/resize_axis.h - how Resize maps one axis: coordinates, nearest elements, weights.
#pragma once

#include <cstdint>

namespace sardonyx::ops {

enum class ResizeMode { kNearest, kLinear, kCubic };
enum class ResizeCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize
};
// kSimple is what Upsample and Resize 10 do: floor, but ceil where the axis shrinks.
enum class ResizeNearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearest nearest = ResizeNearest::kRoundPreferFloor;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation_value = 0;
};

struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  float scale = 1;                   // of the coordinates
  float roi_start = 0, roi_end = 1;  // of kTfCropAndResize

  // The place in the input, in elements, of output element `x`.
  float Coordinate(std::int64_t x, ResizeCoordinates mode) const;
  // True if that is outside of the input, where kTfCropAndResize gives its extrapolation value.
  bool Outside(std::int64_t x, ResizeCoordinates mode) const;
  std::int64_t NearestIndex(std::int64_t x, const ResizeOptions& options) const;
  // True if each output element is the input element of the same index.
  bool Identity(const ResizeOptions& options) const;
  // Input elements per output element in linear and cubic mode.
  std::int64_t TapCount(const ResizeOptions& options) const;
  // Their indices and weights, TapCount() of each.
  void Taps(std::int64_t x, const ResizeOptions& options, std::int32_t* index, double* weight) const;
};

}  // namespace sardonyx::ops
