// capi/runs/plugin_profilers.h - the profilers of plug-ins, which measure what a session's profile cannot see.
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include "capi/handles/profiling_event.h"
#include "providers/plugin/ep.h"
#include "runtime/session.h"

namespace sardonyx::capi {

// Tells the profilers of a session's plug-ins of each run and each step of a profile. What goes wrong in one is an
// error in the session's log; the run goes on, and so do the other profilers.
class PluginProfilers final : public runtime::TraceListener {
 public:
  // Null if no plug-in has a profiler. `trace` is the profile that is about to begin.
  static std::shared_ptr<PluginProfilers> Make(const runtime::Session& session, const runtime::Trace& trace);

  void Begin(std::int64_t start_ns) override;
  void EndStep(const runtime::ObservedStep& step) override;
  void EndRun(std::int64_t start_ns, std::int64_t end_ns) override;
  void Abandon(std::int64_t start_ns) override;

  // Ends them: all that they measured. To be called once.
  std::vector<OrtProfilingEvent> End();

 private:
  struct Releaser {
    const plugin::Ep* ep;
    void operator()(OrtEpProfilerImpl* profiler) const noexcept;
  };
  struct Profiler {
    std::shared_ptr<const plugin::Ep> ep;
    std::unique_ptr<OrtEpProfilerImpl, Releaser> handle;
  };
  PluginProfilers(Logger logger, const runtime::Trace& trace)
      : logger_(std::move(logger)), start_ns_(trace.start_ns), wall_ns_(trace.wall_ns) {}
  OrtProfilingEvent Event(OrtProfilingEventCategory category, std::string name, std::int64_t start_ns,
                          std::int64_t end_ns) const;
  std::uint64_t CorrelationOf(std::int64_t start_ns) const;
  void Stop(std::int64_t start_ns, const OrtProfilingEvent& event);
  // Calls `call` with each profiler, and logs what it throws.
  template <typename Call>
  void ForAll(const Call& call);

  Logger logger_;
  std::int64_t start_ns_, wall_ns_;
  std::shared_mutex mutex_;  // runs may go on while the profile ends
  std::vector<Profiler> profilers_;
};

}  // namespace sardonyx::capi
