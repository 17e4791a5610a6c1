// model/mutation_test.cpp - 20,000 damaged copies of a model: each loads or fails with an Error, nothing else.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "model/load.h"
#include "model/save.h"
#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

using namespace messages;

// A model with a subgraph, a function, external and sparse data, strings and packed numbers.
std::string Whole() {
  const std::string body = GraphProto({.nodes = {NodeProto("Neg", {"x"}, {"o"})}, .outputs = {Floats("o", {"n"})}});
  const std::string function = FunctionProto("F", {"a"}, {"b"}, {NodeProto("Neg", {"a"}, {"b"})}, {"alpha"});
  Parts parts;
  parts.nodes = {
      NodeProto("If", {"c"}, {"y"}, {GraphAttribute("then_branch", body), GraphAttribute("else_branch", body)}),
      NodeProto("F", {"x"}, {"z"}, {}, "call", "my"),
      NodeProto("Sum", {"e", "p", "w"}, {"s"},
                {AttributeWith("is", 7, [](Writer& w) { w.add_bytes(AttributeField::kInts, "\x01\x02\x7f"); })})};
  parts.inputs = {Floats("x", {"n", "2"}), ValueProto("c", TensorType(9, {})), Floats("w", {"2"})};
  parts.outputs = {Floats("y", {"n"}), Floats("z", {}), ValueProto("s", "")};
  parts.initializers = {
      ExternalTensor("e", DType::kFloat, {4}, {{"location", "e.bin"}, {"offset", "4"}, {"length", "16"}}),
      TensorProto("w", DType::kFloat, {2}, Raw({1.0f, 2.0f})),
      TensorWith("t", 8, {1}, [](Writer& w) { w.add_bytes(TensorField::kStringData, "text"); }),
      TensorWith("h", 10, {2}, [](Writer& w) { w.add_bytes(TensorField::kInt32Data, "\x80\x78\x01"); })};
  parts.sparse = {SparseProto(TensorProto("p", DType::kFloat, {1}, Raw({1.0f})),
                              TensorProto("", DType::kInt64, {1}, Raw<std::int64_t>({3})), {2, 2})};
  return ModelProto(GraphProto(parts), 10, {function});
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    const std::uint32_t changes = 1 + Below(4);
    for (std::uint32_t i = 0; i < changes; ++i) Change(bytes);
    return bytes;
  }

 private:
  std::uint32_t Below(std::size_t end) { return static_cast<std::uint32_t>(random_() % end); }
  void Change(std::string& bytes) {
    if (bytes.size() < 2) return;
    const std::size_t at = Below(bytes.size()), length = 1 + Below(std::min<std::size_t>(16, bytes.size() - at));
    constexpr unsigned char kInteresting[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x3a};
    switch (Below(6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(Below(256));
        break;
      case 2:
        bytes[at] = static_cast<char>(kInteresting[Below(std::size(kInteresting))]);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(Below(bytes.size()), bytes.substr(at, length));
        break;
      default:
        bytes.resize(1 + Below(bytes.size()));
        break;
    }
  }

  std::mt19937 random_;
};

TEST(Mutation, DamagedModelsLoadOrFailWithAnError) {
  const std::string whole = Whole();
  LoadOptions options;
  options.external_files["e.bin"] = Buffer::Allocate(20);
  std::memset(options.external_files["e.bin"]->data(), 0, 20);
  ASSERT_EQ(ErrorOf([&] { Load(whole, options); }), "");
  constexpr std::uint32_t kSeed = 20261121;
  Mutator mutate(kSeed);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string damaged = mutate(whole);
    Model model;
    const std::string error = ErrorOf([&] { model = Load(damaged, options); });
    refused += error.empty() ? 0 : 1;
    if (!error.empty() || loaded++ % 16 != 0) continue;
    const std::string saved = SaveBytes(model);  // what loads can be saved and loads again
    EXPECT_EQ(ErrorOf([&] { EXPECT_EQ(SaveBytes(Load(saved)), saved); }), "") << "copy " << i;
  }
  EXPECT_GT(loaded, 500) << "seed " << kSeed;
  EXPECT_GT(refused, 5000) << "seed " << kSeed;
}

TEST(Mutation, DamagedValuesLoadOrFailWithAnError) {
  const std::string tensor = TensorProto("t", DType::kFloat, {2}, Raw({1.0f, 2.0f}));
  const std::string sequence = Fields([&](Writer& w) {
    w.add_int32(SequenceField::kElemType, 1);
    w.add_message(SequenceField::kTensors, tensor);
    w.add_message(SequenceField::kTensors, tensor);
  });
  Mutator mutate(7);
  for (int i = 0; i < 5000; ++i) {
    const std::string damaged = mutate(sequence);
    const auto bytes = std::as_bytes(std::span(damaged));
    ErrorOf([&] { LoadTensor(bytes); });
    ErrorOf([&] { LoadSequence(bytes); });
    ErrorOf([&] { LoadOptional(bytes); });
    ErrorOf([&] { LoadMap(bytes); });
  }
}

}  // namespace
}  // namespace sardonyx::model
