// ops/quantized/quantized_operators_test.cpp - the 8-bit operators of com.microsoft against sums in double, on all
// kernel variants, and their errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/quantized_binary.h"
#include "kernels/reduce/sum8.h"
#include "kernels/softmax/softmax_u8.h"
#include "ops/quantized/quantized_test.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;

template <typename T>
void CheckBinary(Shape shape_a, Shape shape_b) {
  const Tensor a = Bytes<T>(shape_a, 1), b = Bytes<T>(shape_b, 2);
  const int za = 7, zb = -3 + (std::is_signed_v<T> ? 0 : 100), zy = 5;
  for (const bool product : {false, true}) {
    const float scale = product ? 1.7f : 0.09f;
    const auto y =
        Compute8(product ? "QLinearMul" : "QLinearAdd", Inputs<T>({{a, 0.03f, za}, {b, 0.05f, zb}}, scale, zy));
    std::vector<double> want;
    for (std::int64_t i = 0; i < std::max(a.count(), b.count()); ++i) {
      const double p = (a.data<T>()[i % a.count()] - za) * static_cast<double>(0.03f);
      const double q = (b.data<T>()[i % b.count()] - zb) * static_cast<double>(0.05f);
      want.push_back(product ? p * q : p + q);
    }
    ExpectClose<T>(y[0], want, static_cast<double>(scale), zy);
  }
}

TEST(QLinearBinary, AddsAndMultipliesWithBroadcasting) {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 1000}) {
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{3, n});
    CheckBinary<std::int8_t>(Shape{3, n}, Shape{3, n});
    if (n == 0) continue;
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{n});
    CheckBinary<std::int8_t>(Shape{n}, Shape{3, n});
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{});
    CheckBinary<std::int8_t>(Shape{1}, Shape{3, n});
  }
}

TEST(QLinearBinary, RefusesScalesOfAnAxisAndTwoTypes) {
  std::vector<Value> inputs = Inputs<std::uint8_t>(
      {{Bytes<std::uint8_t>(Shape{2, 3}, 1), 1, 0}, {Bytes<std::uint8_t>(Shape{2, 3}, 2), 1, 0}}, 1, 0);
  inputs[1] = testing::Floats({1, 2, 3});
  EXPECT_NE(ErrorOfOp({.op = "QLinearAdd", .version = 1, .inputs = inputs, .domain = "com.microsoft"})
                .find("expected one scale, found shape [3]"),
            std::string::npos);
}

TEST(QLinearBinary, VariantsAgree) {
  const Tensor a = Bytes<std::uint8_t>(Shape{301}, 5), b = Bytes<std::uint8_t>(Shape{301}, 6);
  for (const auto kind : {kernels::QuantizedKind::kAdd, kernels::QuantizedKind::kMul}) {
    for (const bool is_signed : {false, true}) {
      std::vector<std::uint8_t> first;
      for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizedVariants())) {
        std::vector<std::uint8_t> y(301);
        const kernels::QuantizedBinaryArgs args{0.25f, 0.5f, 3, 4, 5, 2.25f};
        table().binary(kind, is_signed, false)(a.raw(), b.raw(), args, y.size(), y.data());
        if (first.empty()) first = y;
        EXPECT_EQ(y, first) << kernels::Name(isa);
      }
    }
  }
}

// y = round(a * a_scale + (b * b_scale + constant)), in float.
std::vector<int> SumsInOrder(const Tensor& a, const Tensor& b, const kernels::QuantizedBinaryArgs& args, bool fused) {
  std::vector<int> sums;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const float p = a.data<std::uint8_t>()[i], q = b.data<std::uint8_t>()[b.count() == 1 ? 0 : i];
    volatile float product = q * args.b_scale;  // so that no compiler fuses it
    const float second = fused ? std::fma(q, args.b_scale, args.constant) : product + args.constant;
    product = p * args.a_scale;
    const float sum = fused ? std::fma(p, args.a_scale, second) : product + second;
    sums.push_back(Quantized<std::uint8_t>(static_cast<double>(sum), 0));
  }
  return sums;
}

