// base/current_error.cpp - translates the exception being handled into an Error.
#include "base/current_error.h"

#include <new>
#include <stdexcept>

namespace sardonyx {

Error CurrentError() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a container's size beyond what any memory has
  }
  return {Code::kFail, "out of memory: the system refused an allocation"};
}

}  // namespace sardonyx
