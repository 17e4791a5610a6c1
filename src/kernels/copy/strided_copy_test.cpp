// kernels/copy/strided_copy_test.cpp - the strided copy against a plain loop, for all element sizes and odd shapes.
#include "kernels/copy/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "kernels/copy/storage.h"

namespace sardonyx::kernels {
namespace {

constexpr DType kSizes[] = {DType::kInt2,  DType::kUInt4, DType::kUInt8,     DType::kFloat16,
                            DType::kFloat, DType::kInt64, DType::kComplex128};

// Copies a transposed box with the engine and element by element, and compares the bytes.
void ExpectTransposed(DType dtype, const std::vector<std::int64_t>& shape, const std::vector<int>& perm) {
  const std::size_t rank = shape.size();
  std::vector<std::int64_t> stride(rank, 1);
  for (std::size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * shape[d];
  const std::int64_t count = stride[0] * shape[0];
  std::vector<std::uint8_t> from(ByteSize(dtype, count)), to(from.size()), want(from.size());
  std::mt19937 random(7);
  for (auto& b : from) b = static_cast<std::uint8_t>(random());
  StridedLoops loops;
  std::int64_t to_stride = count;
  for (const int p : perm) {
    const auto axis = static_cast<std::size_t>(p);
    to_stride /= shape[axis];
    loops.Add(shape[axis], stride[axis], to_stride);
  }
  Serial serial;
  StridedCopy(dtype, loops, from.data(), 0, to.data(), 0, serial);
  std::vector<std::int64_t> index(rank, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0, rest = i;
    for (std::size_t d = rank; d-- > 0;) {
      const auto axis = static_cast<std::size_t>(perm[d]);
      source += rest % shape[axis] * stride[axis];
      rest /= shape[axis];
    }
    VisitStorage(dtype, [&]<typename S>() {
      if constexpr (!std::is_same_v<S, PlainStorage<std::string>>) {
        StorageAt<S>(want.data()).Set(i, StorageAt<S>(from.data()).Get(source));
      }
    });
  }
  EXPECT_EQ(to, want) << Name(dtype) << " rank " << rank << " count " << count;
}

TEST(StridedCopy, TransposesEverySizeOfElement) {
  for (const DType dtype : kSizes) {
    ExpectTransposed(dtype, {32, 48}, {1, 0});
    ExpectTransposed(dtype, {17, 35}, {1, 0});
    ExpectTransposed(dtype, {3, 20, 18, 8}, {0, 2, 1, 3});
    ExpectTransposed(dtype, {4, 6, 2}, {1, 0, 2});
    ExpectTransposed(dtype, {2, 16, 9, 16}, {0, 3, 1, 2});
    ExpectTransposed(dtype, {5, 1, 7, 3, 4}, {4, 3, 2, 1, 0});
    ExpectTransposed(dtype, {2, 3, 4}, {0, 1, 2});
  }
}

TEST(StridedCopy, RepeatsAndReverses) {
  const std::vector<float> from = {1, 2, 3};
  std::vector<float> to(6);
  Serial serial;
  StridedLoops repeat;
  repeat.Add(2, 0, 3);
  repeat.Add(3, -1, 1);
  StridedCopy(DType::kFloat, repeat, from.data(), 2, to.data(), 0, serial);
  EXPECT_EQ(to, (std::vector<float>{3, 2, 1, 3, 2, 1}));
  StridedLoops fill;
  fill.Add(3, 1, 2);
  fill.Add(2, 0, 1);
  StridedCopy(DType::kFloat, fill, from.data(), 0, to.data(), 0, serial);
  EXPECT_EQ(to, (std::vector<float>{1, 1, 2, 2, 3, 3}));
}

TEST(StridedCopy, CopiesNothingForAnEmptyLoop) {
  const float from = 1;
  float to = 5;
  Serial serial;
  StridedLoops loops;
  loops.Add(3, 1, 1);
  loops.Add(0, 1, 1);
  StridedCopy(DType::kFloat, loops, &from, 0, &to, 0, serial);
  EXPECT_EQ(to, 5);
}

}  // namespace
}  // namespace sardonyx::kernels
