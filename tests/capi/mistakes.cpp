// tests/capi/mistakes.cpp - a C++ program that makes the mistakes of new users and prints the errors.
//
// usage: capi_mistakes MODEL [provider=NAME] [save=PATH] [input=NAME] [type=float|int64] [shape=2x3] [output=NAME]
#include <cstdio>
#include <map>
#include <string>

#include "sardonyx.hpp"

namespace {

sdx::Shape ParseShape(const std::string& text) {
  sdx::Shape shape;
  for (std::size_t at = 0; at < text.size(); at = text.find('x', at) + 1) {
    shape.push_back(std::stoll(text.substr(at)));
    if (text.find('x', at) == std::string::npos) break;
  }
  return shape;
}

void RunModel(const std::string& model, const std::map<std::string, std::string>& settings) {
  const auto setting = [&](const char* name, const char* otherwise) {
    const auto found = settings.find(name);
    return found != settings.end() ? found->second : std::string(otherwise);
  };
  sdx::SessionOptions options;
  if (settings.contains("provider")) options.Provider(setting("provider", ""));
  if (settings.contains("save")) options.OptimizedModel(setting("save", ""));
  const sdx::Session session(model, options);
  const sdx::Shape shape = ParseShape(setting("shape", "1x3"));
  const sdx::Value value =
      setting("type", "float") == "float" ? sdx::Value::Make<float>(shape) : sdx::Value::Make<std::int64_t>(shape);
  session.Run({{setting("input", "x"), value}}, {setting("output", "y")});
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> settings;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    settings[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  try {
    RunModel(argv[1], settings);
    std::printf("ok\n");
    return 0;
  } catch (const sdx::Error& error) {
    std::printf("%d: %s\n", error.code(), error.what());
    return 1;
  }
}
