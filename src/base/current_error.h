// base/current_error.h - translates the exception being handled into the library's one error type.
#pragma once

#include "base/error.h"

namespace sardonyx {

// For use in a catch block: the exception being handled, as an Error. Failed allocations (std::bad_alloc,
// std::length_error) become kFail "out of memory ..."; any other exception is rethrown.
Error CurrentError();

}  // namespace sardonyx
