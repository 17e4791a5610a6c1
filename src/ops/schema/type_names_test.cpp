// ops/schema/type_names_test.cpp - the names of types, and how inputs are counted.
#include "ops/schema/type_names.h"

#include <gtest/gtest.h>

namespace sardonyx::ops {
namespace {

TEST(TypeNames, AreThoseOfConstraintsElseOfParameters) {
  const auto gather = TypeNamesOf(*FindSchema("", "Gather", 17));
  ASSERT_EQ(gather.size(), 2u);
  EXPECT_EQ(gather.at("T"), (std::vector<TypeArgument>{{false, 0}, {true, 0}}));
  EXPECT_EQ(gather.at("Tind"), (std::vector<TypeArgument>{{false, 1}}));
  const auto reshape = TypeNamesOf(*FindSchema("", "Reshape", 13));
  EXPECT_EQ(reshape.at("shape"), (std::vector<TypeArgument>{{false, 1}})) << "int64, without a constraint";
}

TEST(TypeNames, InputsAreCountedByParameter) {
  using Counts = std::vector<std::int32_t>;
  const OpSchema &clip = *FindSchema("", "Clip", 17), &concat = *FindSchema("", "Concat", 17),
                 &loop = *FindSchema("", "Loop", 17);
  EXPECT_EQ(InputCounts(clip, 1), (Counts{1, 0, 0}));
  EXPECT_EQ(InputCounts(clip, 3), (Counts{1, 1, 1}));
  EXPECT_EQ(InputCounts(concat, 4), Counts{4});
  EXPECT_EQ(InputCounts(loop, 2), (Counts{1, 1, 0}));
  EXPECT_EQ(InputCounts(loop, 5), (Counts{1, 1, 3}));
}

}  // namespace
}  // namespace sardonyx::ops
