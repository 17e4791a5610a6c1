// kernels/packed_form_test.cpp - notices when kernels pack in another form without a new version of the packer.
#include "kernels/packed_form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "base/digest.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_int8.h"
#include "kernels/dispatch.h"
#include "kernels/distance/squared_distance.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_any.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/nbits/nbits.h"

namespace sardonyx::kernels {
namespace {

constexpr std::size_t kWeights = 64 * 1024;

// Multiples of `factor`.
template <typename T>
std::vector<T> Numbers(std::size_t factor) {
  std::vector<T> numbers(kWeights);
  for (std::size_t i = 0; i < kWeights; ++i) numbers[i] = static_cast<T>(i * 37 % 101 * factor);
  return numbers;
}

// The bytes that `pack` writes, with zeros in the gaps.
using Pack = std::function<void(std::byte*, Parallel&)>;
Digest DigestOfPacked(std::size_t bytes, const Pack& pack) {
  std::vector<std::byte> memory(bytes + 64);
  auto* const begin = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  Serial serial;
  pack(begin, serial);
  return DigestOf({begin, bytes});
}

ConvShape Shape3x3(std::int64_t groups, ConvAlgorithm algorithm) {
  ConvShape shape;
  shape.in_channels = shape.out_channels = 40;
  shape.groups = groups;
  shape.in = shape.out = {1, 28, 28};
  shape.kernel = {1, 3, 3};
  shape.pad_begin = {0, 1, 1};
  shape.algorithm = algorithm;
  return shape;
}

// One number for all forms.
std::uint64_t DigestOfAllForms() {
  // Winograd's transforms divide by up to 24 twice: so the results are whole numbers however a compiler rounds.
  const auto floats = Numbers<float>(576);
  const auto doubles = Numbers<double>(1);
  const auto halves = Numbers<std::uint16_t>(1);
  const auto bytes = Numbers<std::uint8_t>(1);
  std::vector<Digest> digests;
  const auto add = [&](std::size_t size, const Pack& pack) { digests.push_back(DigestOfPacked(size, pack)); };
  const auto as_floats = [](std::byte* to) { return reinterpret_cast<float*>(to); };
  for (const bool transposed : {false, true}) {
    add(GemmF32PackedCount(70, 50) * sizeof(float), [&](std::byte* to, Parallel& parallel) {
      PackGemmF32B(70, 50, floats.data(), transposed ? 70 : 50, transposed, as_floats(to), parallel);
    });
    add(GemmHalfPackedCount(70, 50) * sizeof(std::uint16_t), [&](std::byte* to, Parallel& parallel) {
      PackGemmHalfB(70, 50, halves.data(), transposed ? 70 : 50, transposed, reinterpret_cast<std::uint16_t*>(to),
                    parallel);
    });
    add(GemmAnyPackedCount<double>(70, 50) * sizeof(double), [&](std::byte* to, Parallel&) {
      PackGemmAnyB(70, 50, doubles.data(), transposed ? 70 : 50, transposed, reinterpret_cast<double*>(to));
    });
    add(GemmInt8PackedBytes(70, 50), [&](std::byte* to, Parallel& parallel) {
      PackGemmInt8B(70, 50, bytes.data(), 50, transposed, to, parallel);  // here: signed or not
    });
  }
  for (const auto algorithm : {ConvAlgorithm::kDirect, ConvAlgorithm::kWinograd2, ConvAlgorithm::kWinograd4}) {
    const ConvShape shape = Shape3x3(1, algorithm);
    add(ConvF32PackedCount(shape) * sizeof(float),
        [&](std::byte* to, Parallel& parallel) { PackConvF32Weights(shape, floats.data(), as_floats(to), parallel); });
  }
  for (const std::int64_t groups : {std::int64_t{1}, std::int64_t{5}, std::int64_t{40}}) {
    const ConvShape shape = Shape3x3(groups, ConvAlgorithm::kDirect);
    add(ConvF32PackedCount(shape) * sizeof(float),
        [&](std::byte* to, Parallel& parallel) { PackConvF32Weights(shape, floats.data(), as_floats(to), parallel); });
    add(ConvTransposeF32PackedCount(shape) * sizeof(float), [&](std::byte* to, Parallel& parallel) {
      PackConvTransposeF32Weights(shape, floats.data(), as_floats(to), parallel);
    });
    for (const bool is_signed : {false, true}) {
      add(ConvInt8PackedBytes(shape), [&](std::byte* to, Parallel& parallel) {
        PackConvInt8Weights(shape, {bytes.data(), is_signed, bytes.data(), 1}, to, parallel);
      });
    }
  }
  // Their weights are within -64..64, and of whole panels.
  auto small = bytes;
  for (std::uint8_t& value : small) value = static_cast<std::uint8_t>(value % 129 - 64);
  for (const auto way : {ConvInt8Way::kSmallWeights, ConvInt8Way::kWinograd}) {
    ConvShape shape = Shape3x3(1, ConvAlgorithm::kDirect);
    shape.in_channels = shape.out_channels = 32;
    add(ConvInt8PackedBytes(shape, nullptr, way), [&](std::byte* to, Parallel& parallel) {
      PackConvInt8Weights(shape, {small.data()}, to, parallel, nullptr, way);
    });
  }
  for (const int bits : {2, 4, 8}) {
    for (const auto& [has_zeros, half_scales] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      const NBitsShape shape{50, 96, 32, bits, has_zeros, half_scales};
      add(NBitsPackedBytes(shape), [&](std::byte* to, Parallel& parallel) {
        PackNBits(shape, {bytes.data(), floats.data(), floats.data() + 1000}, to, parallel);
      });
    }
  }
  add(static_cast<std::size_t>(PackedPointCount(70, 50)) * sizeof(float),
      [&](std::byte* to, Parallel&) { PackPoints(floats.data(), 70, 50, as_floats(to)); });
  return DigestOf(std::as_bytes(std::span(digests)))[0];
}

// By PackedForm(). If a kernel packs in another form: raise kPackerVersion, and put the new numbers here, which the
// test prints (SDX_MAX_ISA gives those of the lesser ISAs). Of a machine that is not here only the lesser ISAs are
// compared, the baseline always.
const std::map<std::string, std::uint64_t>& Known() {
  static const std::map<std::string, std::uint64_t> known = {
      {"packer 8, avx2", 13051032615624619903u},
      {"packer 8, avx2, avx_vnni", 13051032615624619903u},
      {"packer 8, baseline", 6389738063004020354u},
  };
  return known;
}

TEST(PackedForm, HasAVersionForWhatKernelsPack) {
  const auto known = Known().find(PackedForm());
  const std::uint64_t digest = DigestOfAllForms();
  EXPECT_EQ(digest, DigestOfAllForms()) << "the same weights are packed in two ways: " << PackedForm();
  const std::string row = "{\"" + PackedForm() + "\", " + std::to_string(digest) + "u}";
  if (known != Known().end()) {
    EXPECT_EQ(digest, known->second) << row;
  } else {
    RecordProperty("unknown_form", row);  // in the report of --gtest_output
  }
}

TEST(PackedForm, NamesTheIsa) {
  const std::string form = PackedForm();
  EXPECT_EQ(form.find("packer " + std::to_string(kPackerVersion) + ", " + std::string(Name(BestIsa()))), 0u) << form;
}

}  // namespace
}  // namespace sardonyx::kernels
