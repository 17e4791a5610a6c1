// tests/capi/program.cpp - sardonyx.hpp: models, values and errors from C++.
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
    Expect(error.code() == ORT_INVALID_ARGUMENT, "a wrong element type is an invalid argument");
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
    TestErrors();
    TestStrings();
  } catch (const std::exception& error) {
    std::printf("program.cpp: unexpected: %s\n", error.what());
    ++failures;
  }
  return failures;
}
