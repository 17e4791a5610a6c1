// model/sparse_reader_test.cpp - sparse initializers: both forms of indices, the dense form, the author's form, and
// refusals.
#include <gtest/gtest.h>

#include "model/load.h"
#include "model/save.h"
#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

using messages::Fields;
using messages::Floats;
using messages::GraphProto;
using messages::Load;
using messages::LoadError;
using messages::ModelProto;
using messages::NodeProto;
using messages::Raw;
using messages::SparseProto;
using messages::TensorProto;
using messages::Writer;

std::string Values(std::initializer_list<float> values) {
  return TensorProto("w", DType::kFloat, {static_cast<std::int64_t>(values.size())}, Raw(values));
}
std::string Indices(const std::vector<std::int64_t>& dims, std::initializer_list<std::int64_t> indices) {
  return TensorProto("", DType::kInt64, dims, Raw(indices));
}
std::string ModelWith(const std::string& sparse) {
  return ModelProto(GraphProto(
      {.nodes = {NodeProto("Identity", {"w"}, {"y"})}, .outputs = {Floats("y", {"2", "3"})}, .sparse = {sparse}}));
}

TEST(SparseReader, MakesTheDenseFormAndKeepsTheAuthorsForm) {
  const std::string linear = SparseProto(Values({5, 6}), Indices({2}, {1, 5}), {2, 3});
  const std::string pairs = SparseProto(Values({5, 6}), Indices({2, 2}, {0, 1, 1, 2}), {2, 3});
  for (const std::string& form : {linear, pairs}) {
    const Model model = Load(ModelWith(form));
    const ValueInfo& w = model.graph.value(*model.graph.Find("w"));
    EXPECT_EQ(w.initializer->tensor.shape(), Shape({2, 3}));
    const std::span<const float> dense = w.initializer->tensor.span<float>();
    EXPECT_EQ(std::vector<float>(dense.begin(), dense.end()), (std::vector<float>{0, 5, 0, 0, 0, 6}));
    ASSERT_TRUE(w.initializer->sparse);
    EXPECT_EQ(w.initializer->sparse->values.count(), 2);
    EXPECT_EQ(w.type, Type::TensorOf(DType::kFloat, {2, 3}));
    EXPECT_EQ(SaveBytes(Load(SaveBytes(model))), SaveBytes(model));
    EXPECT_TRUE(Load(SaveBytes(model)).graph.value(0).initializer->sparse);
  }
}

TEST(SparseReader, TakesIndicesInAnyOrderAndTheLastOfEqualOnes) {
  const std::string linear = SparseProto(Values({5, 6, 7}), Indices({3}, {5, 1, 5}), {2, 3});
  const std::string pairs = SparseProto(Values({5, 6, 7}), Indices({3, 2}, {1, 2, 0, 1, 1, 2}), {2, 3});
  for (const std::string& form : {linear, pairs}) {
    const Model model = Load(ModelWith(form));
    const std::span<const float> dense = model.graph.value(*model.graph.Find("w")).initializer->tensor.span<float>();
    EXPECT_EQ(std::vector<float>(dense.begin(), dense.end()), (std::vector<float>{0, 6, 0, 0, 0, 7}));
    EXPECT_EQ(SaveBytes(Load(SaveBytes(model))), SaveBytes(model));
  }
}

TEST(SparseReader, RefusesIndicesAndShapesThatDoNotFit) {
  const auto error = [](const std::string& sparse, const std::string& part) {
    const std::string found = LoadError(ModelWith(sparse));
    EXPECT_NE(found.find("the model: graph.sparse_initializer[0]: "), std::string::npos) << found;
    EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
  };
  error(SparseProto(Values({5}), Indices({1}, {6}), {2, 3}), "expected indices in [0, 6), found 6");
  error(SparseProto(Values({5}), Indices({1}, {-1}), {2, 3}), "found -1");
  error(SparseProto(Values({5}), Indices({1, 2}, {0, 3}), {2, 3}),
        "expected indices in [0, 3) in dimension 1, found 3");
  error(SparseProto(Values({5}), Indices({2}, {0, 3}), {2, 3}),
        "expected indices of type int64[1] or int64[1, 2], found int64[2]");
  error(SparseProto(Values({5}), TensorProto("", DType::kInt32, {1}, Raw<std::int32_t>({0})), {2, 3}),
        "found int32[1]");
  error(SparseProto(Values({5}), Indices({1}, {0}), {1 << 20, 1 << 20}),
        "expected a sparse tensor whose dense form takes at most");
  error(SparseProto(Values({5}), Indices({1}, {0}), {std::int64_t{1} << 40, std::int64_t{1} << 40}),
        "expected dimensions whose product is below 2^59");
  error(Fields([&](Writer& w) { w.add_message(1, Values({5})); }), "expected values and indices, found no indices");
}

}  // namespace
}  // namespace sardonyx::model
