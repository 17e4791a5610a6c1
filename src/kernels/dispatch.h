// kernels/dispatch.h - one source per kernel, compiled once per ISA; the best one the CPU has is chosen at run time.
//
// A kernel x declares its function type and SDX_FOR_EACH_ISA declarations in x.h, defines it in x.isa.cpp inside
// namespace sardonyx::kernels::SDX_ISA, and lists the variants in x.cpp with SDX_VARIANTS (best first). Hand-tuned
// variants for units beyond these (AMX, VNNI) are rows in front of that list, guarded by a CPU feature of
// base/cpu_info.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sardonyx::kernels {

enum class Isa : std::uint8_t { avx512, avx2, baseline };  // best first

std::string_view Name(Isa isa);

// True if this CPU has the ISA and the environment variable SDX_MAX_ISA (avx512, avx2 or baseline) does not forbid it.
bool Supported(Isa isa);

template <typename Fn>
struct Variant {
  Isa isa;
  Fn* run;
};

template <typename Fn>
Fn* Best(std::span<const Variant<Fn>> variants) {
  for (const Variant<Fn>& variant : variants)
    if (Supported(variant.isa)) return variant.run;
  return nullptr;
}
template <typename Fn, std::size_t N>
Fn* Best(const Variant<Fn> (&variants)[N]) {
  return Best(std::span<const Variant<Fn>>(variants));
}

#if defined(__x86_64__)
#define SDX_FOR_EACH_ISA(declare) declare(avx512) declare(avx2) declare(baseline)
#define SDX_VARIANTS(name)                                                                  \
  {                                                                                         \
    {Isa::avx512, avx512::name}, {Isa::avx2, avx2::name}, { Isa::baseline, baseline::name } \
  }
#else
#define SDX_FOR_EACH_ISA(declare) declare(baseline)
#define SDX_VARIANTS(name)            \
  {                                   \
    { Isa::baseline, baseline::name } \
  }
#endif

}  // namespace sardonyx::kernels
