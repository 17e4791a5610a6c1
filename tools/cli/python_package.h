// tools/cli/python_package.h - starts the Python package, where quantization and conversion are written.
#ifndef SARDONYX_TOOLS_CLI_PYTHON_PACKAGE_H
#define SARDONYX_TOOLS_CLI_PYTHON_PACKAGE_H

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

namespace sardonyx::cli {

// The exit code after Ctrl-C, as shells have it.
constexpr int kInterrupted = 130;

// While it lives, Ctrl-C, SIGTERM and SIGHUP do not end the process: it can tidy up first. A Python process that is
// running then gets the latter two from here; Ctrl-C reaches it through the terminal.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  bool came() const;

 private:
  struct sigaction before_[3] = {};
};

// A Python that has the package.
struct PythonPackage {
  std::string python;  // its program
  std::string folder;  // what PYTHONPATH needs in addition; ""
};

// That of $SARDONYX_PYTHON; otherwise python3 or python of the path, or .venv of the source tree that the tool was
// built in. Throws a Failure with NOT_IMPLEMENTED that says what was tried and what to do.
PythonPackage FindPythonPackage(const std::string& tool, const std::string& command);

// Runs `python -m sardonyx.commands` on a request; its output goes where the tool's goes. Returns its exit code. Needs
// a SignalWatch.
int RunPythonPackage(const PythonPackage& package, const std::string& request_file);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PYTHON_PACKAGE_H
