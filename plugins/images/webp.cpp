// webp.cpp - WebP by libwebp. Of an animation, the first picture is taken.
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "image.h"

namespace sardonyx_images {
namespace {

using Decoder = std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)>;

void DecodeAnimation(Bytes data, Picture& picture) {
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) throw Damaged("libwebp is another version than expected");
  options.color_mode = MODE_RGBA;
  const WebPData bytes = {data.data(), data.size()};
  const Decoder decoder(WebPAnimDecoderNew(&bytes, &options), WebPAnimDecoderDelete);
  std::uint8_t* rgba = nullptr;
  int time = 0;
  if (decoder == nullptr || !WebPAnimDecoderGetNext(decoder.get(), &rgba, &time))
    throw Damaged("the first picture of the WebP animation is damaged");
  const auto pixels = static_cast<std::size_t>(picture.width());
  const auto row = std::make_unique_for_overwrite<std::uint8_t[]>(pixels * 3);
  for (std::int64_t y = 0; y < picture.height(); ++y) {
    for (std::size_t x = 0; x < pixels; ++x, rgba += 4) {
      for (std::size_t i = 0; i < 3; ++i) row[x * 3 + i] = rgba[i];
    }
    picture.Row(y, row.get());
  }
}

}  // namespace

void DecodeWebP(Bytes data, Picture& picture) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data.data(), data.size(), &features) != VP8_STATUS_OK)
    throw Damaged("the WebP image is damaged: its header cannot be read");
  const auto width = static_cast<std::uint64_t>(features.width), height = static_cast<std::uint64_t>(features.height);
  picture.CheckSize(width, height);
  picture.Begin(width, height);
  if (features.has_animation) return DecodeAnimation(data, picture);
  const std::size_t stride = width * 3;
  const auto rgb = std::make_unique_for_overwrite<std::uint8_t[]>(stride * height);
  if (WebPDecodeRGBInto(data.data(), data.size(), rgb.get(), stride * height, static_cast<int>(stride)) == nullptr)
    throw Damaged("the WebP image is damaged or truncated");
  for (std::size_t y = 0; y < height; ++y) picture.Row(static_cast<std::int64_t>(y), rgb.get() + y * stride);
}

}  // namespace sardonyx_images
