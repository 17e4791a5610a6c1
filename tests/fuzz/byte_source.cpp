// tests/fuzz/byte_source.cpp - reads decisions from bytes; see byte_source.h.
#include "fuzz/byte_source.h"

namespace sardonyx::fuzz {

std::size_t ByteSource::Below(std::size_t count) {
  if (count <= 1) return 0;
  std::size_t number = Byte();
  if (count > 256) number = number * 256 + Byte();
  return number % count;
}

}  // namespace sardonyx::fuzz
