// capi/profile.cpp - the functions of profiling, and the files that they write.
#include "capi/profile.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "capi/profile_events.h"
#include "capi/runs/plugin_profilers.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

constexpr const char* kDefaultPrefix = "onnxruntime_profile_";

std::string PrefixOr(const char* prefix) { return *prefix != '\0' ? prefix : kDefaultPrefix; }

// "prefix_2026-11-21_15-21-35_564.json" in local time, as ONNX Runtime names its profiles; numbered where two would
// have one name.
std::string FileName(const std::string& prefix, std::int64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  const std::tm local = LocalTime(seconds);
  char time[40];
  std::strftime(time, sizeof(time), "_%Y-%m-%d_%H-%M-%S", &local);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof(milliseconds), "_%03d", static_cast<int>(wall_ns / 1'000'000 % 1000));
  const std::string name = prefix + time + milliseconds;
  std::string file = name + ".json";
  for (int i = 2; std::filesystem::exists(file); ++i) file = name + "_" + std::to_string(i) + ".json";
  return file;
}

std::string Write(const runtime::Session& session, runtime::Trace& trace, const std::string& prefix) {
  std::string file = FileName(prefix, trace.wall_ns);
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  const char* before = "[\n";
  ProfileEvents events(runtime::CeilingOf(session.parallel()), trace.start_ns, [&](const ProfileEvents::Json& event) {
    out << before << event.dump(-1, ' ', false, ProfileEvents::Json::error_handler_t::replace);
    before = ",\n";
  });
  const std::int32_t thread = ThreadNumber();
  if (trace.loaded_ns != 0) {
    events.AddSession(session.model().path.empty() ? "model_loading_array" : "model_loading_uri", trace.start_ns,
                      trace.loaded_ns, thread, ProfileEvents::Json::object());
    events.AddSession("session_initialization", trace.loaded_ns, trace.ready_ns, thread, ProfileEvents::Json::object());
  }
  const auto runs = trace.Take();
  for (const auto& run : runs) events.AddRun(*run);
  if (trace.listener != nullptr)
    for (const OrtProfilingEvent& event : static_cast<PluginProfilers&>(*trace.listener).End())
      events.AddForeign(event);
  for (const auto& run : runs) events.AddActivity(*run);
  events.AddMachine();
  out << "\n]\n";
  out.close();
  if (!out) {
    const int reason = errno != 0 ? errno : EIO;
    std::error_code error;
    std::filesystem::remove(file, error);  // half a profile is none, and a full disk has no room for it
    Fail(Code::kFail, "profile: cannot write '", file, "': ", std::strerror(reason));
  }
  return file;
}

}  // namespace

void CheckProfilePrefix(const std::string& prefix) {
  std::filesystem::path folder = std::filesystem::path(prefix).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    Fail(Code::kInvalidArgument, "profile '", prefix, "': expected a folder '", folder.string(), "', found none");
}

std::string EndProfile(runtime::Session& session) {
  const std::shared_ptr<runtime::Trace> trace = session.EndTrace();
  return trace ? Write(session, *trace, session.options().profile_prefix) : "";
}

void RunProfiled(runtime::Session& called, const runtime::RunOptions& options, std::span<const std::size_t> inputs,
                 std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results,
                 const runtime::RunExtras& extras) {
  CheckProfilePrefix(options.profile_prefix);
  runtime::Session& session = called.ForInputs(inputs, values);
  runtime::Trace trace;
  trace.listener = PluginProfilers::Make(session, trace);
  auto run = std::make_unique<runtime::TraceRun>(trace.Room(), trace.listener);
  run->Begin(session.program());
  runtime::RunExtras traced = extras;
  traced.observer = run.get();
  std::exception_ptr failure;
  try {
    session.Run(options, inputs, values, outputs, results, traced);
  } catch (...) {  // what ran until then is in the profile
    failure = std::current_exception();
  }
  run->End();
  trace.Add(std::move(run));
  Write(session, trace, options.profile_prefix);
  if (failure) std::rethrow_exception(failure);
}

OrtStatusPtr ORT_API_CALL EnableProfiling(OrtSessionOptions* options, const ORTCHAR_T* profile_file_prefix) noexcept {
  return Guard([&] {
    Need(options, "options").options.profile_prefix = PrefixOr(&Need(profile_file_prefix, "profile_file_prefix"));
  });
}

OrtStatusPtr ORT_API_CALL DisableProfiling(OrtSessionOptions* options) noexcept {
  return Guard([&] { Need(options, "options").options.profile_prefix.clear(); });
}

OrtStatusPtr ORT_API_CALL RunOptionsEnableProfiling(OrtRunOptions* options,
                                                    const ORTCHAR_T* profile_file_prefix) noexcept {
  return Guard([&] {
    Need(options, "options").options.profile_prefix = PrefixOr(&Need(profile_file_prefix, "profile_file_prefix"));
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsDisableProfiling(OrtRunOptions* options) noexcept {
  return Guard([&] { Need(options, "options").options.profile_prefix.clear(); });
}

// "" for a session without a profile, or whose profile was ended before, as in ONNX Runtime.
OrtStatusPtr ORT_API_CALL SessionEndProfiling(OrtSession* session, OrtAllocator* allocator, char** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    *out = CopyText(allocator, EndProfile(BuiltSession(session)));
  });
}

// Nanoseconds since 1970; 0 for a session without a profile.
OrtStatusPtr ORT_API_CALL SessionGetProfilingStartTimeNs(const OrtSession* session, uint64_t* out) noexcept {
  return Guard([&] {
    const auto& trace = BuiltSession(session).trace();
    Need(out, "out") = trace ? static_cast<std::uint64_t>(trace->wall_ns) : 0;
  });
}

}  // namespace sardonyx::capi