// Those of ONNX Runtime, where the CPU fuses multiplications and additions.
TEST(QLinearBinary, SumsHaveOneOrderOfFloatOperations) {
  const Tensor a = Bytes<std::uint8_t>(Shape{40000}, 5), many = Bytes<std::uint8_t>(Shape{40000}, 6),
               one = Bytes<std::uint8_t>(Shape{}, 7);
  for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizedVariants())) {
    for (int k = 1; k < 60; ++k) {
      const float y_scale = 0.01f * static_cast<float>(k + 7);
      kernels::QuantizedBinaryArgs args{.a_scale = 0.01f * static_cast<float>(k) / y_scale, .b_scale = 0.05f / y_scale};
      args.constant = 3 - (args.a_scale * 77 + args.b_scale * 100);
      for (const Tensor& b : {many, one}) {
        std::vector<std::uint8_t> y(40000);
        const bool repeats = b.count() == 1;
        table().binary(kernels::QuantizedKind::kAdd, false, repeats)(a.raw(), b.raw(), args, y.size(), y.data());
        const std::vector<int> got(y.begin(), y.end());
        const bool may_fuse = isa != kernels::Isa::baseline || got != SumsInOrder(a, b, args, false);
        EXPECT_EQ(got, SumsInOrder(a, b, args, may_fuse)) << kernels::Name(isa) << " " << k;
      }
    }
  }
}

// The zero points are taken together before any element: zero - fma(a_scale, a_zero, b_scale * b_zero), and with one
// element of A the operands change places.
TEST(QLinearBinary, ZeroPointsOfSumsMakeOneConstant) {
  const Tensor many = Bytes<std::uint8_t>(Shape{40000}, 5), one = Bytes<std::uint8_t>(Shape{}, 7);
  for (int k = 1; k < 60; ++k) {
    const float scale = 0.01f * static_cast<float>(k), y_scale = 0.01f * static_cast<float>(k + 7);
    for (const bool swapped : {false, true}) {
      const Scaled a{many, scale, 77}, b{swapped ? one : many, 0.05f, 100};
      const auto y = swapped ? Compute8("QLinearAdd", Inputs<std::uint8_t>({b, a}, y_scale, 9))
                             : Compute8("QLinearAdd", Inputs<std::uint8_t>({a, b}, y_scale, 9));
      kernels::QuantizedBinaryArgs args{.a_scale = scale / y_scale, .b_scale = 0.05f / y_scale};
      const volatile float product = args.b_scale * 100;
      args.constant = 9 - std::fma(args.a_scale, 77.0f, product);
      const auto bytes = Elements<std::uint8_t>(y[0]);
      const std::vector<int> got(bytes.begin(), bytes.end());
      const bool fused = got != SumsInOrder(many, b.data, args, false) || kernels::BestIsa() != kernels::Isa::baseline;
      EXPECT_EQ(got, SumsInOrder(many, b.data, args, fused)) << k << (swapped ? " swapped" : "");
    }
  }
}

// Sums and products that lie in the middle of two bytes: the even byte, whatever the zero point is.
TEST(QLinearBinary, HalvesGoToTheEvenResult) {
  const Tensor a = Bytes<std::uint8_t>(Shape{1001}, 5), b = Bytes<std::uint8_t>(Shape{1001}, 6);
  for (const int zero : {0, 1, 97, 128}) {
    for (const float scale : {0.5f, 0.7f, 0.013f}) {
      const auto sum = Elements<std::uint8_t>(
          Compute8("QLinearAdd", Inputs<std::uint8_t>({{a, scale, 3}, {b, scale, 100}}, 2 * scale, zero))[0]);
      const auto product = Elements<std::uint8_t>(
          Compute8("QLinearMul", Inputs<std::uint8_t>({{a, scale, 128}, {b, 1, 128}}, 128 * scale, zero))[0]);
      for (std::size_t i = 0; i < 1001; ++i) {
        const int p = a.data<std::uint8_t>()[i], q = b.data<std::uint8_t>()[i];
        EXPECT_EQ(sum[i], Quantized<std::uint8_t>((p + q - 103) / 2.0 + zero, 0));
        EXPECT_EQ(product[i], Quantized<std::uint8_t>((p - 128) * (q - 128) / 128.0 + zero, 0));
      }
    }
  }
}

