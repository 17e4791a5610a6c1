// kernels/conv/expanded_depthwise_test.cpp - both convolutions at once give the bits of one after the other.
#include "kernels/conv/expanded_depthwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/conv/conv_test.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

// As many threads as are wanted, which take turns unit by unit.
class Threads final : public Parallel {
 public:
  explicit Threads(int count) : count_(count) {}
  void For(int64_t count, int64_t grain, Body body) override {
    for (int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
  }
  int ThreadCount() const override { return count_; }

 private:
  int count_;
};

struct Images {
  ConvShape wide, narrow;  // the 1x1 convolution and the depthwise one
  std::vector<float> x, wide_w, wide_bias, w, bias;
};

// `in_pixel`, `out_pixel`: x and y are parts of wider images.
Images Make(const Case& c, int64_t x_channels, int64_t in_pixel, int64_t out_pixel) {
  Images images;
  ConvShape& narrow = images.narrow = Shape(c, false);
  narrow.in_layout = narrow.out_layout = kLast;
  ConvShape& wide = images.wide = narrow;
  wide.groups = 1, wide.in_channels = x_channels, wide.kernel = wide.stride = {1, 1, 1}, wide.pad_begin = {0, 0, 0};
  wide.out = wide.in;
  wide.in_pixel = in_pixel, narrow.out_pixel = out_pixel;
  const auto count = [](int64_t n) { return static_cast<std::size_t>(n); };
  images.x = Random(count(wide.batch * Volume(wide.in) * wide.InPixel()), 1);
  images.wide_w = Random(count(x_channels * wide.out_channels), 2);
  images.wide_bias = Random(count(wide.out_channels), 3);
  images.w = Random(count(narrow.out_channels * Volume(narrow.kernel)), 4);
  images.bias = Random(count(narrow.out_channels), 5);
  return images;
}

std::vector<float> Run(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
                       const Epilogue& epilogue, const TileF32Set& set) {
  Serial serial;
  Scratch packed(ConvF32PackedCount(s, &set) * sizeof(float)), scratch(ConvF32ScratchBytes(s, 1, &set));
  auto* weights = reinterpret_cast<float*>(packed.data());
  PackConvF32Weights(s, w.data(), weights, serial, &set);
  std::vector<float> y(static_cast<std::size_t>(s.batch * Volume(s.out) * s.OutPixel()), 7.0f);
  ConvF32Args args;
  args.shape = s, args.x = x.data(), args.packed_weights = weights, args.y = y.data();
  args.epilogue = epilogue, args.tiles = &set;
  ConvF32(args, serial, scratch.data());
  return y;
}

std::vector<float> RunTogether(const Images& images, const Epilogue& wide, const Epilogue& epilogue,
                               const TileF32Set& set, Parallel& parallel) {
  ExpandedDepthwiseArgs args;
  args.shape = images.narrow;
  args.shape.in_pixel = images.wide.in_pixel;
  args.x_channels = images.wide.in_channels;
  args.tiles = &set;
  Scratch packed(ExpandedDepthwisePackedCount(args.shape, args.x_channels, &set) * sizeof(float));
  auto* weights = reinterpret_cast<float*>(packed.data());
  PackExpandedDepthwise(args.shape, args.x_channels, images.wide_w.data(), images.w.data(), weights, parallel, &set);
  Scratch scratch(ExpandedDepthwiseScratchBytes(args, parallel.ThreadCount()));
  std::vector<float> y(static_cast<std::size_t>(args.shape.batch * Volume(args.shape.out) * args.shape.OutPixel()),
                       7.0f);
  args.x = images.x.data(), args.packed = weights, args.y = y.data();
  args.wide = wide, args.epilogue = epilogue;
  ExpandedDepthwise(args, parallel, scratch.data());
  return y;
}

void Check(const Case& c, int64_t x_channels, bool is_part = false, float tolerance = 0) {
  const Images images = Make(c, x_channels, is_part ? x_channels + 3 : 0, is_part ? c.out_channels + 5 : 0);
  for (const TileF32Set* set : Sets())
    for (const UnaryKind kind : {UnaryKind::kClip, UnaryKind::kSwish, UnaryKind::kNone}) {
      Epilogue wide, epilogue;
      wide.activation = {kind, 0.25f, 1}, epilogue.activation = {kind, -0.5f, 2};
      if (kind != UnaryKind::kNone) wide.bias_n = images.wide_bias.data(), epilogue.bias_n = images.bias.data();
      const auto between = Run(images.wide, images.x, images.wide_w, wide, *set);
      const auto want = Run(images.narrow, between, images.w, epilogue, *set);
      for (const int threads : {1, 2, 3, 70}) {
        Threads parallel(threads);
        const auto y = RunTogether(images, wide, epilogue, *set, parallel);
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(y[i], want[i], tolerance)
              << c.name << ", " << Name(set->isa) << ", activation " << static_cast<int>(kind) << ", " << threads
              << " threads, element " << i;
      }
    }
}

constexpr Case kCases[] = {
    {"3x3", 2, 100, 100, 100, {1, 11, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 of stride 2", 1, 52, 52, 52, {1, 30, 31}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 1, 1}},
    {"5x5 of rows with few strips", 1, 48, 48, 48, {1, 40, 90}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    {"5x5 of stride 2", 2, 33, 33, 33, {1, 17, 9}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    {"strides beyond the kernel", 1, 16, 16, 16, {1, 23, 7}, {1, 2, 2}, {1, 3, 3}},
    {"kernel as large as the image", 1, 20, 20, 20, {1, 7, 7}, {1, 7, 7}},
    {"pads as wide as the kernel", 1, 8, 8, 8, {1, 4, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"rows wider than a strip", 1, 32, 32, 32, {1, 5, 1500}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
};

TEST(ExpandedDepthwise, GivesTheBitsOfBothConvolutions) {
  for (const Case& c : kCases)
    for (const int64_t x_channels : {16, 5}) Check(c, x_channels);
}

// A 1x1 convolution of few pixels alone sums in another order.
TEST(ExpandedDepthwise, ComputesASinglePixel) {
  Check({"one pixel", 1, 40, 40, 40, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, 24, false,
        2e-6f);
}

TEST(ExpandedDepthwise, ReadsAndWritesPartsOfImages) {
  Check(kCases[0], 24, true);
  Check(kCases[1], 3, true);
}

}  // namespace
}  // namespace sardonyx::kernels
