// tools/cli/image.cpp - turns an image into a model's input: layout, size, fit, normalization.
#include "image.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sardonyx::cli {
namespace {

[[noreturn]] void Invalid(const std::string& message) { throw Failure(ORT_INVALID_ARGUMENT, message); }

// The index of each dimension of the input; -1 if the input does not have it.
struct Axes {
  int batch = -1;
  int channel = -1;
  int height = -1;
  int width = -1;
};

Axes AxesOf(const std::string& layout) {
  const auto at = [&](char letter) {
    const std::size_t found = layout.find(letter);
    return found == std::string::npos ? -1 : static_cast<int>(found);
  };
  return {at('n'), at('c'), at('h'), at('w')};
}

bool MayBeChannels(std::int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

std::string ChooseLayout(const ValueDescription& value, const std::string& asked) {
  const std::size_t rank = value.shape.size();
  if (asked != "auto") {
    if (value.has_shape && asked.size() != rank)
      Invalid("--layout " + asked + ": expected a layout of " + std::to_string(rank) + " dimensions for input '" +
              value.name + "' (" + TypeText(value) + ")");
    return asked;
  }
  if (value.has_shape && rank == 2) return "hw";
  if (!value.has_shape || (rank != 3 && rank != 4))
    Invalid("input '" + value.name + "': expected the shape of an image, as [N, 3, H, W], found " + TypeText(value));
  const bool first = MayBeChannels(value.shape[rank - 3]);
  const bool last = MayBeChannels(value.shape[rank - 1]);
  const std::string layout = last && !first ? "hwc" : "chw";
  return rank == 4 ? "n" + layout : layout;
}

std::pair<std::int64_t, std::int64_t> ParseSize(const std::string& text) {
  std::int64_t height = 0;
  std::int64_t width = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, height);
  bool good = error == std::errc() && at < end && *at == 'x';
  if (good) {
    const auto [last, second] = std::from_chars(at + 1, end, width);
    good = second == std::errc() && last == end && height > 0 && width > 0;
  }
  if (!good) Invalid("--size: expected HEIGHTxWIDTH, as in 480x640, found '" + text + "'");
  return {height, width};
}

// The largest part in the middle of `image` with the aspect ratio of height x width.
Image CropToShape(const Image& image, std::size_t height, std::size_t width) {
  const double scale = std::min(static_cast<double>(image.height) / static_cast<double>(height),
                                static_cast<double>(image.width) / static_cast<double>(width));
  const auto part = [&](std::size_t of, std::size_t most) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(static_cast<double>(of) * scale)), 1, most);
  };
  Image result{part(height, image.height), part(width, image.width), image.channels, {}};
  const std::size_t top = (image.height - result.height) / 2;
  const std::size_t left = (image.width - result.width) / 2;
  for (std::size_t y = 0; y < result.height; ++y) {
    const float* from = image.row(top + y) + left * image.channels;
    result.pixels.insert(result.pixels.end(), from, from + result.width * image.channels);
  }
  return result;
}

Image Pad(const Image& image, std::size_t height, std::size_t width) {
  const double scale = std::min(static_cast<double>(height) / static_cast<double>(image.height),
                                static_cast<double>(width) / static_cast<double>(image.width));
  const auto part = [&](std::size_t of, std::size_t most) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(static_cast<double>(of) * scale)), 1, most);
  };
  const Image inner = Resize(image, part(image.height, height), part(image.width, width));
  Image result{height, width, image.channels, std::vector<float>(height * width * image.channels)};
  const std::size_t left = (width - inner.width) / 2;
  for (std::size_t y = 0; y < inner.height; ++y) {
    std::copy_n(inner.row(y), inner.width * image.channels,
                result.row((height - inner.height) / 2 + y) + left * image.channels);
  }
  return result;
}

Image Fit(const Image& image, std::size_t height, std::size_t width, const std::string& fit) {
  if (fit == "pad") return Pad(image, height, width);
  return Resize(fit == "crop" ? CropToShape(image, height, width) : image, height, width);
}

double Of(const std::vector<double>& values, std::size_t channel, double otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : channel];
}

void CheckChannels(const std::vector<double>& values, std::size_t channels, const std::string& option) {
  if (values.size() > 1 && values.size() != channels)
    Invalid(option + ": expected 1 number or " + std::to_string(channels) + ", one for each channel, found " +
            std::to_string(values.size()));
}