// The product is rounded before the zero point is added, also where the CPU multiplies and adds at once.
TEST(QLinearBinary, ProductsAreRoundedOnce) {
  const Tensor a = Bytes<std::uint8_t>(Shape{40000}, 5), b = Bytes<std::uint8_t>(Shape{40000}, 6);
  for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizedVariants())) {
    for (int k = 1; k < 60; ++k) {
      const kernels::QuantizedBinaryArgs args{0.1f * static_cast<float>(k) * 0.01f, 0, 77, 100, 97, 0};
      std::vector<std::uint8_t> y(40000);
      table().binary(kernels::QuantizedKind::kMul, false, false)(a.raw(), b.raw(), args, y.size(), y.data());
      int wrong = 0;
      for (std::size_t i = 0; i < 40000; ++i) {
        const int p = a.data<std::uint8_t>()[i] - 77, q = b.data<std::uint8_t>()[i] - 100;
        const volatile float product = static_cast<float>(p * q) * args.a_scale;
        wrong += y[i] != Quantized<std::uint8_t>(static_cast<double>(product + 97), 0);
      }
      EXPECT_EQ(wrong, 0) << kernels::Name(isa) << " " << k;
    }
  }
}

TEST(Dequantize8, EveryVariantAndLengthIsExact) {
  const Tensor x = Bytes<std::uint8_t>(Shape{301}, 23);
  for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizedVariants())) {
    for (const std::size_t n : {1u, 3u, 4u, 15u, 16u, 17u, 301u}) {
      std::vector<float> plain(n), of_signed(n);
      table().dequantize_unsigned(x.data<std::uint8_t>(), 0.3f, 7, n, plain.data());
      table().dequantize_signed(x.data<std::uint8_t>(), 0.3f, 7, n, of_signed.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t byte = x.data<std::uint8_t>()[i];
        EXPECT_EQ(plain[i], static_cast<float>(byte - 7) * 0.3f) << kernels::Name(isa);
        EXPECT_EQ(of_signed[i], static_cast<float>(static_cast<std::int8_t>(byte) - 7) * 0.3f) << kernels::Name(isa);
      }
    }
  }
}

TEST(Lookup8, TakesEveryByteFromTheTable) {
  Tensor table(DType::kInt8, Shape{256});
  for (int i = 0; i < 256; ++i) table.data<std::int8_t>()[i] = static_cast<std::int8_t>(127 - i);
  for (const std::int64_t n : {0, 1, 7, 8, 9, 70, 300}) {
    const Tensor x = Bytes<std::uint8_t>(Shape{n}, 3);
    const auto y = Elements<std::int8_t>(
        EvaluateOp({.op = "Lookup8", .version = 1, .inputs = {x, table}, .domain = "ai.sardonyx"})[0]);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(y[static_cast<std::size_t>(i)], static_cast<std::int8_t>(127 - x.data<std::uint8_t>()[i]));
  }
  EXPECT_NE(ErrorOfOp({.op = "Lookup8",
                       .version = 1,
                       .inputs = {Bytes<std::uint8_t>(Shape{2}, 1), Bytes<std::uint8_t>(Shape{2}, 1)},
                       .domain = "ai.sardonyx"})
                .find("expected 256 elements, found 2"),
            std::string::npos);
}

TEST(Lookup8, AgreesOnEveryIsa) {
  const std::vector<std::uint8_t> table = Elements<std::uint8_t>(Bytes<std::uint8_t>(Shape{256}, 5));
  for (const std::int64_t n : {63, 64, 65, 200, 1000}) {
    std::vector<std::uint8_t> x(static_cast<std::size_t>(n)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i * 37);
    for (const auto& [isa, kernels] : kernels::Runnable(kernels::QuantizedVariants())) {
      kernels().lookup(x.data(), table.data(), x.size(), y.data());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], table[x[i]]) << Name(isa) << ": " << i << " of " << n;
    }
  }
}

TEST(QLinearFunctions, AreTheFloatOnesRounded) {
  const Tensor x = Bytes<std::int8_t>(Shape{5, 60}, 4);
  std::vector<double> sigmoid, leaky;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const double value = (x.data<std::int8_t>()[i] - 3) * static_cast<double>(0.04f);
    sigmoid.push_back(1 / (1 + std::exp(-value)));
    leaky.push_back(value < 0 ? value * static_cast<double>(0.3f) : value);
  }
  ExpectClose<std::int8_t>(Compute8("QLinearSigmoid", Inputs<std::int8_t>({{x, 0.04f, 3}}, 0.004f, -120))[0], sigmoid,
                           static_cast<double>(0.004f), -120);
  ExpectClose<std::int8_t>(
      Compute8("QLinearLeakyRelu", Inputs<std::int8_t>({{x, 0.04f, 3}}, 0.05f, 1), {{"alpha", 0.3f}})[0], leaky,
      static_cast<double>(0.05f), 1);
}

