// tools/cli/python_package.cpp - finds a Python, runs it, and passes signals on.
#include "python_package.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "ort.h"

namespace sardonyx::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kNotFound = 127;  // as shells have it

std::atomic<bool> signal_came = false;
std::atomic<pid_t> running = 0;  // the Python process

void OnSignal(int signal) {
  signal_came.store(true);
  const pid_t child = running.load();
  if (child > 0 && signal != SIGINT) kill(child, signal);
}

// Starts a program; what it prints goes to `output` (-1: where ours goes).
pid_t Start(const PythonPackage& package, const std::vector<std::string>& arguments, int output) {
  std::vector<char*> list = {const_cast<char*>(package.python.c_str())};
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  const char* known = std::getenv("PYTHONPATH");
  const std::string path = known && *known ? package.folder + ":" + known : package.folder;
  const pid_t child = fork();
  if (child < 0) throw Failure(ORT_FAIL, "cannot start '" + package.python + "': there is no room for another process");
  if (child > 0) return child;
  if (!package.folder.empty()) setenv("PYTHONPATH", path.c_str(), 1);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(STDIN_FILENO);
  }
  execvp(list[0], list.data());
  _exit(kNotFound);
}

int Wait(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignalBase = 128;  // as shells have it
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

// "" if this Python can import the commands; otherwise what it says.
std::string Try(const PythonPackage& package) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Failure(ORT_FAIL, "cannot open a pipe");
  const pid_t child = Start(package, {"-c", "import sardonyx.commands"}, ends[1]);
  close(ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = read(ends[0], part.data(), part.size())) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) said.append(part.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  const int code = Wait(child);
  if (code == 0) return "";
  if (code == kNotFound && said.empty()) return "is not there";
  while (!said.empty() && said.back() == '\n') said.pop_back();
  said = said.substr(said.rfind('\n') + 1);  // the last line of a traceback is the error
  return said.empty() ? "ended with exit code " + std::to_string(code) : "says: " + said;
}

}  // namespace

SignalWatch::SignalWatch() {
  signal_came = false;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (std::size_t at = 0; at < std::size(kSignals); ++at) sigaction(kSignals[at], &action, &before_[at]);
}

SignalWatch::~SignalWatch() {
  for (std::size_t at = 0; at < std::size(kSignals); ++at) sigaction(kSignals[at], &before_[at], nullptr);
}

bool SignalWatch::came() const { return signal_came.load(); }

PythonPackage FindPythonPackage(const std::string& tool, const std::string& command) {
  // In a build, the package lies beside the folder of the tool.
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path bin = (error ? fs::absolute(tool) : self).parent_path();
  const fs::path beside = bin.parent_path() / "python";
  const bool built = fs::exists(beside / "sardonyx" / "__init__.py", error);
  const std::string folder = built ? beside.string() : "";
  std::vector<std::string> candidates = {"python3", "python"};
  const char* named = std::getenv("SARDONYX_PYTHON");
  if (named && *named) {
    candidates = {named};
  } else if (built) {
    const fs::path own = bin.parent_path().parent_path().parent_path() / ".venv" / "bin" / "python";
    if (fs::exists(own, error)) candidates.push_back(own.string());
  }
  std::string tried;
  for (const std::string& python : candidates) {
    const PythonPackage package{python, folder};
    const std::string fault = Try(package);
    if (fault.empty() || signal_came) return package;  // after Ctrl-C nothing is started
    tried += "\n  " + python + " " + fault;
  }
  throw Failure(ORT_NOT_IMPLEMENTED,
                "'" + command + "' is done by the Python package sardonyx, which was not found:" + tried +
                    "\nInstall it (make wheel, then pip install build/dist/sardonyx-*.whl), or name a Python that has "
                    "it: SARDONYX_PYTHON=/path/to/python sardonyx " +
                    command + " ...");
}

int RunPythonPackage(const PythonPackage& package, const std::string& request_file) {
  const pid_t child = Start(package, {"-m", "sardonyx.commands", request_file}, -1);
  running = child;
  const int code = Wait(child);
  running = 0;
  return code;
}

}  // namespace sardonyx::cli
