// capi/ep/profiling_events.cpp - the functions of OrtProfilingEvent: an event that a plug-in measured.
#include <memory>

#include "capi/functions.h"
#include "capi/handles/profiling_event.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi::ep {

OrtStatusPtr ORT_API_CALL CreateProfilingEvent(OrtProfilingEventCategory category, int32_t process_id,
                                               int32_t thread_id, const char* event_name, int64_t timestamp_us,
                                               int64_t duration_us, const char* const* arg_keys,
                                               const char* const* arg_values, size_t num_args,
                                               OrtProfilingEvent** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    if (category < OrtProfilingEventCategory_SESSION || category > OrtProfilingEventCategory_API)
      Fail(Code::kInvalidArgument, "profiling event: expected an OrtProfilingEventCategory from 0 to 3, found ",
           int{category});
    NeedArray(arg_keys, num_args, "arg_keys");
    NeedArray(arg_values, num_args, "arg_values");
    auto event = std::make_unique<OrtProfilingEvent>(OrtProfilingEvent{
        {}, category, process_id, thread_id, &Need(event_name, "event_name"), timestamp_us, duration_us, {}});
    for (std::size_t i = 0; i < num_args; ++i)
      event->arguments.insert_or_assign(&Need(arg_keys[i], "arg_keys[i]"), &Need(arg_values[i], "arg_values[i]"));
    result = event.release();
  });
}

void ORT_API_CALL ReleaseProfilingEvent(OrtProfilingEvent* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetCategory(const OrtProfilingEvent* event,
                                                     OrtProfilingEventCategory* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(event, "event").category; });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetName(const OrtProfilingEvent* event, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(event, "event").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetTimestampUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(event, "event").start_us; });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetDurationUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(event, "event").duration_us; });
}

// NULL if the event has no such argument.
OrtStatusPtr ORT_API_CALL ProfilingEvent_GetArgValue(const OrtProfilingEvent* event, const char* key,
                                                     const char** out) noexcept {
  return Guard([&] {
    const auto& arguments = Need(event, "event").arguments;
    const auto found = arguments.find(&Need(key, "key"));
    Need(out, "out") = found != arguments.end() ? found->second.c_str() : nullptr;
  });
}

// Copies the events.
OrtStatusPtr ORT_API_CALL ProfilingEventsContainer_AddEvents(OrtProfilingEventsContainer* events_container,
                                                             const OrtProfilingEvent* const* events,
                                                             size_t num_events) noexcept {
  return Guard([&] {
    OrtProfilingEventsContainer& container = Need(events_container, "events_container");
    NeedArray(events, num_events, "events");
    for (std::size_t i = 0; i < num_events; ++i) Need(events[i], "events[i]");
    for (std::size_t i = 0; i < num_events; ++i) container.events.push_back(*events[i]);
  });
}

}  // namespace sardonyx::capi::ep
