// model/save_test.cpp - what is saved loads again as the same model: inline, with external data, and over the file it
// was loaded from.
#include "model/save.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/load.h"
#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;
using namespace messages;

std::string FileBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A model with all that a model can hold: defaults, sparse and string initializers, subgraph, function, types,
// metadata.
std::string Everything() {
  const std::string metadata = EntryProto("k", "v");
  const std::string tensor = TensorProto("", DType::kInt4, {3}, "\x21\x03");
  const std::string body =
      GraphProto({.nodes = {NodeProto("Neg", {"x"}, {"o"})}, .outputs = {Floats("o", {"n", "", "3"})}}, "b");
  const std::string sparse = SparseProto(TensorProto("sp", DType::kFloat, {1}, Raw({1.0f})),
                                         TensorProto("", DType::kInt64, {1}, Raw<std::int64_t>({7})), {3, 3});
  const std::string sequence = Fields([&](Writer& w) {
    w.add_message(TypeField::kSequence,
                  Fields([&](Writer& s) { s.add_message(TypeField::kElemType, TensorType(8, {})); }));
    w.add_string(TypeField::kDenotation, "D");
  });
  const Strings attributes = {
      AttributeWith("f", 1, [](Writer& w) { w.add_float(AttributeField::kF, 0.5f); }),
      AttributeWith("i", 2, [](Writer& w) { w.add_int64(AttributeField::kI, -3); }),
      AttributeWith("s", 3, [](Writer& w) { w.add_bytes(AttributeField::kS, std::string("a\0b", 3)); }),
      AttributeWith("t", 4, [&](Writer& w) { w.add_message(AttributeField::kT, tensor); }),
      AttributeWith("fs", 6, [](Writer& w) { w.add_float(AttributeField::kFloats, 1.0f); }),
      AttributeWith("is", 7, [](Writer& w) { w.add_int64(AttributeField::kInts, 1); }),
      AttributeWith("none", 7, [](Writer&) {}),
      AttributeWith("ss", 8, [](Writer& w) { w.add_bytes(AttributeField::kStrings, std::string()); }),
      AttributeWith("ts", 9, [&](Writer& w) { w.add_message(AttributeField::kTensors, tensor); }),
      AttributeWith("gs", 10, [&](Writer& w) { w.add_message(AttributeField::kGraphs, body); }),
      AttributeWith("sp", 11, [&](Writer& w) { w.add_message(AttributeField::kSparseTensor, sparse); }),
      AttributeWith("sps", 12, [&](Writer& w) { w.add_message(AttributeField::kSparseTensors, sparse); }),
      AttributeWith("tp", 13, [&](Writer& w) { w.add_message(AttributeField::kTp, sequence); }),
      AttributeWith("tps", 14, [&](Writer& w) { w.add_message(AttributeField::kTypeProtos, TensorType(1, {})); }),
  };
  Parts parts;
  parts.nodes = {
      NodeProto("Op", {"x", "", "w"}, {"a", "", "b"}, attributes, "first", "my") +
          Fields([&](Writer& w) { w.add_message(NodeField::kMetadata, metadata); }),
      NodeProto("If", {"c"}, {"y"}, {GraphAttribute("then_branch", body), GraphAttribute("else_branch", body)}),
      NodeProto("F", {"a"}, {"z"}, {}, "", "my")};
  parts.inputs = {Floats("x", {"n", "", "3"}), ValueProto("c", TensorType(9, {})), Floats("w", {"2"}),
                  ValueProto("q", sequence)};
  parts.outputs = {Floats("y", {}), ValueProto("z", ""), Floats("sp", {"3", "3"})};
  parts.value_infos = {Floats("a", {"n", "1"})};
  parts.initializers = {TensorProto("w", DType::kFloat, {2}, Raw({1.0f, 2.0f})),
                        TensorWith("text", 8, {2}, [](Writer& w) {
                          w.add_bytes(TensorField::kStringData, "one");
                          w.add_bytes(TensorField::kStringData, "");
                        })};
  parts.sparse = {sparse};
  const std::string function = FunctionProto("F", {"a"}, {"b"}, {NodeProto("Neg", {"a"}, {"b"})}, {"alpha"});
  return ModelProto(GraphProto(parts) + Fields([&](Writer& w) { w.add_string(GraphField::kDoc, "doc"); }), 10,
                    {function}) +
         Fields([&](Writer& w) {
           w.add_message(ModelField::kMetadata, metadata);
           w.add_string(ModelField::kProducerName, "p");
           w.add_int64(ModelField::kModelVersion, 3);
         });
}

