// tests/fuzz/fuzz_text.cpp - the text syntax: any text gives a model or an Error, and a model that is printed and read
// again is the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sardonyx;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string printed;
  try {
    printed = ToText(ParseModel(text));
  } catch (const Error&) {
    return 0;
  }
  const std::string again = ToText(ParseModel(printed));
  if (again == printed) return 0;
  std::fprintf(stderr, "a printed model changes when it is read and printed again:\n%s\n---\n%s\n", printed.c_str(),
               again.c_str());
  std::abort();
}
