// base/current_error_test.cpp - Errors stay as they are, failed allocations become Errors, other exceptions are
// rethrown.
#include "base/current_error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace sardonyx {
namespace {

template <typename Body>
Error ErrorOf(const Body& body) {
  try {
    body();
  } catch (...) {
    return CurrentError();
  }
  return {Code::kFail, "nothing was thrown"};
}

TEST(CurrentError, IsTheErrorItself) {
  const Error error = ErrorOf([] { Fail(Code::kNotFound, "no key"); });
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_STREQ(error.what(), "no key");
}

TEST(CurrentError, SizesThatNoMemoryHasAreOutOfMemory) {
  const std::size_t too_many = std::vector<int>().max_size() + 1;
  for (const Error& error :
       {ErrorOf([] { throw std::bad_alloc(); }), ErrorOf([] { throw std::bad_array_new_length(); }),
        ErrorOf([&] { std::vector<int>().reserve(too_many); })}) {
    EXPECT_EQ(error.code(), Code::kFail);
    EXPECT_STREQ(error.what(), "out of memory: the system refused an allocation");
  }
}

TEST(CurrentError, OtherExceptionsGoOn) {
  EXPECT_THROW(ErrorOf([] { throw std::invalid_argument("a bug"); }), std::invalid_argument);
}

}  // namespace
}  // namespace sardonyx
