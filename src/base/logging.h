// base/logging.h - where messages go: a sink with a threshold, owned by the environment, borrowed by sessions and runs.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/joined_text.h"

namespace sardonyx {

enum class Severity { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };  // OrtLoggingLevel's numbers

class Logger {
 public:
  // Receives severity, category ("sardonyx"), the logger's id, code location ("" if none) and the message.
  using Sink =
      std::function<void(Severity, const char* category, const char* id, const char* location, const char* text)>;

  Logger() = default;  // standard error, warnings and worse
  Logger(Sink sink, std::string id, Severity threshold)
      : sink_(std::move(sink)), id_(std::move(id)), threshold_(threshold) {}
  Logger(const Logger& other) : sink_(other.sink_), id_(other.id_), threshold_(other.threshold()) {}
  Logger& operator=(const Logger& other) {
    sink_ = other.sink_;
    id_ = other.id_;
    set_threshold(other.threshold());
    return *this;
  }

  bool Wants(Severity severity) const { return severity >= threshold(); }
  void Write(Severity severity, const std::string& text, const char* location = "") const;

  template <typename... Parts>
  void Warn(const Parts&... parts) const {
    Log(Severity::kWarning, parts...);
  }
  template <typename... Parts>
  void Info(const Parts&... parts) const {
    Log(Severity::kInfo, parts...);
  }
  template <typename... Parts>
  void Log(Severity severity, const Parts&... parts) const {
    if (!Wants(severity)) return;
    Write(severity, JoinedText(parts...));
  }
  const Sink& sink() const { return sink_; }
  const std::string& id() const { return id_; }
  Severity threshold() const { return threshold_.load(std::memory_order_relaxed); }
  void set_threshold(Severity threshold) { threshold_.store(threshold, std::memory_order_relaxed); }

 private:
  Sink sink_;
  std::string id_;
  std::atomic<Severity> threshold_ = Severity::kWarning;  // changed while other threads log
};

}  // namespace sardonyx
