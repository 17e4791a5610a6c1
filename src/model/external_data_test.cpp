// model/external_data_test.cpp - weights in files beside the model are found, viewed in place, and must lie in the
// model's folder.
#include "model/external_data.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;
using namespace messages;

constexpr std::int64_t kCount = 4096;  // large enough to be viewed in place

std::string Weights() {
  std::string bytes;
  for (std::int64_t i = 0; i < kCount; ++i) bytes += Raw({static_cast<float>(i)});
  return bytes;
}

std::string ModelWith(const Entries& entries, DType dtype = DType::kFloat, std::int64_t count = kCount) {
  Parts parts;
  parts.nodes = {NodeProto("Identity", {"w"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  parts.initializers = {ExternalTensor("w", dtype, {count}, entries)};
  return ModelProto(GraphProto(parts));
}

const Initializer& W(const Model& model) { return *model.graph.value(*model.graph.Find("w")).initializer; }

TEST(ExternalData, IsViewedWhereItIsAlignedAndCopiedElsewhere) {
  const TemporaryFolder folder;
  folder.Write("data/w.bin", "12345678" + Weights());
  for (const std::uint64_t shift : {8, 7}) {
    const Entries entries = {{"location", "data/w.bin"}, {"offset", std::to_string(shift)}, {"checksum", "unread"}};
    const Model model = LoadFile(folder.Write("m.onnx", ModelWith(entries)));
    const Initializer& w = W(model);
    EXPECT_EQ(w.tensor.buffer()->read_only(), shift == 8) << shift;
    EXPECT_EQ(w.offset, shift);
    EXPECT_EQ(w.length, 4u * kCount);
    EXPECT_EQ(fs::path(w.file), fs::canonical(folder.path() / "data" / "w.bin"));
    const std::string want = ("12345678" + Weights()).substr(shift, 4 * kCount);
    EXPECT_EQ(std::memcmp(w.tensor.raw(), want.data(), want.size()), 0);
  }
}

TEST(ExternalData, SharesOneMappingOfAFileAndOutlivesItsName) {
  const TemporaryFolder folder;
  folder.Write("w.bin", Weights() + Weights());
  Parts parts;
  parts.nodes = {NodeProto("Add", {"w", "v"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  parts.initializers = {
      ExternalTensor("w", DType::kFloat, {kCount}, {{"location", "w.bin"}}),
      ExternalTensor("v", DType::kFloat, {kCount}, {{"location", "./w.bin"}, {"offset", std::to_string(4 * kCount)}})};
  const Model model = LoadFile(folder.Write("m.onnx", ModelProto(GraphProto(parts))));
  fs::remove(folder.path() / "w.bin");
  const auto* w = W(model).tensor.data<char>();
  EXPECT_EQ(model.graph.value(*model.graph.Find("v")).initializer->tensor.data<char>() - w, 4 * kCount);
  EXPECT_EQ(W(model).tensor.data<float>()[5], 5.0f);
}

TEST(ExternalData, ComesFromMemoryAndFromAnotherFolder) {
  LoadOptions options;
  const auto buffer = Buffer::Allocate(4 * kCount);
  std::memcpy(buffer->data(), Weights().data(), 4 * kCount);
  options.external_files["w.bin"] = buffer;
  const Model model = Load(ModelWith({{"location", "w.bin"}}), options);
  EXPECT_EQ(W(model).tensor.raw(), buffer->data());
  EXPECT_EQ(W(model).file, "w.bin");

  const TemporaryFolder folder;
  folder.Write("w.bin", Weights());
  LoadOptions elsewhere;
  elsewhere.external_data_folder = folder.path().string();
  EXPECT_EQ(W(Load(ModelWith({{"location", "w.bin"}}), elsewhere)).tensor.data<float>()[3], 3.0f);
}

TEST(ExternalData, ComesFromATensorOfTheCaller) {
  LoadOptions options;
  options.external_tensors.emplace("w", Tensor(DType::kFloat, {kCount}));
  const Model model = Load(ModelWith({{"location", "missing.bin"}}), options);  // no such file
  EXPECT_EQ(W(model).tensor.raw(), options.external_tensors.at("w").raw());
  EXPECT_EQ(W(model).file, "missing.bin");
  options.external_tensors.at("w") = Tensor(DType::kFloat, {kCount, 1});
  const std::string found = ErrorOf([&] { Load(ModelWith({{"location", "missing.bin"}}), options); });
  EXPECT_NE(found.find("expected float[4096] as in the model, found float[4096, 1]"), std::string::npos) << found;
}

TEST(ExternalData, LargeRawDataIsViewedInTheModelsOwnFile) {
  Parts parts;
  parts.nodes = {NodeProto("Identity", {"w"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  parts.initializers = {TensorProto("w", DType::kFloat, {kCount}, Weights())};
  const TemporaryFolder folder;
  int views = 0;
  for (int padding = 1; padding <= 4; ++padding) {  // one of four places is aligned
    const std::string graph = GraphProto(parts, std::string(static_cast<std::size_t>(padding), 'g'));
    const Model model = LoadFile(folder.Write("m.onnx", ModelProto(graph)));
    views += W(model).tensor.buffer()->read_only() ? 1 : 0;
    EXPECT_EQ(W(model).file, "");
    EXPECT_EQ(W(model).tensor.data<float>()[77], 77.0f);
  }
  EXPECT_EQ(views, 1);
}

TEST(ExternalData, StaysInsideTheModelsFolder) {
  const TemporaryFolder folder;
  folder.Write("secret.bin", Weights());
  folder.Write("model/inside.bin", Weights());
  fs::create_symlink(folder.path() / "secret.bin", folder.path() / "model" / "leak.bin");
  fs::create_symlink("inside.bin", folder.path() / "model" / "fine.bin");
  fs::create_directory_symlink(folder.path(), folder.path() / "model" / "up");
  const auto error = [&](const std::string& location, const std::string& part) {
    const std::string path = folder.Write("model/m.onnx", ModelWith({{"location", location}}));
    const std::string found = ErrorOf([&] { LoadFile(path); });
    EXPECT_NE(found.find(part), std::string::npos) << location << "\nexpected: " << part << "\nfound: " << found;
  };
  error("../secret.bin", "1: ");
  error("../secret.bin",
        "graph.initializer[0] 'w': expected an external data location inside the model's folder, found a "
        "'..' in '../secret.bin'");
  error("a/../../secret.bin", "found a '..' in");
  error("..", "found a '..' in");
  error("..\\secret.bin", "found a '..' in");
  error((folder.path() / "secret.bin").string(), "found an absolute one");
  error("\\secret.bin", "found an absolute one");
  error("C:\\secret.bin", "found one with a drive letter");
  error("", "found an empty one");
  error(std::string("a\0b", 3), "found a NUL character");
  error("leak.bin", "found a link from 'leak.bin' to '");
  error("up/secret.bin", "found a link from 'up/secret.bin'");
  error("missing.bin", "1: ");
  error("missing.bin", "missing.bin': No such file");
  error(".", "expected a regular file, found a folder");
  error("fine.bin", "");
  EXPECT_EQ(ErrorOf([&] { LoadFile(folder.Write("model/m.onnx", ModelWith({{"location", "fine.bin"}}))); }), "");
}

// The cache of a model hub: snapshots of links into a folder of blobs, named by their digests.
TEST(ExternalData, MayBeALinkIntoTheBlobsOfTheCacheThatTheModelIsALinkInto) {
  const TemporaryFolder folder;
  folder.Write("blobs/aaa", ModelWith({{"location", "w.bin"}}));
  folder.Write("blobs/bbb", Weights());
  folder.Write("other/ccc", Weights());
  fs::create_directories(folder.path() / "snapshots" / "1");
  fs::create_symlink("../../blobs/aaa", folder.path() / "snapshots" / "1" / "m.onnx");
  fs::create_symlink("../../blobs/bbb", folder.path() / "snapshots" / "1" / "w.bin");
  const std::string path = (folder.path() / "snapshots" / "1" / "m.onnx").string();
  EXPECT_EQ(W(LoadFile(path)).tensor.data<float>()[9], 9.0f);

  fs::remove(folder.path() / "snapshots" / "1" / "w.bin");
  fs::create_symlink("../../other/ccc", folder.path() / "snapshots" / "1" / "w.bin");
  EXPECT_NE(ErrorOf([&] { LoadFile(path); }).find("found a link from 'w.bin'"), std::string::npos);
}

TEST(ExternalData, MustFitTheTensor) {
  const TemporaryFolder folder;
  folder.Write("w.bin", Weights());
  folder.Write("lfs.bin", "version https://git-lfs.github.com/spec/v1\n");
  const auto error = [&](const Entries& entries, const std::string& part, DType dtype = DType::kFloat) {
    const std::string path = folder.Write("m.onnx", ModelWith(entries, dtype));
    const std::string found = ErrorOf([&] { LoadFile(path); });
    EXPECT_NE(found.find("1: " + path + ": graph.initializer[0] 'w': "), std::string::npos) << found;
    EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
  };
  error({{"location", "w.bin"}, {"offset", "4"}}, "expected 16384 bytes for float[4096] at offset 4 of '");
  error({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "found a file of 16384 bytes");
  error({{"location", "w.bin"}, {"length", "12"}},
        "expected 16384 bytes for float[4096], found 12 in the external_data entry");
  error({{"location", "w.bin"}, {"offset", "-4"}}, "expected a number of bytes as external_data 'offset', found '-4'");
  error({{"location", "w.bin"}, {"offset", "18446744073709551616"}}, "found '18446744073709551616'");
  error({{"location", "w.bin"}, {"length", "4 "}}, "found '4 '");
  error({{"location", "lfs.bin"}}, "a Git LFS pointer, not the file itself");
  error({{"location", "w.bin"}}, "expected strings in string_data, found external data", DType::kString);
  error({}, "found an empty one");
}

// Only the pages read are ever loaded: the file is almost all hole.
TEST(ExternalData, LiesBeyondFourGibibytes) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("w.bin", "");
  const std::uint64_t offset = (std::uint64_t{5} << 30) + 4;
  std::error_code error;
  fs::resize_file(path, offset, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  std::ofstream(path, std::ios::binary | std::ios::app) << Weights();
  const Entries entries = {{"location", "w.bin"}, {"offset", std::to_string(offset)}};
  const Model model = LoadFile(folder.Write("m.onnx", ModelWith(entries)));
  EXPECT_EQ(W(model).tensor.data<float>()[4095], 4095.0f);
}

}  // namespace
}  // namespace sardonyx::model
