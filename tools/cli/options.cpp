// tools/cli/options.cpp - options that several commands share.
#include <charconv>
#include <map>

#include "commands.h"

namespace sardonyx::cli {

void AddModel(CLI::App& command, std::string& path) {
  command.add_option("MODEL", path, "The model: ONNX protobuf (.onnx) or ONNX's text syntax (.txt, .onnxtxt)")
      ->required()
      ->option_text(" ");
}

void AddJson(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Answer in JSON, for scripts; errors too");
}

void AddLevel(CLI::App& command, GraphOptimizationLevel& level) {
  static const std::map<std::string, GraphOptimizationLevel> levels = {{"none", ORT_DISABLE_ALL},
                                                                       {"basic", ORT_ENABLE_BASIC},
                                                                       {"extended", ORT_ENABLE_EXTENDED},
                                                                       {"layout", ORT_ENABLE_LAYOUT},
                                                                       {"all", ORT_ENABLE_ALL}};
  command.add_option("--level", level, "How far to optimize: none, basic, extended, layout or all (default: all)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case))
      ->option_text("LEVEL");
}

void AddDims(CLI::App& command, std::vector<std::string>& dims) {
  command.add_option("--dim", dims, "The value of a named dimension, as in --dim batch=2 (may be repeated)")
      ->option_text("NAME=NUMBER")
      ->expected(1)
      ->take_all();
}

std::pair<std::string, std::string> SplitPair(const std::string& text, const std::string& option) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) {
    throw Failure(ORT_INVALID_ARGUMENT, option + ": expected NAME=VALUE, found '" + text + "'");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::pair<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& dims) {
  std::vector<std::pair<std::string, std::int64_t>> parsed;
  for (const std::string& text : dims) {
    const auto [name, value] = SplitPair(text, "--dim");
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < 0) {
      throw Failure(ORT_INVALID_ARGUMENT,
                    "--dim: expected a whole number from 0 on for '" + name + "', found '" + value + "'");
    }
    parsed.emplace_back(name, number);
  }
  return parsed;
}

}  // namespace sardonyx::cli
