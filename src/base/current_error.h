// base/current_error.h - exceptions of other kinds as the one error type.
#pragma once

#include "base/error.h"

namespace sardonyx {

// For a catch block: the exception that it handles, as an Error. Requests that no memory fulfils (std::bad_alloc,
// std::length_error) are kFail "out of memory ..."; any other exception is thrown on.
Error CurrentError();

}  // namespace sardonyx
