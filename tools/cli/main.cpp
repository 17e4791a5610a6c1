// tools/cli/main.cpp - `sardonyx`, the command line tool: describes, runs, measures, optimizes and checks ONNX models.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

constexpr const char* kDescription =
    "Sardonyx runs ONNX models. This tool shows what is in a model, runs it on your data or on random\n"
    "data, measures and optimizes it, and finds out what is wrong with it.";

constexpr const char* kFooter =
    "Examples:\n"
    "  sardonyx info model.onnx                          show what is in the model\n"
    "  sardonyx run model.onnx                           run it once on random inputs\n"
    "  sardonyx run model.onnx --input x=x.npy -o y.npz  run it on a NumPy array and save the outputs\n"
    "  sardonyx bench model.onnx                         measure its speed and memory\n"
    "  sardonyx optimize model.onnx -o faster.onnx       write the optimized model\n"
    "  sardonyx compile model.onnx                       write model.sdx, which loads at once\n"
    "  sardonyx quantize model.onnx                      write model.int8.onnx, smaller and faster\n"
    "  sardonyx profile model.onnx --html profile.html   show where the time goes, in tables and on a page\n"
    "\n"
    "For help on a command, add --help: sardonyx run --help\n"
    "Exit codes: 0 success; 1 the model or its inputs are at fault; 2 the command line is at fault;\n"
    "            3 the model needs something that this build lacks.";

// CLI11's layout with our names for the sections.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(34);
    label("REQUIRED", "");
    label("SUBCOMMAND", "COMMAND");
    label("Subcommands", "Commands");
    label("Positionals", "Arguments");
  }
};

int Report(const Failure& failure, bool json) {
  if (json) {
    const nlohmann::json error = {{"error", {{"code", CodeName(failure.code())}, {"message", failure.what()}}}};
    std::cout << error.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cerr << Styled(Style::kRed, "sardonyx: error: ", true) << failure.what() << " [" << CodeName(failure.code())
              << "]\n";
  }
  return failure.code() == ORT_NOT_IMPLEMENTED ? 3 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "sardonyx");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    return std::string("sardonyx ") + Sardonyx().GetVersionString() + " (ONNX Runtime C API " +
           std::to_string(ORT_API_VERSION) + ")";
  });
  app.set_help_flag("-h,--help", "Show this help and exit");
  Common common;
  AddInfo(app, common);
  AddRun(app, common);
  AddBench(app, common);
  AddOptimize(app, common);
  AddCompile(app, common);
  AddQuantize(app, common);
  AddConvert(app, common);
  AddGenerate(app, common);
  AddCheck(app, common);
  AddPrint(app, common);
  AddProfile(app, common);
  AddPlan(app, common);
  AddExplainPlacement(app, common);
  try {
    app.parse(argc, argv);
    return common.exit_code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const Failure& failure) {
    return Report(failure, common.json);
  } catch (const std::bad_alloc&) {
    return Report(Failure(ORT_FAIL, "there is not enough memory"), common.json);
  } catch (const std::exception& error) {
    return Report(Failure(ORT_FAIL, std::string("this tool has a defect, please report it: ") + error.what()),
                  common.json);
  }
}

}  // namespace
}  // namespace sardonyx::cli

// NOLINTNEXTLINE(bugprone-exception-escape): if there is no memory even for the message, the process may end.
int main(int argc, char** argv) { return sardonyx::cli::Main(argc, argv); }
