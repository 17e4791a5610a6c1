// providers/plugin/session_calls.h - what the plug-ins of a session are told while it lives: its runs and new options.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "onnxruntime_c_api.h"
#include "providers/provider.h"

namespace sardonyx::plugin {

class PluginProvider;

// Tells the providers of plug-ins that the session is ready.
void EndInitialization(const providers::ProviderSet& providers);

// Whether a provider of the session takes such options.
bool SetDynamicOptions(const providers::ProviderSet& providers, const char* const* keys, const char* const* values,
                       std::size_t count);

// Tells the providers of plug-ins of one run. Runs of a session whose provider does not run them side by side wait for
// each other.
class RunScope {
 public:
  RunScope(const providers::ProviderSet& providers, const OrtRunOptions& options, bool synchronize);
  // The end of a run that failed: what the providers say of it is dropped.
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  void End();  // of one that did not: fails with what a provider says

 private:
  void EndNext();

  const OrtRunOptions& options_;
  bool synchronize_;
  std::vector<std::unique_lock<std::mutex>> locks_;
  std::vector<PluginProvider*> started_;
};

}  // namespace sardonyx::plugin
