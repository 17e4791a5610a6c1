// model/compiled_file_test.cpp - compiled models are read as they were written; damaged ones fail with an Error.
#include "model/compiled_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "ir/text.h"
#include "model/load.h"
#include "model/save.h"

namespace sardonyx::model {
namespace {

Tensor Counting(Shape shape, float first) {
  Tensor tensor(DType::kFloat, std::move(shape));
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

Model Example() {
  std::string numbers = "1";
  for (int i = 2; i <= 400; ++i) numbers += ", " + std::to_string(i);
  return ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[N,20] x) => (float[N,20] y)
<float[20] small = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, float[20,20] large = {)" +
                    numbers + R"(}> {
  m = MatMul(x, large)
  y = Add(m, small)
})");
}

CompiledParts Packed() {
  CompiledParts parts;
  parts.packed_for = "packer 7, abacus";
  parts.nodes = {{{1, 2}, {Counting(Shape{3, 100}, 5), Tensor(DType::kInt8, Shape{7})}}, {{3, 4}, {}}};
  std::memset(parts.nodes[0].tensors[1].raw(), 9, 7);
  return parts;
}

std::string Written(const Model& model, const CompiledParts& parts) {
  std::string bytes;
  WriteCompiled(model, parts, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

Model Loaded(const std::string& bytes, std::optional<CompiledParts>* parts) {
  LoadOptions options;
  options.compiled = parts;
  return LoadBytes(std::as_bytes(std::span(bytes)), nullptr, options);
}

std::string ErrorOf(const std::string& bytes) {
  try {
    std::optional<CompiledParts> parts;
    Loaded(bytes, &parts);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CompiledFile, IsReadAsItWasWritten) {
  const std::string bytes = Written(Example(), Packed());
  ASSERT_TRUE(IsCompiledModel(bytes));
  std::optional<CompiledParts> parts;
  const Model model = Loaded(bytes, &parts);
  EXPECT_EQ(ToText(model), ToText(Example()));
  const Initializer& large = *model.graph.value(*model.graph.Find("large")).initializer;
  EXPECT_EQ(large.file, "") << "not external to who looks at the model";
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->packed_for, "packer 7, abacus");
  ASSERT_EQ(parts->nodes.size(), 2u);
  EXPECT_EQ(parts->nodes[0].key, (Digest{1, 2}));
  EXPECT_EQ(parts->nodes[1].key, (Digest{3, 4}));
  EXPECT_TRUE(parts->nodes[1].tensors.empty());
  const CompiledParts want = Packed();
  ASSERT_EQ(parts->nodes[0].tensors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor &a = parts->nodes[0].tensors[i], &b = want.nodes[0].tensors[i];
    EXPECT_EQ(a.dtype(), b.dtype());
    EXPECT_TRUE(a.shape() == b.shape());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), b.byte_size()), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % 64, 0u);
  }
}

TEST(CompiledFile, IsAModelLikeAnyOtherForWhoDoesNotAskForMore) {
  EXPECT_EQ(ToText(Loaded(Written(Example(), Packed()), nullptr)), ToText(Example()));
}

TEST(CompiledFile, TensorsWithTheSameBytesStandInItOnce) {
  CompiledParts parts = Packed();
  const std::size_t once = Written(Example(), parts).size();
  parts.nodes[1].tensors = {parts.nodes[0].tensors[0]};
  EXPECT_LT(Written(Example(), parts).size(), once + 100);
}

TEST(CompiledFile, IsRefusedWhereItIsCut) {
  const std::string bytes = Written(Example(), Packed());
  for (std::size_t size = 8; size < bytes.size(); ++size) {
    const std::string error = ErrorOf(bytes.substr(0, size));
    ASSERT_NE(error.find("the compiled model is damaged: expected"), std::string::npos) << size << ": " << error;
  }
  EXPECT_NE(ErrorOf(bytes + "x"), "");
}

TEST(CompiledFile, ItsHeaderModelAndTableAreChecked) {
  const std::string bytes = Written(Example(), Packed());
  std::size_t accepted = 0;
  for (std::size_t at = 8; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    accepted += ErrorOf(damaged).empty() ? 1 : 0;
  }
  // Weights, packed tensors, and the gaps between them.
  EXPECT_EQ(accepted, 1600u + 1200u + 7u + 16u);
}

// The file with another table and the checksum that belongs to it, as if its writer had been wrong.
std::string WithTable(const std::string& bytes, const std::string& table) {
  constexpr std::size_t kHeader = 128, kFileBytes = 16, kModelAt = 24, kTableBytes = 48, kDigest = 56;
  std::uint64_t places[4] = {};  // of the model and the table: begin, size
  std::memcpy(places, bytes.data() + kModelAt, sizeof places);
  std::string changed = bytes.substr(0, places[2]) + table;
  const std::uint64_t file_bytes = changed.size(), table_bytes = table.size();
  std::memcpy(changed.data() + kFileBytes, &file_bytes, sizeof file_bytes);
  std::memcpy(changed.data() + kTableBytes, &table_bytes, sizeof table_bytes);
  std::memset(changed.data() + kDigest, 0, sizeof(Digest));
  const auto digest_of = [&](std::size_t at, std::size_t size) {
    return DigestOf(std::as_bytes(std::span(changed).subspan(at, size)));
  };
  const Digest parts[] = {digest_of(0, kHeader), digest_of(places[0], places[1]), digest_of(places[2], table.size())};
  const Digest digest = DigestOf(std::as_bytes(std::span(parts)));
  std::memcpy(changed.data() + kDigest, &digest, sizeof digest);
  return changed;
}

// A table with one tensor.
std::string Table(std::int64_t dtype, const std::vector<std::int64_t>& dims, std::int64_t offset,
                  std::size_t key_bytes = 16) {
  std::string bytes;
  protozero::pbf_writer table(bytes);
  protozero::pbf_writer node(table, 2);
  node.add_bytes(1, std::string(key_bytes, 'k'));
  protozero::pbf_writer tensor(node, 2);
  tensor.add_int64(1, dtype);
  for (const std::int64_t dim : dims) tensor.add_int64(2, dim);
  tensor.add_int64(3, offset);
  return bytes;
}

TEST(CompiledFile, WrongPlacesAreRefusedWhateverTheChecksum) {
  const std::string whole = Written(Example(), Packed());
  const auto error_of = [&](const std::string& table) { return ErrorOf(WithTable(whole, table)); };
  EXPECT_EQ(error_of(Table(1, {3}, 128)), "");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const std::string wrong[] = {
      Table(1, {std::int64_t{1} << 20}, 128),
      Table(1, {kHuge}, 128),
      Table(1, {kHuge, kHuge}, 128),
      Table(1, {-1}, 128),
      Table(1, {3}, kHuge),
      Table(1, {3}, -64),
      Table(1, {3}, 100),
      Table(8, {3}, 128),
      Table(0, {3}, 128),
      Table(999, {3}, 128),
      Table(1, {3}, 128, 15),
      "\x12\xff\xff\xff",
  };
  for (const std::string& table : wrong) EXPECT_NE(error_of(table), "") << ::testing::PrintToString(table);
}

}  // namespace
}  // namespace sardonyx::model
