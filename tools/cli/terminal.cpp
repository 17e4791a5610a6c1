// tools/cli/terminal.cpp - colours, columns and numbers for people.
#include "terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace sardonyx::cli {
namespace {

bool IsTerminal(bool on_stderr) {
#ifdef _WIN32
  return _isatty(on_stderr ? 2 : 1);
#else
  return isatty(on_stderr ? 2 : 1);
#endif
}

bool UseColour(bool on_stderr) {
  const char* off = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if ((off && *off) || (terminal && std::string_view(terminal) == "dumb")) return false;
  return IsTerminal(on_stderr);
}

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// The number of columns that UTF-8 text takes: its bytes without the continuation bytes.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string Styled(Style style, std::string_view text, bool on_stderr) {
  if (!UseColour(on_stderr)) return std::string(text);
  constexpr const char* kCodes[] = {"1", "2", "1;31", "32", "36"};
  return std::string("\033[") + kCodes[static_cast<std::size_t>(style)] + "m" + std::string(text) + "\033[0m";
}

bool IsLiveTerminal() {
  const char* terminal = std::getenv("TERM");
  return IsTerminal(true) && !(terminal && std::string_view(terminal) == "dumb");
}

std::string Heading(std::string_view text) { return Styled(Style::kBold, text) + "\n"; }

std::string ShownName(const std::string& node, const std::string& value) {
  return !node.empty() || value.empty() ? node : "-> " + value;
}

std::string Columns(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string ByteText(double bytes) {
  if (bytes < 1000) return Format("%.0f bytes", bytes);
  if (bytes < 1e6) return Format("%.1f kB", bytes / 1e3);
  return bytes < 1e9 ? Format("%.1f MB", bytes / 1e6) : Format("%.2f GB", bytes / 1e9);
}

std::string CountText(double count) {
  if (count < 1e4) return Format("%.0f", count);
  if (count < 1e6) return Format("%.1f thousand", count / 1e3);
  return count < 1e9 ? Format("%.1f million", count / 1e6) : Format("%.2f billion", count / 1e9);
}

std::string NumberText(double value) { return Format("%.6g", value); }

}  // namespace sardonyx::cli
