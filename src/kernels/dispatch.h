// kernels/dispatch.h - one source per kernel, compiled once per ISA; the best one the CPU has is chosen at run time.
//
// A kernel x declares its function type and SDX_FOR_EACH_ISA declarations in x.h, defines it in x.isa.cpp inside
// namespace sardonyx::kernels::SDX_ISA, and lists the variants in x.cpp: `constexpr Variant<XFn> kRows[] =
// {SDX_VARIANTS(X)}`. Only Best() chooses from such a table. To add an ISA: its row in SDX_FOR_EACH_ISA, named like the
// field of CpuInfo (base/cpu_info.h) that tells whether the CPU has it, and its flags in cmake/isa.cmake. To add a
// variant for a unit beyond an ISA (VNNI, BF16, FP16, AMX): a row SDX_X86_VARIANT that names the unit's field of
// CpuInfo, in front of the rows without one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cpu_info.h"

namespace sardonyx::kernels {

// clang-format off
#if defined(__x86_64__)
#define SDX_FOR_EACH_ISA(use, ...)       /* best first */ \
  use(avx512 __VA_OPT__(,) __VA_ARGS__)                   \
  use(avx2 __VA_OPT__(,) __VA_ARGS__)                     \
  use(baseline __VA_OPT__(,) __VA_ARGS__)
#define SDX_X86_VARIANT(isa, name, unit) {Isa::isa, isa::name, &CpuInfo::unit},
#else
#define SDX_FOR_EACH_ISA(use, ...) use(baseline __VA_OPT__(,) __VA_ARGS__)
#define SDX_X86_VARIANT(isa, name, unit)
#endif
#define SDX_VARIANT(isa, name) {Isa::isa, isa::name},
#define SDX_VARIANTS(name) SDX_FOR_EACH_ISA(SDX_VARIANT, name)

#define SDX_ENUMERATOR(isa) isa,
enum class Isa : std::uint8_t { SDX_FOR_EACH_ISA(SDX_ENUMERATOR) };  // best first
#undef SDX_ENUMERATOR
// clang-format on

std::string_view Name(Isa isa);

// The ISAs this process may use, best first: those of the CPU up to the one that the environment variable SDX_MAX_ISA
// names. A value that is not the name of an ISA is reported on standard error and has no effect.
std::span<const Isa> SupportedIsas();
bool Supported(Isa isa);
Isa BestIsa();
// The ISA of this name, which `SDX_MAX_ISA` has as its value; the first of all for null, "" or an unknown name.
Isa HighestAllowed(const char* name);

// One row of a kernel's table. T: a function, or a struct of pointers to functions.
template <typename T>
using Kernel = std::conditional_t<std::is_function_v<T>, T*, T>;
template <typename T>
struct Variant {
  Isa isa;
  Kernel<T> run;
  CpuUnit unit = nullptr;  // what it needs beyond its ISA
};

template <typename T>
bool Supported(const Variant<T>& row) {
  return Supported(row.isa) && (row.unit == nullptr || MayUse(row.unit));
}

// The first row this process may use, of this ISA or a lesser one. The last row is the baseline's, which needs nothing.
template <typename T>
const Kernel<T>& Best(std::span<const Variant<T>> rows, Isa isa = BestIsa()) {
  for (const Variant<T>& row : rows)
    if (row.isa >= isa && Supported(row)) return row.run;
  return rows.back().run;
}
template <typename T, std::size_t N>
const Kernel<T>& Best(const Variant<T> (&rows)[N], Isa isa = BestIsa()) {
  return Best(std::span<const Variant<T>>(rows), isa);
}

// All rows this process may use; for tests, which run each.
template <typename T>
std::vector<std::pair<Isa, Kernel<T>>> Runnable(std::span<const Variant<T>> rows) {
  std::vector<std::pair<Isa, Kernel<T>>> found;
  for (const Variant<T>& row : rows)
    if (Supported(row)) found.emplace_back(row.isa, row.run);
  return found;
}

}  // namespace sardonyx::kernels