TEST(Save, WhatIsSavedLoadsAsTheSameModel) {
  const Model model = Load(Everything());
  const std::string bytes = SaveBytes(model);
  const Model again = Load(bytes);
  EXPECT_EQ(SaveBytes(again), bytes);
  EXPECT_EQ(again.metadata, model.metadata);
  EXPECT_EQ(again.producer_name, "p");
  EXPECT_EQ(again.model_version, 3);
  ASSERT_EQ(again.graph.inputs.size(), model.graph.inputs.size());
  for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
    EXPECT_EQ(again.graph.value(again.graph.inputs[i]).type, model.graph.value(model.graph.inputs[i]).type) << i;
    EXPECT_EQ(again.graph.value(again.graph.inputs[i]).type.denotation,
              model.graph.value(model.graph.inputs[i]).type.denotation);
  }
  EXPECT_EQ(again.graph.value(again.graph.outputs[0]).type, Type::TensorOf(DType::kFloat, std::vector<Dim>{}));
  EXPECT_EQ(again.graph.value(*again.graph.Find("w")).initializer->kind, Initializer::Kind::kInputDefault);
  EXPECT_EQ(again.graph.value(*again.graph.Find("text")).initializer->tensor.data<std::string>()[0], "one");
  ASSERT_EQ(again.graph.node(0).attributes.size(), model.graph.node(0).attributes.size());
  for (const Attribute& a : model.graph.node(0).attributes)
    EXPECT_EQ(again.graph.node(0).FindAttribute(a.name)->index(), a.value.index()) << a.name;
  EXPECT_EQ(again.graph.node(0).inputs, model.graph.node(0).inputs);
  EXPECT_EQ(again.graph.node(0).metadata, model.graph.node(0).metadata);
  EXPECT_EQ(again.functions.at(0).attributes, Strings{"alpha"});
}

TEST(Save, OldModelsListTheirInitializersAsInputsAgain) {
  Parts parts;
  parts.nodes = {NodeProto("Add", {"x", "w"}, {"y"})};
  parts.inputs = {Floats("x", {"2"}), Floats("w", {"2"})};
  parts.outputs = {Floats("y", {"2"})};
  parts.initializers = {TensorProto("w", DType::kFloat, {2}, Raw({1.0f, 2.0f}))};
  Model model = Load(ModelProto(GraphProto(parts), 3));
  const std::string bytes = SaveBytes(model);
  EXPECT_EQ(SaveBytes(Load(bytes)), bytes);
  model.ir_version = 0;  // not said: written as a version that knows constants
  EXPECT_EQ(Load(SaveBytes(model)).ir_version, 10);
  EXPECT_EQ(Load(SaveBytes(model)).graph.inputs.size(), 1u);
  const Model as_new = Load(std::string("\x08\x04") + bytes.substr(2));
  EXPECT_EQ(as_new.graph.inputs.size(), 2u);
}

TEST(Save, ConstantsOfAFunctionsBodyBecomeNodes) {
  Model model = Load(Everything());
  Graph& body = model.functions[0].body;
  const ValueId half = body.AddConstant("half", Tensor::Scalar(0.5f));
  const ValueId sum = body.AddNode("", "Add", {half, body.outputs[0]}, {});
  EXPECT_NE(sum, kNoValue);
  const Model again = Load(SaveBytes(model));
  const Graph& saved = again.functions[0].body;
  ASSERT_EQ(saved.order.size(), 3u);
  EXPECT_EQ(saved.node(0).op_type, "Constant");
  EXPECT_EQ(*std::get<Tensor>(*saved.node(0).FindAttribute("value")).data<float>(), 0.5f);
}

