// base/error.cpp - builds the message of an error, and throws it.
#include "base/error.h"

namespace sardonyx {

void FailWith(Code code, const TextPart* parts, std::size_t count) { throw Error(code, JoinParts(parts, count)); }

}  // namespace sardonyx
