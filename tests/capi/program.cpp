// tests/capi/program.cpp - tests models, values and errors of sardonyx.hpp.
#include <cstdio>
#include <cstring>

#include "sardonyx.hpp"

namespace {

int failures = 0;

void Expect(bool ok, const char* what) {
  if (ok) return;
  ++failures;
  std::printf("program.cpp: %s\n", what);
}

void TestRun() {
  const std::string bytes = sdx::ParseModel(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N,3] x, float[3] b) => (float[N,3] y, float[N,3] z) { y = Add(x, b) z = Mul(y, y) }");
  sdx::Session session(bytes.data(), bytes.size(), sdx::SessionOptions().Threads(1));
  Expect(session.Inputs().size() == 2 && session.Inputs()[0].name == "x", "the inputs have their names");
  Expect(session.Inputs()[0].shape == sdx::Shape{-1, 3}, "the inputs have their shapes");
  Expect(session.Inputs()[0].symbols[0] == "N", "open dimensions have their symbols");

  std::vector<float> x = {1, 2, 3, 4, 5, 6}, b = {1, 1, 1};
  const sdx::Value in = sdx::Value::View(x, {2, 3}), bias = sdx::Value::View(b, {3});
  const auto all = session.Run({{"x", in}, {"b", bias}});
  Expect(all.size() == 2 && all[1].Data<float>()[5] == 49, "all outputs come in order");
  const auto some = session.Run({{"x", in}, {"b", bias}}, {"z"});
  Expect(some.size() == 1 && some[0].Shape() == sdx::Shape{2, 3}, "the outputs asked for come alone");
  Expect(session.Placement().find("CPUExecutionProvider") != std::string::npos, "the placement names the provider");
  Expect(session.Text().find("Add") != std::string::npos, "the session prints its graph");
}

void TestBoundOutputs() {
  const std::string bytes = sdx::ParseModel(
      "<ir_version: 8, opset_import: [\"\" : 17], producer_name: \"maker\", metadata_props: [\"k\" : \"v\"]>\n"
      "g (float[N] x) => (float[N] y, float[M] z) { y = Neg(x) z = Relu(x) }");
  sdx::Session moved(std::as_bytes(std::span(bytes)));
  const sdx::Session session = std::move(moved);
  Expect(session.Metadata().producer == "maker" && session.Metadata().custom.at("k") == "v", "the metadata is read");

  const std::vector<float> x = {-1, 2, 3};
  std::vector<float> y(3);
  const sdx::Value in = sdx::Value::View(x, {3});
  Expect(in.Data<float>().data() == x.data(), "a view is no copy");
  session.RunInto({{"x", in}}, {{"y", sdx::Value::View(y, {3})}});
  Expect(y == std::vector<float>({1, -2, -3}), "an output is written into the caller's memory");

  std::vector<float> bound(3);
  sdx::Binding binding(session);
  const sdx::Value out = sdx::Value::View(bound, {3});
  binding.Input("x", in).Output("y", out).Output("z");
  binding.Run();
  binding.Run();
  Expect(bound == y, "a bound output is written by every run");
  Expect(binding.Outputs().size() == 2 && binding.Outputs()[1].Data<float>()[2] == 3, "an unbound shape is made");

  sdx::RunOptions stopped;
  stopped.Terminate();
  try {
    session.Run({{"x", in}}, {}, &stopped);
    Expect(false, "a run that is to end ends");
  } catch (const sdx::Error& error) {
    Expect(std::strstr(error.what(), "terminate") != nullptr, "it says why");
  }
  stopped.Reset();
  Expect(session.Run({{"x", in}}, {"z"}, &stopped).size() == 1, "options serve again after a reset");
}

void TestOptions() {
  const std::string bytes = sdx::ParseModel(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N] x, seq(float[N]) s) => (float[N] y, seq(float[N]) t) { y = Neg(x) t = SequenceInsert(s, x) }");
  const sdx::Session session(bytes.data(), bytes.size(),
                             std::move(sdx::SessionOptions().Dimension("N", 2).Provider("CPUExecutionProvider")));
  Expect(session.Inputs()[0].shape == sdx::Shape{2}, "an open dimension gets the size given");
  Expect(session.Inputs()[1].kind == ONNX_TYPE_SEQUENCE, "a sequence says that it is one");
  Expect(!sdx::AvailableProviders().empty() && !sdx::Version().empty(), "the library says what it is");
  try {
    sdx::SessionOptions().Provider("NoSuchProvider");
    Expect(false, "an unknown provider is an error");
  } catch (const sdx::Error& error) {
    Expect(std::strstr(error.what(), "NoSuchProvider") != nullptr && std::strstr(error.what(), "CPU") != nullptr,
           "the error names it and those there are");
  }
  static_assert(!std::is_copy_constructible_v<sdx::Session> && std::is_nothrow_move_constructible_v<sdx::Session>);
  static_assert(!std::is_copy_constructible_v<sdx::Value> && std::is_nothrow_move_constructible_v<sdx::Value>);
  static_assert(!std::is_copy_constructible_v<sdx::SessionOptions> && !std::is_copy_constructible_v<sdx::Binding>);
}

void TestErrors() {
  try {
    sdx::Session session("no/such/file.onnx");
    Expect(false, "a missing file is an error");
  } catch (const sdx::Error& error) {
    Expect(error.code() == ORT_NO_SUCHFILE && std::strstr(error.what(), "no/such/file.onnx") != nullptr,
           "the error has code and path");
  }
  const sdx::Value value = sdx::Value::Make<float>({2});
  try {
    value.Data<std::int64_t>();
    Expect(false, "reading floats as integers is an error");
  } catch (const sdx::Error& error) {
    Expect(error.code() == ORT_INVALID_ARGUMENT &&
               std::strstr(error.what(), "expected elements of type int64, found float") != nullptr,
           "a wrong element type is an invalid argument");
  }
  Expect(value.Data<float>()[1] == 0, "new tensors are zero");
}

void TestStrings() {
  const std::vector<std::string> texts = {"one", "", "dr\xc3\xa9i"};
  Expect(sdx::Value::Strings(texts, {3}).Texts() == texts, "strings go in and out");
}

}  // namespace

int main() {
  try {
    TestRun();
    TestBoundOutputs();
    TestOptions();
    TestErrors();
    TestStrings();
  } catch (const std::exception& error) {
    std::printf("program.cpp: unexpected: %s\n", error.what());
    ++failures;
  }
  return failures;
}