// The shape of the tensor: that of the model, with open dimensions from --size or else from the image.
std::vector<std::int64_t> ShapeFor(const ValueDescription& value, const Axes& axes, std::size_t rank,
                                   const ImageSettings& settings, const Image& image) {
  std::vector<std::int64_t> shape = value.has_shape ? value.shape : std::vector<std::int64_t>(rank, -1);
  auto [height, width] = std::pair(static_cast<std::int64_t>(image.height), static_cast<std::int64_t>(image.width));
  if (!settings.size.empty()) std::tie(height, width) = ParseSize(settings.size);
  const auto fill = [&](int axis, std::int64_t size, const char* what) {
    if (axis < 0) return;
    std::int64_t& dim = shape[static_cast<std::size_t>(axis)];
    if (dim >= 0 && dim != size && !settings.size.empty() && what)
      Invalid("--size " + settings.size + ": the model fixes the " + what + " of '" + value.name + "' to " +
              std::to_string(dim));
    if (dim < 0) dim = size;
  };
  fill(axes.batch, 1, nullptr);
  fill(axes.channel, static_cast<std::int64_t>(image.channels), nullptr);
  fill(axes.height, height, "height");
  fill(axes.width, width, "width");
  return shape;
}

}  // namespace

HostTensor ImageTensor(const std::filesystem::path& path, const ValueDescription& value,
                       const ImageSettings& settings) {
  const ElementType& type = FindElementType(value.type);
  if (type.layout == Layout::kString || type.layout == Layout::kBool)
    Invalid("input '" + value.name + "': expected a numeric input for the image '" + path.string() + "', found " +
            TypeText(value));
  const std::string layout = ChooseLayout(value, settings.layout);
  const Axes axes = AxesOf(layout);
  std::int64_t channels = axes.channel < 0 ? 1 : 3;
  if (axes.channel >= 0 && value.has_shape && value.shape[static_cast<std::size_t>(axes.channel)] >= 0)
    channels = value.shape[static_cast<std::size_t>(axes.channel)];
  if (!MayBeChannels(channels))
    Invalid("input '" + value.name + "': expected 1, 3 or 4 channels in layout " + layout + ", found " +
            std::to_string(channels) + " (see --layout)");
  CheckChannels(settings.mean, static_cast<std::size_t>(channels), "--mean");
  CheckChannels(settings.deviation, static_cast<std::size_t>(channels), "--std");

  const Image file = ReadImage(path, static_cast<std::size_t>(channels));
  HostTensor tensor{.name = value.name, .type = value.type};
  tensor.shape = ShapeFor(value, axes, layout.size(), settings, file);
  const auto height = static_cast<std::size_t>(tensor.shape[static_cast<std::size_t>(axes.height)]);
  const auto width = static_cast<std::size_t>(tensor.shape[static_cast<std::size_t>(axes.width)]);
  const Image image = Fit(file, height, width, settings.fit);
  const bool whole = type.layout != Layout::kFloat && type.layout != Layout::kComplex;
  const double scale = settings.scale != 0 ? settings.scale : whole ? 1 : 1.0 / 255;
  const std::size_t places = axes.batch < 0 ? 1 : static_cast<std::size_t>(tensor.shape[0]);
  const std::size_t count = height * width * image.channels;
  tensor.data.resize(DataSize(type, ElementCount(tensor.shape)));
  const bool channels_last = axes.channel > axes.width;
  for (std::size_t i = 0; i < places * count; ++i) {
    const std::size_t in_image = i % count;
    const std::size_t channel = channels_last ? in_image % image.channels : in_image / (height * width);
    const std::size_t pixel = channels_last ? in_image / image.channels : in_image % (height * width);
    const std::size_t from = settings.channels == "bgr" && channel < 3 ? 2 - channel : channel;
    const double number = image.pixels[pixel * image.channels + (image.channels >= 3 ? from : channel)];
    const double element = (number * scale - Of(settings.mean, channel, 0)) / Of(settings.deviation, channel, 1);
    SetElement(type, tensor.data, i, whole ? std::round(element) : element);
  }
  return tensor;
}

}  // namespace sardonyx::cli
