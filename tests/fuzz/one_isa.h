// tests/fuzz/one_isa.h - included before every source of a fuzz build: the kernels have their portable form only.
//
// What a kernel is asked for is the same for every ISA; compiling three forms with sanitizers would take minutes. The
// other forms have the kernels' own tests.
#pragma once

#ifdef __cplusplus
#include "kernels/dispatch.h"

#undef SDX_FOR_EACH_ISA
#undef SDX_VARIANTS
#define SDX_FOR_EACH_ISA(declare) declare(baseline)
#define SDX_VARIANTS(name)            \
  {                                   \
    { Isa::baseline, baseline::name } \
  }
#endif
