// runtime/option_keys.h - config entries of a session that say what one of its options says ("session.log_id").
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/logging.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// Sets the options that the entries name; an entry comes before the option. Fails with kInvalidArgument for a value
// that the option cannot have, naming the entry.
void ApplyOptionKeys(SessionOptions& options);

// The whole number of an entry, `otherwise` without one. Fails with kInvalidArgument for anything else and below
// `least`, naming the entry.
int NumberOf(const SessionOptions& options, const std::string& key, int otherwise, int least = 0);
// Likewise "0" or "1".
bool IsOn(const SessionOptions& options, const std::string& key, bool otherwise);
// Whether sardonyx.precision allows products in bf16 and this CPU is faster at those; if it is not, `logger` is told.
// Fails with kInvalidArgument for a precision that is not known.
bool RoundsToBf16(const SessionOptions& options, const Logger& logger);
// The code for a value that is refused, of entries that ONNX Runtime reads with std::stoi: what that takes for no int
// at all is a runtime exception, as there, and any other an invalid argument.
Code CodeOfNoNumber(const std::string& value);

}  // namespace sardonyx::runtime