TEST(Save, PutsLargeWeightsIntoAnAlignedFile) {
  const TemporaryFolder folder;
  Parts parts;
  parts.nodes = {NodeProto("Add", {"small", "large"}, {"t"}), NodeProto("Add", {"t", "larger"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  parts.initializers = {TensorProto("small", DType::kFloat, {3}, std::string(12, 's')),
                        TensorProto("large", DType::kFloat, {300}, std::string(1200, 'l')),
                        TensorProto("larger", DType::kFloat, {1 << 18}, std::string(1 << 20, 'm'))};
  const Model model = Load(ModelProto(GraphProto(parts)));
  const fs::path path = folder.path() / "m.onnx";
  SaveFile(model, path.string(), {.external_data_file = "m.data", .external_data_min_bytes = 1024});
  const Model again = LoadFile(path.string());
  const auto initializer = [&](const char* name) { return *again.graph.value(*again.graph.Find(name)).initializer; };
  EXPECT_EQ(initializer("small").file, "");
  EXPECT_EQ(initializer("large").offset % 64, 0u);
  EXPECT_EQ(initializer("larger").offset % 4096, 0u);
  EXPECT_TRUE(initializer("larger").tensor.buffer()->read_only());
  EXPECT_EQ(SaveBytes(again), SaveBytes(model));
  EXPECT_LT(fs::file_size(path), 1000u);

  SaveFile(again, path.string(), {.external_data_file = "m.data"});  // over the files it still views
  EXPECT_EQ(SaveBytes(LoadFile(path.string())), SaveBytes(model));
  EXPECT_EQ(SaveBytes(again), SaveBytes(model));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);  // no temporary files
}

TEST(Save, MakesNoExternalFileForWeightsThatStayInTheModel) {
  const TemporaryFolder folder;
  Parts parts;
  parts.nodes = {NodeProto("Add", {"none", "small"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  parts.initializers = {TensorProto("none", DType::kFloat, {0}, ""),
                        TensorProto("small", DType::kFloat, {3}, std::string(12, 's'))};
  const Model model = Load(ModelProto(GraphProto(parts)));
  for (const std::size_t least : {0, 100}) {
    const fs::path path = folder.path() / std::to_string(least) / "m.onnx";
    fs::create_directory(path.parent_path());
    SaveFile(model, path.string(), {.external_data_file = "m.data", .external_data_min_bytes = least});
    EXPECT_EQ(SaveBytes(LoadFile(path.string())), SaveBytes(model));
    EXPECT_EQ(fs::exists(path.parent_path() / "m.data"), least == 0);
  }
}

// Of each type that has a field of numbers, and of one that has none; the others as their bytes.
TEST(Save, WritesInitializersAsNumbersWhereAsked) {
  struct Case {
    DType dtype;
    std::string bytes, packed;  // packed: the field as it is written
    std::uint32_t field;
  };
  const std::string negative = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01";  // -2 as a varint
  const std::vector<Case> cases = {
      {DType::kFloat, Raw({1.5f, -2.0f}), Raw({1.5f, -2.0f}), TensorField::kFloatData},
      {DType::kFloat16, Raw<std::uint16_t>({3, 5}), {3, 5}, TensorField::kInt32Data},
      {DType::kInt8, {3, '\xfe'}, "\x03" + negative, TensorField::kInt32Data},
      {DType::kUInt8, {3, '\xfe'}, "\x03\xfe\x01", TensorField::kInt32Data},
      {DType::kInt16, Raw<std::int16_t>({3, -2}), "\x03" + negative, TensorField::kInt32Data},
      {DType::kUInt16, Raw<std::uint16_t>({3, 254}), "\x03\xfe\x01", TensorField::kInt32Data},
      {DType::kInt32, Raw<std::int32_t>({3, -2}), "\x03" + negative, TensorField::kInt32Data},
      {DType::kInt4, {'\x21'}, {'\x21'}, TensorField::kInt32Data},
      {DType::kFloat8E4M3FN, {3, 5}, {3, 5}, TensorField::kInt32Data},
      {DType::kInt64, Raw<std::int64_t>({3, -2}), Raw<std::int64_t>({3, -2}), TensorField::kRawData},
  };
  for (const Case& one : cases) {
    Parts parts;
    parts.nodes = {NodeProto("Identity", {"w"}, {"y"}), NodeProto("Identity", {"v"}, {"z"})};
    parts.outputs = {ValueProto("y", ""), ValueProto("z", "")};
    parts.initializers = {TensorProto("w", one.dtype, {2}, one.bytes), TensorProto("v", one.dtype, {2}, one.bytes)};
    const Model model = Load(ModelProto(GraphProto(parts)));
    const NamesAsNumbers names = {"w"};
    const std::string saved = SaveBytes(model, nullptr, &names), plain = SaveBytes(model);
    const std::string written =
        TensorWith("w", static_cast<int>(one.dtype), {2}, [&](Writer& w) { w.add_bytes(one.field, one.packed); });
    const std::string tail = written.substr(written.find('w'));  // behind the sizes
    EXPECT_NE(saved.find(tail), std::string::npos) << static_cast<int>(one.dtype);
    EXPECT_EQ(SaveBytes(Load(saved)), plain) << static_cast<int>(one.dtype);  // the same numbers, and `v` as before
  }
}

TEST(Save, LeavesTheOldFileWhenItFails) {
  const TemporaryFolder folder;
  const Model model = Load(Everything());
  const std::string path = folder.Write("m.onnx", "old");
  for (const char* name : {"../w", "a/b", "..", ".", "a\\b", "m.onnx"}) {
    const std::string found = ErrorOf([&] { SaveFile(model, path, {.external_data_file = name}); });
    EXPECT_NE(found.find("2: expected a file name other than the model's"), std::string::npos) << name << found;
  }
  const std::string missing = (folder.path() / "none" / "m.onnx").string();
  EXPECT_NE(
      ErrorOf([&] { SaveFile(model, missing); }).find("2: file '" + missing + "' cannot be created: No such file"),
      std::string::npos);
  fs::create_directory(folder.path() / "taken");
  EXPECT_EQ(ErrorOf([&] { SaveFile(model, (folder.path() / "taken").string()); }).substr(0, 2), "1:");
  EXPECT_EQ(FileBytes(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
  SaveFile(model, path);
  EXPECT_EQ(FileBytes(path), SaveBytes(model));
}

// By a link, so that a fault replaces the link and not the machine's device.
TEST(Save, WritesToADeviceInItsPlace) {
  const Model model = Load(ModelProto(GraphProto({.nodes = {NodeProto("Identity", {"x"}, {"y"})},
                                                  .inputs = {Floats("x", {"n"})},
                                                  .outputs = {Floats("y", {"n"})}})));
  const TemporaryFolder folder;
  const fs::path link = folder.path() / "nothing";
  std::error_code error;
  fs::create_symlink("/dev/null", link, error);
  if (error || !fs::is_other(link)) GTEST_SKIP() << "expected a device /dev/null, found none";
  SaveFile(model, link.string());
  EXPECT_TRUE(fs::is_symlink(link) && fs::is_other(link));
}

// The weight is a view of a file that is all hole; nothing of its size is ever allocated.
TEST(Save, RefusesAModelOfTwoGigabytes) {
  Parts parts;
  parts.nodes = {NodeProto("Identity", {"w"}, {"y"})};
  parts.outputs = {ValueProto("y", "")};
  const TemporaryFolder folder;
  const std::string weights = folder.Write("w.bin", "");
  std::error_code error;
  fs::resize_file(weights, std::uint64_t{1} << 31, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  parts.initializers = {ExternalTensor("w", DType::kUInt8, {std::int64_t{1} << 31}, {{"location", "w.bin"}})};
  const Model model = LoadFile(folder.Write("m.onnx", ModelProto(GraphProto(parts))));
  const std::string found = ErrorOf([&] { SaveBytes(model); });
  EXPECT_NE(found.find("2: expected a model of less than 2 GB"), std::string::npos) << found;
}

}  // namespace
}  // namespace sardonyx::model
