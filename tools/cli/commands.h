// tools/cli/commands.h - the commands of the tool. Each Add function adds one command to `app`; CLI11 runs the command
// when it has parsed the arguments. A command that fails throws Failure.
//
// To add a command: a file with its Add function, a line here and a line in main.cpp.
#ifndef SARDONYX_TOOLS_CLI_COMMANDS_H
#define SARDONYX_TOOLS_CLI_COMMANDS_H

#include <CLI/CLI.hpp>
#include <string>

#include "inputs.h"
#include "ort.h"

namespace sardonyx::cli {

// What all commands have in common.
struct Common {
  bool json = false;
  int exit_code = 0;  // of a command that another program ran
};

void AddInfo(CLI::App& app, Common& common);
void AddRun(CLI::App& app, Common& common);
void AddBench(CLI::App& app, Common& common);
void AddOptimize(CLI::App& app, Common& common);
void AddCompile(CLI::App& app, Common& common);
void AddCheck(CLI::App& app, Common& common);
void AddPrint(CLI::App& app, Common& common);
void AddProfile(CLI::App& app, Common& common);
void AddPlan(CLI::App& app, Common& common);
void AddExplainPlacement(CLI::App& app, Common& common);
void AddQuantize(CLI::App& app, Common& common);
void AddConvert(CLI::App& app, Common& common);
void AddGenerate(CLI::App& app, Common& common);

// Options that several commands have.
void AddModel(CLI::App& command, std::string& path);
void AddJson(CLI::App& command, Common& common);
void AddLevel(CLI::App& command, GraphOptimizationLevel& level);
void AddSession(CLI::App& command, SessionSettings& session);  // threads, level, providers, configuration, log
void AddProviders(CLI::App& command, SessionSettings& session);
void AddDims(CLI::App& command, std::vector<std::string>& dims);
void AddInputs(CLI::App& command, InputArguments& inputs);
void AddImage(CLI::App& command, ImageSettings& image);

// Creates a session of the model. Shows a progress line if that takes long.
Session Load(const std::string& path, const SessionSettings& settings);

// "batch=2" -> {"batch", "2"}. Throws a Failure that names `option` if the text has no '='.
std::pair<std::string, std::string> SplitPair(const std::string& text, const std::string& option);
std::vector<std::pair<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& dims);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_COMMANDS_H
