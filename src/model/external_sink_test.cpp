// model/external_sink_test.cpp - where weights begin that lie outside of a model's protobuf.
#include "model/external_sink.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace sardonyx::model {
namespace {

ValueInfo Weight(std::int64_t floats, float first) {
  auto initializer = std::make_shared<Initializer>();
  initializer->tensor = Tensor(DType::kFloat, Shape{floats});
  initializer->tensor.data<float>()[0] = first;
  ValueInfo value;
  value.initializer = std::move(initializer);
  return value;
}

TEST(ExternalSink, AlignsWhatIsLargeEnough) {
  MemorySink sink({.location = "w.bin", .min_bytes = 8, .alignment = 1024, .aligned_bytes = 100});
  EXPECT_FALSE(sink.Place(Weight(1, 0))) << "stays in the model";
  const auto first = sink.Place(Weight(10, 1));
  const auto small = sink.Place(Weight(10, 2));
  const auto large = sink.Place(Weight(25, 3));
  const auto last = sink.Place(Weight(2, 4));
  ASSERT_TRUE(first && small && large && last);
  EXPECT_EQ(first->location, "w.bin");
  EXPECT_EQ(first->offset, 0u);
  EXPECT_EQ(first->length, 40u);
  EXPECT_EQ(small->offset, 64u);
  EXPECT_EQ(large->offset, 1024u);
  EXPECT_EQ(last->offset, 1152u);
  EXPECT_EQ(sink.bytes().size(), 1160u);
  float found = 0;
  std::memcpy(&found, sink.bytes().data() + large->offset, sizeof(found));
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace sardonyx::model
