// tensor/value_test.cpp - tensors as views of buffers, who frees what, and the kinds of values.
#include "tensor/value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>

#include "base/memory/kept_blocks.h"

namespace sardonyx {
namespace {

template <typename Body>
std::string FailureOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no failure";
}

class Counting final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    ++living;
    return HostAllocator()->Allocate(size);
  }
  void Free(void* data) override {
    --living;
    HostAllocator()->Free(data);
  }
  Device device() const override { return {}; }
  int living = 0;
};

TEST(HostAllocator, AlignsTo64BytesAndSaysHowMuchWasWanted) {
  for (const std::size_t size : {1u, 63u, 65u}) {
    void* data = HostAllocator()->Allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
    HostAllocator()->Free(data);
  }
  EXPECT_EQ(HostAllocator()->Allocate(0), nullptr);
  EXPECT_EQ(FailureOf([] { HostAllocator()->Allocate(std::numeric_limits<std::size_t>::max()); }),
            "out of memory: cannot allocate 18446744073709551615 bytes");
}

TEST(Buffer, IsFreedByItsAllocatorAndKeepsItsOwner) {
  const auto allocator = std::make_shared<Counting>();
  {
    const Tensor a(DType::kFloat, Shape{4}, allocator);
    const Tensor b = a;
    EXPECT_EQ(allocator->living, 1);
    EXPECT_EQ(a.raw(), b.raw());
  }
  EXPECT_EQ(allocator->living, 0);

  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owner;
  static const float kData[2] = {1, 2};
  auto buffer = Buffer::ReadOnly(kData, sizeof kData, std::move(owner));
  EXPECT_TRUE(buffer->read_only());
  EXPECT_FALSE(alive.expired());
  buffer.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(Tensor, ViewsPartOfABuffer) {
  const Tensor whole = Tensor::Of<std::int32_t>({1, 2, 3, 4}, Shape{2, 2});
  const Tensor row(DType::kInt32, Shape{2}, whole.buffer(), 8);
  EXPECT_EQ(row.data<std::int32_t>()[1], 4);
  EXPECT_EQ(FailureOf([&] { Tensor(DType::kInt32, Shape{3}, whole.buffer(), 8); }),
            "expected a buffer of at least 12 bytes from offset 8 for int32[3], found 16 bytes");
  EXPECT_NE(FailureOf([&] { Tensor(DType::kInt32, Shape{}, nullptr, 0); }), "no failure");
  EXPECT_NE(FailureOf([&] { Tensor(DType::kInt8, Shape{}, whole.buffer(), 17); }), "no failure");
}

TEST(Tensor, ReshapesTheSameBytesAndClonesOwnOnes) {
  const Tensor a = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3});
  const Tensor b = a.Reshaped(Shape{3, 2});
  EXPECT_EQ(a.raw(), b.raw());
  EXPECT_EQ(FailureOf([&] { a.Reshaped(Shape{4}); }), "expected a shape with 6 elements, as [2, 3] has, found [4]");
  const Tensor c = b.Clone();
  EXPECT_NE(c.raw(), a.raw());
  EXPECT_EQ(c.shape(), (Shape{3, 2}));
  EXPECT_EQ(c.data<float>()[5], 6);
  EXPECT_FALSE(Tensor().Clone().defined());
  EXPECT_EQ(Tensor(DType::kFloat, Shape{0, 3}).Clone().count(), 0);
}

TEST(Tensor, StringsAreObjects) {
  Tensor a(DType::kString, Shape{2});
  EXPECT_EQ(a.data<std::string>()[1], "");
  a.data<std::string>()[1] = std::string(100, 'x');
  const Tensor b = a.Clone();
  a.data<std::string>()[1] = "y";
  EXPECT_EQ(b.span<std::string>()[1], std::string(100, 'x'));
}

TEST(Tensor, RefusesShapesBeforeAllocating) {
  const auto allocator = std::make_shared<Counting>();
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_NE(FailureOf([&] { Tensor(DType::kDouble, Shape{huge}, allocator); }), "no failure");
  EXPECT_NE(FailureOf([&] { Tensor(DType::kDouble, Shape{-1}, allocator); }), "no failure");
  EXPECT_EQ(allocator->living, 0);
  EXPECT_NE(FailureOf([&] { Tensor::Of<float>({1, 2}, Shape{3}); }), "no failure");
}

TEST(Tensor, PackedTypesTakeFewerBytes) {
  EXPECT_EQ(Tensor(DType::kInt4, Shape{3}).byte_size(), 2u);
  EXPECT_EQ(Tensor(DType::kUInt2, Shape{3, 3}).byte_size(), 3u);
}

TEST(Buffer, SmallBlocksAreFreedLater) {
  const auto address = [](std::size_t size) {
    return reinterpret_cast<std::uintptr_t>(Buffer::Allocate(size)->data());
  };
  std::set<std::uintptr_t> small;
  for (std::size_t i = 0; i < kKeptBlocks; ++i) small.insert(address(64));
  EXPECT_EQ(small.size(), kKeptBlocks);
}

TEST(Value, KnowsItsKind) {
  EXPECT_EQ(Value().KindName(), "nothing");
  EXPECT_EQ(Value(Tensor::Scalar(Half(1.0f))).KindName(), "tensor(float16)");
  const Value sequence(Sequence{DType::kFloat, {Value(Tensor::Scalar(2.0f))}});
  EXPECT_EQ(sequence.KindName(), "sequence");
  EXPECT_EQ(*sequence.sequence().items[0].tensor().data<float>(), 2.0f);
  const std::int64_t keys[] = {1, 2};
  const Map map = {Tensor::Vector(std::span<const std::int64_t>(keys)), Tensor::Of<float>({1, 2}, Shape{2})};
  EXPECT_EQ(Value(map).KindName(), "map");
  const Value sparse(SparseTensor{Shape{3}, Tensor::Of<float>({1}, Shape{1}), Tensor::Of<std::int64_t>({2}, Shape{1})});
  EXPECT_EQ(sparse.KindName(), "sparse tensor");
  EXPECT_EQ(sparse.sparse().dense_shape, Shape{3});
  EXPECT_FALSE(Value().has_value());
}

}  // namespace
}  // namespace sardonyx
