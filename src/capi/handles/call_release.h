// capi/handles/call_release.h - calls functions of plug-ins that give back what they have made.
#pragma once

#include "base/logging.h"
#include "capi/handles/call_out.h"

namespace sardonyx::capi {

// What goes wrong is logged: there is nobody to return it to, and the object is gone in any case.
template <typename Function, typename... Args>
void CallRelease(const Logger& logger, const std::string& callee, Function function, Args... args) noexcept {
  FreeStatus(Guard([&] {
    try {
      CallOut(callee.c_str(), function, args...);
    } catch (const Error& error) {
      logger.Log(Severity::kError, error.what());
    }
  }));
}

}  // namespace sardonyx::capi
