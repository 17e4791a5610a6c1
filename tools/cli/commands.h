// tools/cli/commands.h - the commands of the tool. Each function adds its command to `app` and returns nothing; the
// command runs when CLI11 has parsed its arguments, and sets `exit_code`.
//
// To add one: its file with an Add function, its line here and in main.cpp.
#ifndef SARDONYX_TOOLS_CLI_COMMANDS_H
#define SARDONYX_TOOLS_CLI_COMMANDS_H

#include <CLI/CLI.hpp>
#include <string>

#include "inputs.h"
#include "ort.h"

namespace sardonyx::cli {

// What every command shares.
struct Common {
  bool json = false;
};

void AddInfo(CLI::App& app, Common& common);
void AddRun(CLI::App& app, Common& common);
void AddBench(CLI::App& app, Common& common);
void AddOptimize(CLI::App& app, Common& common);
void AddCheck(CLI::App& app, Common& common);
void AddPrint(CLI::App& app, Common& common);
void AddProfile(CLI::App& app, Common& common);
void AddPlan(CLI::App& app, Common& common);
void AddExplainPlacement(CLI::App& app, Common& common);

// The options that several commands have.
void AddModel(CLI::App& command, std::string& path);
void AddJson(CLI::App& command, Common& common);
void AddLevel(CLI::App& command, GraphOptimizationLevel& level);
void AddSession(CLI::App& command, SessionSettings& session);  // threads, level, providers, configuration, log
void AddProviders(CLI::App& command, SessionSettings& session);
void AddDims(CLI::App& command, std::vector<std::string>& dims);
void AddInputs(CLI::App& command, InputArguments& inputs);
void AddImage(CLI::App& command, ImageSettings& image);

// A session of the model, with a progress line where loading takes long.
Session Load(const std::string& path, const SessionSettings& settings);

// "batch=2" -> {"batch", "2"}. Throws Failure when there is no '=', naming `option`.
std::pair<std::string, std::string> SplitPair(const std::string& text, const std::string& option);
std::vector<std::pair<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& dims);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_COMMANDS_H
