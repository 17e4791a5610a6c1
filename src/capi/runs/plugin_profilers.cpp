// capi/runs/plugin_profilers.cpp - makes the profilers of plug-ins and passes events on.
#include "capi/runs/plugin_profilers.h"

#include <mutex>
#include <string>
#include <utility>

#include "base/process.h"
#include "capi/handles/call_release.h"
#include "providers/plugin/plugin_provider.h"
#include "runtime/inspect/body_path.h"
#include "runtime/program.h"

namespace sardonyx::capi {

void PluginProfilers::Releaser::operator()(OrtEpProfilerImpl* profiler) const noexcept {
  if (profiler->Release == nullptr) return;
  CallRelease(ep->logger(), ep->name() + ": OrtEpProfilerImpl::Release", profiler->Release, profiler);
}

template <typename Call>
void PluginProfilers::ForAll(const Call& call) {
  for (const Profiler& profiler : profilers_) {
    try {
      call(profiler);
    } catch (const Error& error) {
      logger_.Log(Severity::kError, error.what(), "; the profile goes on without it");
    }
  }
}

std::shared_ptr<PluginProfilers> PluginProfilers::Make(const runtime::Session& session, const runtime::Trace& trace) {
  std::shared_ptr<PluginProfilers> made(new PluginProfilers(session.logger(), trace));  // NOLINT: private constructor
  for (const auto& provider : session.providers().providers) {
    const auto* plugin = dynamic_cast<const plugin::PluginProvider*>(provider.get());
    const auto create = plugin != nullptr ? plugin->ep().Find(&OrtEp::CreateProfiler) : nullptr;
    if (create == nullptr) continue;
    const std::string callee = plugin->ep().Callee("CreateProfiler");
    try {
      OrtEpProfilerImpl* handle = nullptr;
      CallOut(callee.c_str(), create, plugin->ep().handle(), &handle);
      if (handle == nullptr) continue;  // it measures nothing now
      Profiler profiler{plugin->share_ep(), {handle, Releaser{&plugin->ep()}}};
      if (handle->Release == nullptr || handle->StartProfiling == nullptr || handle->EndProfiling == nullptr)
        Fail(Code::kEpFail, callee, ": expected a profiler with Release, StartProfiling and EndProfiling, found NULL ",
             "for one of them");
      CallOut((plugin->ep().name() + ": OrtEpProfilerImpl::StartProfiling").c_str(), handle->StartProfiling, handle,
              runtime::NowNanoseconds() - trace.start_ns);
      made->profilers_.push_back(std::move(profiler));
    } catch (const Error& error) {
      made->logger_.Log(Severity::kError, error.what(), "; the profile goes on without it");
    }
  }
  return made->profilers_.empty() ? nullptr : made;
}

// Microseconds since 1970, so that profiles that run at once have different numbers.
std::uint64_t PluginProfilers::CorrelationOf(std::int64_t start_ns) const {
  return static_cast<std::uint64_t>((start_ns - start_ns_) / 1000 + wall_ns_ / 1000);
}

OrtProfilingEvent PluginProfilers::Event(OrtProfilingEventCategory category, std::string name, std::int64_t start_ns,
                                         std::int64_t end_ns) const {
  return {{},
          category,
          ProcessNumber(),
          ThreadNumber(),
          std::move(name),
          (start_ns - start_ns_) / 1000,
          (end_ns - start_ns) / 1000,
          {}};
}

void PluginProfilers::Begin(std::int64_t start_ns) {
  const std::shared_lock lock(mutex_);
  ForAll([&](const Profiler& profiler) {
    if (const auto start = profiler.handle->StartEvent)
      CallOut((profiler.ep->name() + ": OrtEpProfilerImpl::StartEvent").c_str(), start, profiler.handle.get(),
              CorrelationOf(start_ns));
  });
}

void PluginProfilers::Stop(std::int64_t start_ns, const OrtProfilingEvent& event) {
  const std::shared_lock lock(mutex_);
  ForAll([&](const Profiler& profiler) {
    if (const auto stop = profiler.handle->StopEvent)
      CallOut((profiler.ep->name() + ": OrtEpProfilerImpl::StopEvent").c_str(), stop, profiler.handle.get(),
              CorrelationOf(start_ns), &event);
  });
}

void PluginProfilers::EndStep(const runtime::ObservedStep& step) {
  const Node& node = step.program.graph().node(step.program.steps()[static_cast<std::size_t>(step.step)].node);
  OrtProfilingEvent event = Event(OrtProfilingEventCategory_NODE,
                                  runtime::StepName(step.program, static_cast<std::size_t>(step.step)) + "_kernel_time",
                                  step.start_ns, step.end_ns);
  event.arguments = {{"op_name", node.op_type},
                     {"provider", node.provider},
                     {"node_index", std::to_string(step.step)},
                     {"node", node.name}};
  Stop(step.start_ns, event);
}

void PluginProfilers::EndRun(std::int64_t start_ns, std::int64_t end_ns) {
  Stop(start_ns, Event(OrtProfilingEventCategory_SESSION, "model_run", start_ns, end_ns));
}

void PluginProfilers::Abandon(std::int64_t start_ns) {
  Stop(start_ns, Event(OrtProfilingEventCategory_NODE, "failed", start_ns, runtime::NowNanoseconds()));
}

std::vector<OrtProfilingEvent> PluginProfilers::End() {
  const std::unique_lock lock(mutex_);
  OrtProfilingEventsContainer container;
  ForAll([&](const Profiler& profiler) {
    CallOut((profiler.ep->name() + ": OrtEpProfilerImpl::EndProfiling").c_str(), profiler.handle->EndProfiling,
            profiler.handle.get(), &container);
  });
  profilers_.clear();
  return std::move(container.events);
}

}  // namespace sardonyx::capi
