// kernels/region/roi_align.h - averages of bilinear samples in the bins of a region, for f32 planes.
//
// A bilinear sample is a weighted sum of rows of a weighted sum of columns, and so is the mean of all samples of a bin.
// Each axis is therefore weighted once per region: a bin is a list of different pixels with a weight each.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// The weights of one axis: bin i is the sum over t < count[i] of weight[i * size + t] * pixel[index[i * size + t]].
struct AlignAxis {
  std::int64_t bins = 0, size = 0;  // bins of the output, pixels of the input
  std::int64_t* count = nullptr;
  std::int64_t* index = nullptr;
  float* weight = nullptr;
};

// Of `samples` samples at start + (s + 0.5) * step, those that may lie in [-1, size], as [begin, end): outside of it
// lie all others. A region may be far larger than the image.
struct SampleRange {
  std::int64_t begin = 0, end = 0;
};
SampleRange SamplesInside(double start, double step, std::int64_t samples, std::int64_t size);

// Bytes of the arrays of an axis, a multiple of 64.
std::int64_t AlignAxisBytes(std::int64_t bins, std::int64_t size);
// Lays the arrays into `memory`.
AlignAxis MakeAlignAxis(std::int64_t bins, std::int64_t size, std::byte* memory);
// Weights of the region from `start` on whose bins are `bin` wide (negative ones, too), each with `samples` samples;
// those outside of the image are zero.
void FillAlignAxis(double start, double bin, std::int64_t samples, const AlignAxis& axis);

// y [rows.bins, columns.bins] of one plane [rows.size, columns.size]. line: columns.size floats.
using AlignPlaneFn = void(const AlignAxis& rows, const AlignAxis& columns, const float* plane, float* line, float* y);

#define SDX_DECLARE(isa)   \
  namespace isa {          \
  AlignPlaneFn AlignPlane; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

AlignPlaneFn* AlignPlaneFunction(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
