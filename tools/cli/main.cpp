// tools/cli/main.cpp - `sardonyx`: looks into ONNX models, runs, optimizes and checks them from a shell.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

constexpr const char* kDescription =
    "Sardonyx runs ONNX models. This tool looks into a model, runs it on your data or on random\n"
    "data, optimizes it, and says what is wrong with it.";

constexpr const char* kFooter =
    "Examples:\n"
    "  sardonyx info model.onnx                          what is in the model\n"
    "  sardonyx run model.onnx                           run it once on random inputs\n"
    "  sardonyx run model.onnx --input x=x.npy -o y.npz  run it on a NumPy array, keep the outputs\n"
    "  sardonyx bench model.onnx                         how fast it is, and what memory it takes\n"
    "  sardonyx optimize model.onnx -o faster.onnx       write the optimized model\n"
    "  sardonyx profile model.onnx --html profile.html   where the time goes, as tables and as a page\n"
    "\n"
    "Each command explains itself: sardonyx run --help\n"
    "Exit codes: 0 all went well; 1 the model or its inputs are at fault; 2 the command line is;\n"
    "            3 the model needs something that this build lacks.";

// CLI11's layout, but descriptions and footers keep their own lines.
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
  app.set_help_flag("-h,--help", "Show this help");
  Common common;
  AddInfo(app, common);
  AddRun(app, common);
  AddBench(app, common);
  AddOptimize(app, common);
  AddCheck(app, common);
  AddPrint(app, common);
  AddProfile(app, common);
  AddPlan(app, common);
  AddExplainPlacement(app, common);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const Failure& failure) {
    return Report(failure, common.json);
  } catch (const std::bad_alloc&) {
    return Report(Failure(ORT_FAIL, "this machine does not have enough memory"), common.json);
  } catch (const std::exception& error) {
    return Report(Failure(ORT_FAIL, std::string("a defect of this tool, please report it: ") + error.what()),
                  common.json);
  }
}

}  // namespace
}  // namespace sardonyx::cli

// NOLINTNEXTLINE(bugprone-exception-escape): without memory even to say so, ending is all that is left.
int main(int argc, char** argv) { return sardonyx::cli::Main(argc, argv); }