TEST(QLinearSoftmax, NormalizesRowsColumnsAndAllFromAnAxisOn) {
  const Tensor x = Bytes<std::uint8_t>(Shape{2, 3, 4}, 13);
  const auto check = [&](std::int64_t axis, std::int64_t opset, std::int64_t n, std::int64_t inner) {
    const auto y = Compute8("QLinearSoftmax", Inputs<std::uint8_t>({{x, 0.02f, 2}}, 1.0f / 256, 0),
                            {{"axis", axis}, {"opset", opset}});
    std::vector<double> want(24);
    for (std::int64_t i = 0; i < 24; ++i) {
      double sum = 0;
      const std::int64_t base = i / (n * inner) * n * inner + i % inner;
      for (std::int64_t k = 0; k < n; ++k)
        sum += std::exp((x.data<std::uint8_t>()[base + k * inner] - x.data<std::uint8_t>()[i]) * 0.02);
      want[static_cast<std::size_t>(i)] = 1 / sum;
    }
    ExpectClose<std::uint8_t>(y[0], want, 1.0 / 256, 0);
  };
  check(-1, 13, 4, 1);
  check(1, 13, 3, 4);
  check(0, 13, 2, 12);
  check(1, 11, 12, 1);
}

// Column `column` of x [n, stride] against its softmax in double.
void CheckSoftmax(const Tensor& x, const std::vector<std::uint8_t>& y, std::int64_t n, std::int64_t stride,
                  std::int64_t column, const kernels::SoftmaxBytesArgs& args) {
  const auto value = [&](std::int64_t i) {
    const std::uint8_t byte = x.data<std::uint8_t>()[i * stride + column];
    return (args.is_signed ? static_cast<std::int8_t>(byte) : int{byte}) * static_cast<double>(args.x_scale);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(value(i));
  for (std::int64_t i = 0; i < n; ++i) {
    const double exact = std::exp(value(i)) / sum / static_cast<double>(args.y_scale);
    const int want =
        args.is_signed ? Quantized<std::int8_t>(exact, args.y_zero) : Quantized<std::uint8_t>(exact, args.y_zero);
    const bool tie = std::abs(exact - std::floor(exact) - 0.5) < 1e-3;
    const std::uint8_t byte = y[static_cast<std::size_t>(i * stride + column)];
    EXPECT_NEAR(args.is_signed ? static_cast<std::int8_t>(byte) : int{byte}, want, tie ? 1 : 0)
        << "element " << i << " of " << n << ", column " << column << " of " << stride;
  }
}

TEST(QLinearSoftmax, EveryVariantAndLengthAgreesWithDouble) {
  for (const bool is_signed : {false, true}) {
    for (const std::int64_t n : {1, 3, 4, 15, 16, 17, 100, 130, 2047, 2048, 2049, 5000}) {
      const kernels::SoftmaxBytesArgs args{is_signed, 0.01f, 1.0f / static_cast<float>(8 * n), 7};
      for (const auto& [isa, softmax] : kernels::Runnable(kernels::SoftmaxBytesVariants())) {
        const Tensor x = Bytes<std::uint8_t>(Shape{n}, 21);
        std::vector<std::uint8_t> y(static_cast<std::size_t>(n));
        softmax(x.data<std::uint8_t>(), n, args, y.data());
        CheckSoftmax(x, y, n, 1, 0, args);
      }
      for (const auto& [isa, softmax] : kernels::Runnable(kernels::SoftmaxBytesColumnsVariants())) {
        if (n > 2047) continue;
        for (const std::int64_t columns : {1, 4, 19, 35}) {
          const Tensor x = Bytes<std::uint8_t>(Shape{n, columns}, 22);
          std::vector<std::uint8_t> y(static_cast<std::size_t>(n * columns));
          softmax(x.data<std::uint8_t>(), n, columns, columns, args, y.data());
          for (std::int64_t k = 0; k < columns; ++k) CheckSoftmax(x, y, n, columns, k, args);
        }
      }
    }
  }
}

TEST(QLinearConcat, BringsTensorsToOneScale) {
  const Tensor a = Bytes<std::uint8_t>(Shape{2, 3}, 1), b = Bytes<std::uint8_t>(Shape{2, 20}, 2);
  const auto zero = [](int z) { return Tensor::Scalar(static_cast<std::uint8_t>(z)); };
  const auto y =
      Compute8("QLinearConcat",
               {Tensor::Scalar(0.1f), zero(9), a, Tensor::Scalar(0.1f), zero(9), b, Tensor::Scalar(0.05f), zero(3)},
               {{"axis", std::int64_t{-1}}});
  std::vector<double> want;
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 3; ++i) want.push_back((a.data<std::uint8_t>()[3 * row + i] - 9) * static_cast<double>(0.1f));
    for (int i = 0; i < 20; ++i)
      want.push_back((b.data<std::uint8_t>()[20 * row + i] - 3) * static_cast<double>(0.05f));
  }
  ExpectClose<std::uint8_t>(y[0], want, static_cast<double>(0.1f), 9);
  EXPECT_NE(ErrorOfOp({.op = "QLinearConcat",
                       .version = 1,
                       .inputs = {Tensor::Scalar(0.1f), zero(9), a, Tensor::Scalar(0.1f), zero(9), b,
                                  Tensor::Scalar(0.05f), zero(3)},
                       .attributes = {{"axis", std::int64_t{0}}},
                       .domain = "com.microsoft"})
                .find("expected inputs that differ in dimension 0 only"),
            std::string::npos);
}

