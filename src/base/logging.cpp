// base/logging.cpp - the default sink: one line on standard error.
#include "base/logging.h"

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/readable_text.h"

namespace sardonyx {
namespace {

constexpr const char* kCategory = "sardonyx";

// "2026-01-31 12:00:00.123 UTC [W sardonyx id place] text"; further lines of the text are indented. One call of fwrite,
// so that lines of several threads do not mix.
void WriteToStandardError(Severity severity, const std::string& id, const char* location, const std::string& text) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const auto seconds = static_cast<std::time_t>(millis / 1000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char stamp[64];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &utc);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03d UTC [", static_cast<int>(millis % 1000));

  std::string line(stamp, length);
  line += fraction;
  line += "VIWEF"[static_cast<int>(severity)];
  line += ' ';
  line += kCategory;
  if (!id.empty()) line += " " + id;
  if (*location != '\0') line += std::string(" ") + location;
  line += "] ";
  for (const char c : text) {
    line += c;
    if (c == '\n') line += "    ";
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void Logger::Write(Severity severity, const std::string& text, const char* location) const {
  if (!Wants(severity)) return;
  if (location == nullptr) location = "";
  if (sink_) {
    sink_(severity, kCategory, id_.c_str(), location, ReadableText(text).c_str());
  } else {
    WriteToStandardError(severity, id_, location, ReadableText(text));
  }
}

}  // namespace sardonyx
