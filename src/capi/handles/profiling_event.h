// capi/handles/profiling_event.h - OrtProfilingEvent: an event of a profile, the library's or one that a plug-in
// measured.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

// Times are in microseconds, since the profile began.
struct OrtProfilingEvent {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kProfilingEvent> mark;
  OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
  std::int32_t process = 0, thread = 0;
  std::string name;
  std::int64_t start_us = 0, duration_us = 0;
  std::map<std::string, std::string, std::less<>> arguments;
};

// What a plug-in has measured, when the profile ends.
struct OrtProfilingEventsContainer {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kProfilingEventsContainer> mark;
  std::vector<OrtProfilingEvent> events;
};
