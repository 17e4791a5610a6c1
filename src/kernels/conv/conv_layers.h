// kernels/conv/conv_layers.h - the convolutions that are measured: layers of well-known networks at batch 1.
//
// benchmarks/conv_layers.py also reads the rows of this table: one row per line, fields in the order of ConvLayer.
#pragma once

#include <cstdint>

namespace sardonyx::kernels {

struct ConvLayer {
  const char* name;  // network: what it is
  std::int64_t in_channels, out_channels, groups;
  std::int64_t size;  // of an image side
  std::int64_t kernel, stride, pad;
  std::int64_t dilation = 1;
  std::int64_t rows = 2;  // 1: the image is one row (1-D)
  bool transposed = false;
};

inline constexpr ConvLayer kConvLayers[] = {
    {"resnet50 stem", 3, 64, 1, 224, 7, 2, 3},
    {"resnet50 3x3", 64, 64, 1, 56, 3, 1, 1},
    {"resnet50 3x3", 128, 128, 1, 28, 3, 1, 1},
    {"resnet50 3x3", 256, 256, 1, 14, 3, 1, 1},
    {"resnet50 3x3", 512, 512, 1, 7, 3, 1, 1},
    {"resnet50 3x3/2", 128, 128, 1, 56, 3, 2, 1},
    {"resnet50 3x3/2", 256, 256, 1, 28, 3, 2, 1},
    {"resnet50 3x3/2", 512, 512, 1, 14, 3, 2, 1},
    {"resnet50 1x1", 64, 64, 1, 56, 1, 1, 0},
    {"resnet50 1x1", 64, 256, 1, 56, 1, 1, 0},
    {"resnet50 1x1", 256, 64, 1, 56, 1, 1, 0},
    {"resnet50 1x1", 128, 512, 1, 28, 1, 1, 0},
    {"resnet50 1x1", 512, 128, 1, 28, 1, 1, 0},
    {"resnet50 1x1", 256, 1024, 1, 14, 1, 1, 0},
    {"resnet50 1x1", 1024, 256, 1, 14, 1, 1, 0},
    {"resnet50 1x1", 512, 2048, 1, 7, 1, 1, 0},
    {"resnet50 1x1", 2048, 512, 1, 7, 1, 1, 0},
    {"resnet50 1x1/2", 256, 512, 1, 56, 1, 2, 0},
    {"resnet50 1x1/2", 1024, 2048, 1, 14, 1, 2, 0},
    {"mobilenet stem", 3, 16, 1, 224, 3, 2, 1},
    {"mobilenet 1x1", 16, 64, 1, 112, 1, 1, 0},
    {"mobilenet 1x1", 64, 24, 1, 56, 1, 1, 0},
    {"mobilenet 1x1", 24, 72, 1, 56, 1, 1, 0},
    {"mobilenet 1x1", 40, 120, 1, 28, 1, 1, 0},
    {"mobilenet 1x1", 120, 40, 1, 28, 1, 1, 0},
    {"mobilenet 1x1", 80, 184, 1, 14, 1, 1, 0},
    {"mobilenet 1x1", 184, 80, 1, 14, 1, 1, 0},
    {"mobilenet 1x1", 160, 960, 1, 7, 1, 1, 0},
    {"mobilenet 1x1", 960, 160, 1, 7, 1, 1, 0},
    {"mobilenet se", 960, 240, 1, 1, 1, 1, 0},
    {"mobilenet se", 240, 960, 1, 1, 1, 1, 0},
    {"mobilenet dw3", 16, 16, 16, 112, 3, 1, 1},
    {"mobilenet dw3/2", 64, 64, 64, 112, 3, 2, 1},
    {"mobilenet dw3", 72, 72, 72, 56, 3, 1, 1},
    {"mobilenet dw5/2", 72, 72, 72, 56, 5, 2, 2},
    {"mobilenet dw5", 120, 120, 120, 28, 5, 1, 2},
    {"mobilenet dw3", 184, 184, 184, 14, 3, 1, 1},
    {"mobilenet dw3", 480, 480, 480, 14, 3, 1, 1},
    {"mobilenet dw5", 960, 960, 960, 7, 5, 1, 2},
    {"efficientnet dw3", 32, 32, 32, 112, 3, 1, 1},
    {"efficientnet dw3/2", 96, 96, 96, 112, 3, 2, 1},
    {"efficientnet dw5", 672, 672, 672, 14, 5, 1, 2},
    {"efficientnet dw5/2", 672, 672, 672, 14, 5, 2, 2},
    {"efficientnet 1x1", 1152, 192, 1, 7, 1, 1, 0},
    {"convnext stem", 3, 96, 1, 224, 4, 4, 0},
    {"convnext 2x2/2", 96, 192, 1, 56, 2, 2, 0},
    {"convnext dw7", 96, 96, 96, 56, 7, 1, 3},
    {"convnext dw7", 192, 192, 192, 28, 7, 1, 3},
    {"convnext dw7", 384, 384, 384, 14, 7, 1, 3},
    {"convnext dw7", 768, 768, 768, 7, 7, 1, 3},
    {"densenet 3x3", 128, 32, 1, 56, 3, 1, 1},
    {"densenet 3x3", 128, 32, 1, 28, 3, 1, 1},
    {"densenet 3x3", 128, 32, 1, 14, 3, 1, 1},
    {"densenet 3x3", 128, 32, 1, 7, 3, 1, 1},
    {"densenet 1x1", 256, 128, 1, 56, 1, 1, 0},
    {"densenet 1x1", 480, 128, 1, 28, 1, 1, 0},
    {"densenet 1x1", 800, 128, 1, 14, 1, 1, 0},
    {"regnet 3x3 g8", 48, 48, 6, 112, 3, 2, 1},
    {"regnet 3x3 g8", 104, 104, 13, 28, 3, 1, 1},
    {"regnet 3x3 g8", 208, 208, 26, 14, 3, 1, 1},
    {"regnet 3x3 g8", 440, 440, 55, 7, 3, 1, 1},
    {"resnext 3x3 g4", 128, 128, 32, 56, 3, 1, 1},
    {"resnext 3x3 g16", 512, 512, 32, 14, 3, 1, 1},
    {"shufflenet 1x1", 58, 58, 1, 28, 1, 1, 0},
    {"shufflenet 1x1", 232, 232, 1, 7, 1, 1, 0},
    {"shufflenet dw3", 58, 58, 58, 28, 3, 1, 1},
    {"shufflenet dw3/2", 116, 116, 116, 28, 3, 2, 1},
    {"yolov8n stem", 3, 16, 1, 640, 3, 2, 1},
    {"yolov8n 3x3/2", 16, 32, 1, 320, 3, 2, 1},
    {"yolov8n 3x3", 16, 16, 1, 160, 3, 1, 1},
    {"yolov8n 3x3/2", 32, 64, 1, 160, 3, 2, 1},
    {"yolov8n 3x3", 32, 32, 1, 80, 3, 1, 1},
    {"yolov8n 3x3", 64, 64, 1, 80, 3, 1, 1},
    {"yolov8n 3x3", 64, 64, 1, 40, 3, 1, 1},
    {"yolov8n 3x3", 80, 80, 1, 80, 3, 1, 1},
    {"yolov8n 3x3", 128, 128, 1, 20, 3, 1, 1},
    {"yolov8n 3x3", 256, 64, 1, 20, 3, 1, 1},
    {"yolov8n 1x1", 128, 64, 1, 80, 1, 1, 0},
    {"yolov8n 1x1", 384, 256, 1, 20, 1, 1, 0},
    {"sd unet 3x3", 128, 128, 1, 32, 3, 1, 1},
    {"sd unet 3x3", 256, 256, 1, 16, 3, 1, 1},
    {"sd unet 3x3", 1024, 512, 1, 8, 3, 1, 1},
    {"sd unet in", 4, 128, 1, 32, 3, 1, 1},
    {"sd unet out", 128, 4, 1, 32, 3, 1, 1},
    {"sd vae 3x3", 256, 256, 1, 64, 3, 1, 1},
    {"sd vae 3x3", 64, 64, 1, 256, 3, 1, 1},
    {"deeplab 3x3 d12", 960, 256, 1, 28, 3, 1, 12, 12},
    {"wav2vec2 1-D", 512, 512, 1, 1600, 3, 2, 0, 1, 1},
    {"wav2vec2 1-D in", 1, 512, 1, 16000, 10, 5, 0, 1, 1},
    {"hifigan 1-D", 64, 64, 1, 800, 7, 1, 3, 1, 1},
    {"hifigan 1-D", 32, 32, 1, 6400, 11, 1, 15, 3, 1},
    {"hifigan 1-D", 8, 8, 1, 25600, 7, 1, 3, 1, 1},
    {"u-net up", 128, 64, 1, 56, 2, 2, 0, 1, 2, true},
};

}  // namespace sardonyx::kernels
