// tools/cli/options.cpp - options that several commands share.
#include <charconv>
#include <map>

#include "commands.h"
#include "progress.h"

namespace sardonyx::cli {

void AddModel(CLI::App& command, std::string& path) {
  command.add_option("MODEL", path, "The model file: ONNX protobuf (.onnx) or ONNX's text syntax (.txt, .onnxtxt)")
      ->required()
      ->option_text(" ");
}

void AddJson(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Print JSON, errors included");
}

void AddLevel(CLI::App& command, GraphOptimizationLevel& level) {
  static const std::map<std::string, GraphOptimizationLevel> levels = {{"none", ORT_DISABLE_ALL},
                                                                       {"basic", ORT_ENABLE_BASIC},
                                                                       {"extended", ORT_ENABLE_EXTENDED},
                                                                       {"layout", ORT_ENABLE_LAYOUT},
                                                                       {"all", ORT_ENABLE_ALL}};
  command
      .add_option("--level", level, "Optimize up to this level: none, basic, extended, layout or all (default: all)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case))
      ->option_text("LEVEL");
}

void AddProviders(CLI::App& command, SessionSettings& session) {
  command
      .add_option("--provider", session.providers,
                  "Run nodes on this execution provider if it supports them, else on the next one (may be repeated; if "
                  "CPUExecutionProvider is in the list, a missing provider is only a warning)")
      ->option_text("NAME")
      ->expected(1)
      ->take_all();
  command
      .add_option("--provider-library", session.provider_libraries,
                  "Load this library of execution providers, made for ONNX Runtime's plug-in interface; --provider "
                  "chooses one (may be repeated)")
      ->option_text("FILE")
      ->expected(1)
      ->take_all();
  command
      .add_option("--provider-option", session.provider_options,
                  "Set an option of a provider that --provider names (may be repeated)")
      ->option_text("NAME:KEY=VALUE")
      ->expected(1)
      ->take_all();
  CLI::Option* device =
      command
          .add_option(
              "--device", session.devices,
              "Give a provider from a library this device of its own: a number (from 0), cpu, gpu or npu (may be "
              "repeated; default: the first)")
          ->option_text("NAME:DEVICE")
          ->expected(1)
          ->take_all();
  static const std::map<std::string, OrtExecutionProviderDevicePolicy> policies = {
      {"default", OrtExecutionProviderDevicePolicy_DEFAULT},
      {"prefer-cpu", OrtExecutionProviderDevicePolicy_PREFER_CPU},
      {"prefer-npu", OrtExecutionProviderDevicePolicy_PREFER_NPU},
      {"prefer-gpu", OrtExecutionProviderDevicePolicy_PREFER_GPU},
      {"max-performance", OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE},
      {"max-efficiency", OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY},
      {"min-overall-power", OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER}};
  command
      .add_option("--policy", session.policy,
                  "Choose providers and devices of the libraries by themselves: default, prefer-cpu, prefer-npu, "
                  "prefer-gpu, max-performance, max-efficiency or min-overall-power")
      ->transform(CLI::CheckedTransformer(policies, CLI::ignore_case))
      ->option_text("POLICY")
      ->excludes("--provider")
      ->excludes(device);
}

void AddSession(CLI::App& command, SessionSettings& session) {
  command.add_option("--threads", session.threads, "Use this many threads (default: one per core)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 4096));
  AddProviders(command, session);
  AddLevel(command, session.level);
  command
      .add_option("--config", session.config,
                  "Set a configuration entry of the session, such as session.disable_cpu_ep_fallback=1 (may be "
                  "repeated)")
      ->option_text("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_flag("--verbose", session.verbose, "Show log messages of all severities");
}

void AddDims(CLI::App& command, std::vector<std::string>& dims) {
  command.add_option("--dim", dims, "Set the size of a named dimension, such as batch=2 (may be repeated)")
      ->option_text("NAME=NUMBER")
      ->expected(1)
      ->take_all();
}

void AddInputs(CLI::App& command, InputArguments& inputs) {
  command
      .add_option("-i,--input", inputs.values,
                  "Set an input: NAME=FILE (.npy, .npz, .pb or an image), NAME=NUMBER to fill it with a number, or a "
                  "FILE that contains the names (may be repeated; other inputs are random)")
      ->option_text("NAME=VALUE")
      ->expected(1)
      ->take_all();
  AddDims(command, inputs.dims);
  command.add_option("--shape", inputs.shapes, "Set the shape of an input, such as x=1x3x224x224 (may be repeated)")
      ->option_text("NAME=SHAPE")
      ->expected(1)
      ->take_all();
  command.add_option("--range", inputs.range, "Draw random numbers from LOW to HIGH (default: -1,1; for integers 0,7)")
      ->option_text("LOW,HIGH");
  command.add_option("--seed", inputs.seed, "Set the seed of the random numbers (default: 0)")->option_text("NUMBER");
}

void AddImage(CLI::App& command, ImageSettings& image) {
  const char* group = "Images (PNG, JPEG, BMP ...): element = (pixel * scale - mean) / std";
  command
      .add_option("--layout", image.layout,
                  "Order of the input's dimensions: nchw, nhwc, chw, hwc or hw (default: guessed from the shape)")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc", "chw", "hwc", "hw"}))
      ->option_text("LAYOUT")
      ->group(group);
  command
      .add_option("--size", image.size, "Height and width, if the model leaves them open (default: those of the image)")
      ->option_text("HxW")
      ->group(group);
  command
      .add_option(
          "--fit", image.fit,
          "Fit the image into the model's size: stretch, crop (to the middle) or pad (with black) (default: stretch)")
      ->check(CLI::IsMember({"stretch", "crop", "pad"}))
      ->option_text("HOW")
      ->group(group);
  command.add_option("--channels", image.channels, "Order of the colours: rgb or bgr (default: rgb)")
      ->check(CLI::IsMember({"rgb", "bgr"}))
      ->option_text("ORDER")
      ->group(group);
  command.add_option("--scale", image.scale, "Multiply pixels (0 to 255) by this (default: 1/255; for integers 1)")
      ->option_text("NUMBER")
      ->group(group);
  command.add_option("--mean", image.mean, "Subtract this: one number, or one for each channel (default: 0)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("R,G,B")
      ->group(group);
  command.add_option("--std", image.deviation, "Then divide by this: one number, or one for each channel (default: 1)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("R,G,B")
      ->group(group)
      ->check(CLI::Validator(
          [](std::string& text) { return text == "0" ? std::string("a standard deviation cannot be 0") : ""; }, ""));
}

Session Load(const std::string& path, const SessionSettings& settings) {
  const Progress progress("loading " + path);
  return Session(OpenModel(path), settings);
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
                    "--dim: expected a whole number of at least 0 for '" + name + "', found '" + value + "'");
    }
    parsed.emplace_back(name, number);
  }
  return parsed;
}

}  // namespace sardonyx::cli
