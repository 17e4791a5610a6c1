// tests/fuzz/highway_abort.cpp - the function that Highway's assertions call when they fail, for sanitizer builds,
// because Highway's library is not linked.
#include <hwy/base.h>

#include <cstdio>
#include <cstdlib>

namespace hwy {

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, format);
  std::abort();
}

}  // namespace hwy
