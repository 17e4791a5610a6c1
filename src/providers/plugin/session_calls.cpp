// providers/plugin/session_calls.cpp - calls the optional functions of an OrtEp that go with its session.
#include "providers/plugin/session_calls.h"

#include "base/error.h"
#include "capi/handles/call_out.h"
#include "providers/plugin/plugin_provider.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;

std::vector<PluginProvider*> PluginsOf(const providers::ProviderSet& providers) {
  std::vector<PluginProvider*> plugins;
  for (const auto& provider : providers.providers)
    if (auto* plugin = dynamic_cast<PluginProvider*>(provider.get())) plugins.push_back(plugin);
  return plugins;
}

}  // namespace

void EndInitialization(const providers::ProviderSet& providers) {
  for (const PluginProvider* plugin : PluginsOf(providers)) {
    const Ep& ep = plugin->ep();
    if (const auto end = ep.Find(&OrtEp::OnSessionInitializationEnd))
      CallOut(ep.Callee("OnSessionInitializationEnd").c_str(), end, ep.handle());
  }
}

bool SetDynamicOptions(const providers::ProviderSet& providers, const char* const* keys, const char* const* values,
                       std::size_t count) {
  bool taken = false;
  for (const PluginProvider* plugin : PluginsOf(providers)) {
    const Ep& ep = plugin->ep();
    const auto set = ep.Find(&OrtEp::SetDynamicOptions);
    if (set == nullptr) continue;
    taken = true;
    CallOut(ep.Callee("SetDynamicOptions").c_str(), set, ep.handle(), keys, values, count);
  }
  return taken;
}

RunScope::RunScope(const providers::ProviderSet& providers, const OrtRunOptions& options, bool synchronize)
    : options_(options), synchronize_(synchronize) {
  const std::vector<PluginProvider*> plugins = PluginsOf(providers);
  for (PluginProvider* plugin : plugins)
    if (!plugin->runs_side_by_side()) locks_.emplace_back(plugin->run_mutex());
  started_.reserve(plugins.size());
  try {
    for (PluginProvider* plugin : plugins) {
      const Ep& ep = plugin->ep();
      if (const auto start = ep.Find(&OrtEp::OnRunStart))
        CallOut(ep.Callee("OnRunStart").c_str(), start, ep.handle(), &options_);
      started_.push_back(plugin);
    }
  } catch (...) {
    while (!started_.empty()) capi::FreeStatus(capi::Guard([&] { EndNext(); }));
    throw;
  }
}

RunScope::~RunScope() {
  while (!started_.empty()) capi::FreeStatus(capi::Guard([&] { EndNext(); }));
}

void RunScope::End() {
  while (!started_.empty()) EndNext();
}

void RunScope::EndNext() {
  const Ep& ep = started_.back()->ep();
  started_.pop_back();
  if (const auto end = ep.Find(&OrtEp::OnRunEnd))
    CallOut(ep.Callee("OnRunEnd").c_str(), end, ep.handle(), &options_, synchronize_);
}

}  // namespace sardonyx::plugin
