// tools/cli/generate.cpp - `sardonyx generate`: has the Python package continue a text with a language model.
#include <filesystem>
#include <iostream>

#include "commands.h"
#include "python_package.h"
#include "temporary_folder.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

struct GenerateArguments {
  std::string folder, prompt;
  int tokens = 128, threads = 0, top_k = 0;
  double temperature = 0, top_p = 1;
  std::uint32_t seed = 0;
};

void Run(const GenerateArguments& arguments, Common& common) {
  const SignalWatch watch;
  const PythonPackage package = FindPythonPackage("sardonyx", "generate");
  const TemporaryFolder folder;
  const json request = {{"command", "generate"},
                        {"json", common.json},
                        {"folder", arguments.folder},
                        {"prompt", arguments.prompt},
                        {"tokens", arguments.tokens},
                        {"threads", arguments.threads},
                        {"temperature", arguments.temperature},
                        {"top_k", arguments.top_k},
                        {"top_p", arguments.top_p},
                        {"seed", arguments.seed}};
  const std::filesystem::path file = folder.path() / "request.json";
  WriteFile(file, request.dump(2, ' ', false, json::error_handler_t::replace));
  std::cout.flush();
  common.exit_code = watch.came() ? kInterrupted : RunPythonPackage(package, file.string());
}

}  // namespace

void AddGenerate(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a language model, word by word");
  command->group("Commands");
  auto arguments = std::make_shared<GenerateArguments>();
  command
      ->add_option("folder", arguments->folder,
                   "The model's folder, as onnxruntime-genai's builder (genai_config.json) or optimum (config.json) "
                   "writes it, with tokenizer.json")
      ->required()
      ->option_text("FOLDER");
  command->add_option("prompt", arguments->prompt, "The text to continue")->required()->option_text("TEXT");
  command->add_option("--tokens", arguments->tokens, "Make at most this many tokens (default: 128)")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--temperature", arguments->temperature,
                   "Choose each token at random, the likelier the more often; 0: always the likeliest (default: 0)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top-k", arguments->top_k, "Choose among this many tokens; 0: among all (default: 0)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 10000000));
  command
      ->add_option("--top-p", arguments->top_p,
                   "Choose among the likeliest tokens that together have this probability (default: 1)")
      ->option_text("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", arguments->seed, "Seed of the choices (default: 0)")->option_text("NUMBER");
  command->add_option("--threads", arguments->threads, "Use this many threads (default: one per core)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 4096));
  AddJson(*command, common);
  command->footer(
      "The text goes to standard output as it comes; tokens per second and memory follow on standard error. Ctrl-C "
      "stops.\n"
      "The work is done by the Python package sardonyx; $SARDONYX_PYTHON names a Python that has it and tokenizers.\n\n"
      "Examples:\n"
      "  sardonyx generate smollm \"Once upon a time\"\n"
      "  sardonyx generate smollm \"Once upon a time\" --tokens 40 --temperature 0.8 --top-p 0.9 --seed 3\n"
      "  sardonyx generate smollm \"1 + 1 =\" --tokens 4 --json");
  command->callback([arguments, &common] { Run(*arguments, common); });
}

}  // namespace sardonyx::cli