TEST(QLinearConcat, TakesEmptyInputsOfOtherDimensions) {
  const Tensor none = Bytes<std::uint8_t>(Shape{0, 0}, 1), b = Bytes<std::uint8_t>(Shape{2, 20}, 2);
  const Value scale = Tensor::Scalar(0.1f), zero = Tensor::Scalar(std::uint8_t{9});
  for (const bool first : {false, true}) {
    const Value& one = first ? none : b;
    const Value& other = first ? b : none;
    const auto y =
        Compute8("QLinearConcat", {scale, zero, one, scale, zero, other, scale, zero}, {{"axis", std::int64_t{1}}});
    EXPECT_EQ(y[0].tensor().shape(), (Shape{2, 20}));
    EXPECT_EQ(Elements<std::uint8_t>(y[0]), Elements<std::uint8_t>(b));
  }
}

TEST(QLinearWhere, ChoosesWithBroadcasting) {
  const Tensor a = Bytes<std::int8_t>(Shape{2, 5}, 1), b = Bytes<std::int8_t>(Shape{5}, 2);
  std::vector<Value> inputs = {Tensor::Of<bool>({true, false}, Shape{2, 1})};
  for (Value& input : Inputs<std::int8_t>({{a, 0.1f, 9}, {b, 0.05f, -3}}, 0.07f, 1)) inputs.push_back(input);
  std::vector<double> want;
  for (int i = 0; i < 5; ++i) want.push_back((a.data<std::int8_t>()[i] - 9) * static_cast<double>(0.1f));
  for (int i = 0; i < 5; ++i) want.push_back((b.data<std::int8_t>()[i] + 3) * static_cast<double>(0.05f));
  ExpectClose<std::int8_t>(Compute8("QLinearWhere", inputs)[0], want, static_cast<double>(0.07f), 1);
}

TEST(Sum8, EveryVariantIsExact) {
  const Tensor x = Bytes<std::uint8_t>(Shape{40, 70}, 17);
  for (const auto& [isa, sum] : kernels::Runnable(kernels::Sum8Variants())) {
    for (const std::int64_t columns : {1, 3, 16, 65, 70}) {
      std::vector<std::int32_t> acc(70, 5), row(1, 5);
      sum(x.data<std::uint8_t>(), true, 40, 70, columns, acc.data());
      for (std::int64_t k = 0; k < columns; ++k) {
        std::int32_t want = 5;
        for (std::int64_t i = 0; i < 40; ++i) want += static_cast<std::int8_t>(x.data<std::uint8_t>()[70 * i + k]);
        EXPECT_EQ(acc[static_cast<std::size_t>(k)], want) << kernels::Name(isa);
      }
      sum(x.data<std::uint8_t>(), false, columns, 1, 1, row.data());
      std::int32_t want = 5;
      for (std::int64_t i = 0; i < columns; ++i) want += x.data<std::uint8_t>()[i];
      EXPECT_EQ(row[0], want) << kernels::Name(isa);
    }
  }
}

}  // namespace
}  // namespace sardonyx::ops
