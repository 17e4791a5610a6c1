// model/adapter_file_test.cpp - adapters come back as they were written, and damaged ones are refused.
#include "model/adapter_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace sardonyx::model {
namespace {

Adapter Sample() {
  Adapter adapter;
  adapter.adapter_version = 3;
  adapter.model_version = 7;
  adapter.parameters.emplace_back("a", Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3}));
  adapter.parameters.emplace_back("empty", Tensor(DType::kInt64, Shape{0, 4}));
  adapter.parameters.emplace_back("scalar", Tensor::Scalar<std::int64_t>(42));
  return adapter;
}

TEST(AdapterFile, ComesBackAsItWasWritten) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(WriteAdapter(Sample()));
  const Adapter found = ReadAdapter(*bytes, bytes);
  EXPECT_EQ(found.adapter_version, 3);
  EXPECT_EQ(found.model_version, 7);
  ASSERT_EQ(found.parameters.size(), 3u);
  EXPECT_EQ(found.parameters[0].first, "a");
  const Tensor& a = found.parameters[0].second;
  EXPECT_EQ(a.shape(), (Shape{2, 3}));
  EXPECT_EQ(a.data<float>()[5], 6.0f);
  const auto* at = static_cast<const std::byte*>(a.raw());
  EXPECT_TRUE(at >= bytes->data() && at < bytes->data() + bytes->size()) << "expected a view of the bytes";
  EXPECT_EQ(found.parameters[1].second.shape(), (Shape{0, 4}));
  EXPECT_EQ(*found.parameters[2].second.data<std::int64_t>(), 42);
}

TEST(AdapterFile, CopiesBytesThatNobodyKeeps) {
  std::vector<std::byte> bytes = WriteAdapter(Sample());
  const Adapter found = ReadAdapter(bytes, nullptr);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  EXPECT_EQ(found.parameters[0].second.data<float>()[1], 2.0f);
}

// Whatever byte is wrong: an error or an adapter, never a read outside of the bytes (run under a sanitizer, too).
TEST(AdapterFile, SurvivesEveryWrongByteAndEveryLength) {
  const std::vector<std::byte> good = WriteAdapter(Sample());
  int refused = 0;
  const auto read = [&](std::span<const std::byte> bytes) {
    try {
      for (const auto& [name, tensor] : ReadAdapter(bytes, nullptr).parameters)
        if (tensor.byte_size() != 0)
          std::vector<std::byte> copy(static_cast<const std::byte*>(tensor.raw()),
                                      static_cast<const std::byte*>(tensor.raw()) + tensor.byte_size());
    } catch (const Error&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < good.size(); ++size) read(std::span(good).first(size));
  constexpr int kPadding = 8;  // at the end there may be less than this, which nothing needs
  EXPECT_GT(refused, static_cast<int>(good.size()) - kPadding);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int wrong : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> bytes = good;
      bytes[at] = static_cast<std::byte>(wrong);
      read(bytes);
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()) + 100);
}

TEST(AdapterFile, RefusesStringsByName) {
  Adapter adapter;
  adapter.parameters.emplace_back("words", Tensor(DType::kString, Shape{2}));
  try {
    WriteAdapter(adapter);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotImplemented);
    EXPECT_NE(std::string(error.what()).find("'words'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::model
