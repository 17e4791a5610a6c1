// tests/fuzz/highway_abort.cpp - the function that Highway's assertions call in sanitizer builds, which do not link its
// library.
#include <hwy/base.h>

#include <cstdio>
#include <cstdlib>

namespace hwy {

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, format);
  std::abort();
}

}  // namespace hwy
