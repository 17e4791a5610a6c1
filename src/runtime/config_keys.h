// runtime/config_keys.h - the configuration entries that this library reads; to read one more, name it here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/logging.h"

namespace sardonyx::runtime {

std::span<const std::string_view> HonouredKeys();  // of sessions
bool IsHonouredKey(std::string_view key);
bool IsHonouredRunKey(std::string_view key);

// Says that the entry changes nothing, with the closest of `honoured` if it looks like one of them. `what`: "session",
// "run".
void WarnOfKey(const Logger& logger, std::string_view what, const std::string& key,
               std::span<const std::string_view> honoured);

}  // namespace sardonyx::runtime
