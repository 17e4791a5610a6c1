// kernels/pool/pool_last_int8.cpp - max pooling of channels-last bytes.
#include "kernels/pool/pool_last_int8.h"

#include <cstring>

#include "kernels/pool/pool_last.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<BytePoolPixelFn> kUnsigned[] = {SDX_VARIANTS(MaxPoolPixelU8)};
constexpr Variant<BytePoolPixelFn> kSigned[] = {SDX_VARIANTS(MaxPoolPixelS8)};

}  // namespace

// NOLINTNEXTLINE(readability-function-size): sizes and kinds of one call
void MaxPoolLastInt8(const PoolShape& p, std::int64_t batch, std::int64_t channels, bool is_signed, const void* x,
                     void* y, Parallel& parallel, Isa isa) {
  BytePoolPixelFn* run = Best(is_signed ? kSigned : kUnsigned, isa);
  const PoolImages<std::uint8_t> images = {p, batch, channels, static_cast<const std::uint8_t*>(x),
                                           static_cast<std::uint8_t*>(y)};
  const auto add = [&](const PoolWindow<std::uint8_t>& window, std::int64_t /*ow*/, std::uint8_t* at, bool /*last*/) {
    if (window.count == 0) return void(std::memset(at, is_signed ? 0x80 : 0, static_cast<std::size_t>(channels)));
    run({window.pixels, window.count, channels, window.more, at});
  };
  ForPoolRows(images, 131072, parallel,
              [&](const PoolLastRow<std::uint8_t>& row) { ForPoolPixels(p, channels, row, add); });
}

}  // namespace sardonyx::kernels
