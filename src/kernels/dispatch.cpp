// kernels/dispatch.cpp - which ISA this process may use.
#include "kernels/dispatch.h"

#include <cstdlib>

namespace sardonyx::kernels {

std::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::baseline:
      return "baseline";
  }
  return "?";
}

static Isa Detect() {
  Isa found = Isa::baseline;
#if defined(__x86_64__)
  // x86-64-v3 and -v4, the levels that cmake/isa.cmake compiles for, plus AES and PCLMUL, which Highway asks for.
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("aes") &&
                  __builtin_cpu_supports("pclmul");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v3) found = Isa::avx2;
  if (v4) found = Isa::avx512;
#endif
  const char* cap = std::getenv("SDX_MAX_ISA");
  for (const Isa isa : {Isa::avx2, Isa::baseline})
    if (cap != nullptr && Name(isa) == cap && found < isa) found = isa;
  return found;
}

bool Supported(Isa isa) {
  static const Isa best = Detect();
  return isa >= best;
}

}  // namespace sardonyx::kernels
