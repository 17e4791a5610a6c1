// ops/image/image_decoder.cpp - ImageDecoder: the bytes of an image file become pixels [height, width, channels].
//
// The decoders are in a library of their own (plugins/images), which a session loads when it has such a node.
#include <array>
#include <exception>

#include "ops/image/image_component.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// Pillow, the reference's library, refuses larger images, too: 3 bytes for each make half a gigabyte.
constexpr std::uint64_t kMostPixels = 178'956'970;

struct PixelFormat {
  std::string_view name;
  SdxPixelFormat format;
  std::int64_t channels;
};
constexpr PixelFormat kPixelFormats[] = {
    {"RGB", SDX_PIXELS_RGB, 3}, {"BGR", SDX_PIXELS_BGR, 3}, {"Grayscale", SDX_PIXELS_GRAYSCALE, 1}};

const PixelFormat& PixelFormatOf(const AttributeReader& c) {
  const std::string name = c.String("pixel_format", "RGB");
  for (const PixelFormat& format : kPixelFormats)
    if (format.name == name) return format;
  c.Fail(Code::kInvalidGraph, "attribute 'pixel_format': expected RGB, BGR or Grayscale, found '", name, "'");
}

void InferImageDecoder(InferContext& c) {
  c.SetOutput(0, DType::kUInt8, {Dim(), Dim(), Dim(PixelFormatOf(c).channels)});
}

struct DecoderState {
  decltype(&SdxDecodeImage) decode;
  SdxPixelFormat format;
};

// The component calls it through C, so what fails here is thrown when the component has returned.
struct Allocation {
  KernelContext& context;
  std::exception_ptr failure;

  static std::uint8_t* Run(void* self, std::int64_t height, std::int64_t width, std::int64_t channels) noexcept {
    Allocation& own = *static_cast<Allocation*>(self);
    try {
      return own.context.Output(0, Shape{height, width, channels}).As<std::uint8_t>();
    } catch (...) {
      own.failure = std::current_exception();
      return nullptr;
    }
  }
};

void RunImageDecoder(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (x.rank() != 1) Fail(Code::kInvalidArgument, "expected an input of rank 1, found shape ", ToText(x.shape));
  const DecoderState& state = c.state<DecoderState>();
  Allocation allocation{c, nullptr};
  std::array<char, 400> message{};
  const SdxImageRequest request = {.data = x.As<const std::uint8_t>(),
                                   .size = static_cast<std::size_t>(x.count),
                                   .pixel_format = state.format,
                                   .max_pixels = kMostPixels,
                                   .allocate = Allocation::Run,
                                   .context = &allocation,
                                   .message = message.data(),
                                   .message_size = message.size()};
  const std::int32_t failed = state.decode(&request);
  if (allocation.failure) std::rethrow_exception(allocation.failure);
  if (failed != 0) Fail(Code::kInvalidArgument, message.data());
}

Prepared PrepareImageDecoder(PrepareContext& c) {
  try {
    return WithState(RunImageDecoder, DecoderState{LoadImageDecoders(), PixelFormatOf(c).format});
  } catch (const Error& error) {
    if (error.code() != Code::kNotImplemented) throw;
    c.Fail(Code::kNotImplemented,
           "ImageDecoder version 20 is not implemented without the component for images: ", error.what());
  }
}

constexpr OpDef kImageDecoderOps[] = {
    {.name = "ImageDecoder",
     .since = {20},
     .types = {DType::kUInt8},
     .infer = InferImageDecoder,
     .prepare = PrepareImageDecoder},
};

}  // namespace

std::span<const OpDef> ImageDecoderOps() { return kImageDecoderOps; }

}  // namespace sardonyx::ops
