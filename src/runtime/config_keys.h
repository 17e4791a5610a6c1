// runtime/config_keys.h - the configuration entries that ONNX Runtime 1.31 and this library know, and how each is
// handled.
//
// To honour one more: read it, change its row here, add its row to tests/python/test_config_keys.py, and update
// docs/config_keys.md (SDX_UPDATE=1 build/release/bin/unit_tests --gtest_filter='ConfigKeys*').
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/logging.h"
#include "ir/graph.h"

namespace sardonyx::runtime {

enum class KeyFate : std::uint8_t {
  kRead,     // does what it says
  kAlways,   // what it asks for holds whether it is set or not
  kIgnored,  // changes nothing; a warning says so
};

struct ConfigKey {
  std::string_view name;  // a name that ends in '.' stands for all that begin with it
  KeyFate fate;
  std::string_view text;   // what it does; if it is ignored, what holds instead
  std::string_view as_is;  // if it is ignored, the value that asks for what holds anyway; "": none
};

std::span<const ConfigKey> SessionKeys();
std::span<const ConfigKey> RunKeys();
std::span<const ConfigKey> EnvironmentKeys();

// Fails for values that ONNX Runtime refuses of entries that change nothing here, with its codes: what is wrong there
// is not right here because it is not read. `graph` is the model's: entries may name its inputs.
void CheckIgnoredValues(const std::map<std::string, std::string>& config, const Graph& graph);
// Likewise of a run's entries that only some providers read.
void CheckRunValues(const std::map<std::string, std::string>& config);

bool ChangesNothing(std::string_view key, std::string_view value, std::span<const ConfigKey> keys);
// Warns of an entry that changes nothing, and says what holds instead if `keys` has the entry, else the closest name.
// `what`: "session", "run", "environment".
void WarnOfKey(const Logger& logger, std::string_view what, const std::string& key, const std::string& value,
               std::span<const ConfigKey> keys);

}  // namespace sardonyx::runtime
