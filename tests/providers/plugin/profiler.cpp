// tests/providers/plugin/profiler.cpp - a profiler: one event of its own for each of its nodes that the runtime tells
// of.
#include <cstring>
#include <memory>
#include <mutex>

#include "plugin.h"

namespace test_plugin {
namespace {

struct Seen {
  std::string name;
  std::uint64_t correlation;
  std::int64_t start, duration;
};

struct Profiler : OrtEpProfilerImpl {
  Profiler() : OrtEpProfilerImpl{} { ++counts.profilers; }
  ~Profiler() { --counts.profilers; }
  std::mutex mutex;
  std::vector<Seen> seen;
};

// Of this thread: events that have begun.
thread_local std::vector<std::uint64_t> open_events;

void ORT_API_CALL Release(OrtEpProfilerImpl* self) { delete static_cast<Profiler*>(self); }

OrtStatus* ORT_API_CALL StartProfiling(OrtEpProfilerImpl* /*self*/, int64_t offset_ns) {
  TEST_PLUGIN_TRY(Fault("StartProfiling"));
  return offset_ns >= 0 ? nullptr : Failure("the profile has not begun yet");
}

OrtStatus* ORT_API_CALL StartEvent(OrtEpProfilerImpl* /*self*/, uint64_t correlation) {
  open_events.push_back(correlation);
  ++events.profiled;
  return Fault("StartEvent");
}

OrtStatus* ORT_API_CALL StopEvent(OrtEpProfilerImpl* self, uint64_t correlation, const OrtProfilingEvent* event) {
  TEST_PLUGIN_TRY(Fault("StopEvent"));
  if (open_events.empty() || open_events.back() != correlation) return Failure("events do not nest");
  open_events.pop_back();
  OrtProfilingEventCategory category = OrtProfilingEventCategory_API;
  TEST_PLUGIN_TRY(ep_api->ProfilingEvent_GetCategory(event, &category));
  const char *provider = nullptr, *name = nullptr;
  TEST_PLUGIN_TRY(ep_api->ProfilingEvent_GetArgValue(event, "provider", &provider));
  if (category != OrtProfilingEventCategory_NODE || provider == nullptr || std::strcmp(provider, kName) != 0)
    return nullptr;
  Seen seen{"", correlation, 0, 0};
  TEST_PLUGIN_TRY(ep_api->ProfilingEvent_GetName(event, &name));
  TEST_PLUGIN_TRY(ep_api->ProfilingEvent_GetTimestampUs(event, &seen.start));
  TEST_PLUGIN_TRY(ep_api->ProfilingEvent_GetDurationUs(event, &seen.duration));
  seen.name = name;
  auto& profiler = *static_cast<Profiler*>(self);
  const std::lock_guard lock(profiler.mutex);
  profiler.seen.push_back(seen);
  return nullptr;
}

OrtStatus* AddEvent(OrtProfilingEventsContainer* container, const Seen& seen) {
  const std::string name = "card:" + seen.name, correlation = std::to_string(seen.correlation);
  const char *keys[] = {"parent", "correlation"}, *values[] = {seen.name.c_str(), correlation.c_str()};
  OrtProfilingEvent* event = nullptr;
  TEST_PLUGIN_TRY(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 2, name.c_str(), seen.start,
                                               seen.duration, keys, values, 2, &event));
  const OrtProfilingEvent* listed[] = {event};
  OrtStatus* status = ep_api->ProfilingEventsContainer_AddEvents(container, listed, 1);
  ep_api->ReleaseProfilingEvent(event);
  return status;
}

OrtStatus* ORT_API_CALL EndProfiling(OrtEpProfilerImpl* self, OrtProfilingEventsContainer* container) {
  TEST_PLUGIN_TRY(Fault("EndProfiling"));
  auto& profiler = *static_cast<Profiler*>(self);
  const std::lock_guard lock(profiler.mutex);
  for (const Seen& seen : profiler.seen) TEST_PLUGIN_TRY(AddEvent(container, seen));
  return nullptr;
}

}  // namespace

OrtStatus* ORT_API_CALL CreateProfiler(OrtEp* /*ep*/, OrtEpProfilerImpl** profiler) {
  TEST_PLUGIN_TRY(Fault("CreateProfiler"));
  auto made = std::make_unique<Profiler>();
  made->ort_version_supported = Version();
  made->Release = Release;
  made->StartProfiling = StartProfiling;
  made->StartEvent = StartEvent;
  made->StopEvent = StopEvent;
  made->EndProfiling = EndProfiling;
  *profiler = made.release();
  return nullptr;
}

}  // namespace test_plugin
