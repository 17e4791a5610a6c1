// capi/handles/call_out.h - calls plug-ins, custom operators and the user's callbacks. All calls out of the library go
// through here.
#pragma once

#include <exception>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

// Calls `function` and returns what it does. What it throws, and a status that is an error, become an Error that names
// `callee`; the status's code is kept, and what is thrown has the code `kThrown`. A function that is NULL is an error,
// too.
template <Code kThrown = Code::kEpFail, typename Function, typename... Args>
auto CallOut(const char* callee, Function function, Args... args) {
  using Result = std::invoke_result_t<Function, Args...>;
  if constexpr (std::is_pointer_v<Function>)
    if (function == nullptr) Fail(Code::kInvalidArgument, callee, ": expected a function, found NULL");
  try {
    if constexpr (std::is_same_v<Result, OrtStatusPtr>) {
      ThrowIfError(function(args...), callee);
    } else {
      return function(args...);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(kThrown, std::string(callee) + " threw: " + error.what());
  } catch (...) {
    throw Error(kThrown, std::string(callee) + " threw an exception of an unknown type");
  }
}

}  // namespace sardonyx::capi
