// kernels/dispatch.cpp - finds out which ISAs this process may use.
#include "kernels/dispatch.h"

#include <cstdlib>

#include "base/logging.h"

namespace sardonyx::kernels {
namespace {

struct Row {
  std::string_view name;
  CpuUnit level;
};
#define SDX_ROW(isa) {#isa, &CpuInfo::isa},
constexpr Row kIsas[] = {SDX_FOR_EACH_ISA(SDX_ROW)};  // in the order of the enumeration
#undef SDX_ROW

std::string Names() {
  std::string names;
  for (const Row& row : kIsas) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

std::vector<Isa> FindSupported() {
  std::vector<Isa> found;
  for (auto isa = static_cast<std::size_t>(HighestAllowed(std::getenv("SDX_MAX_ISA"))); isa < std::size(kIsas); ++isa)
    if (MayUse(kIsas[isa].level)) found.push_back(static_cast<Isa>(isa));
  return found;
}

// SupportedIsas() as bits: kernels ask in every call.
unsigned FindSupportedBits() {
  unsigned bits = 0;
  for (const Isa isa : SupportedIsas()) bits |= 1u << static_cast<unsigned>(isa);
  return bits;
}

}  // namespace

std::string_view Name(Isa isa) { return kIsas[static_cast<std::size_t>(isa)].name; }

Isa HighestAllowed(const char* name) {
  const std::string_view wanted = name != nullptr ? name : "";
  for (std::size_t isa = 0; isa < std::size(kIsas); ++isa)
    if (kIsas[isa].name == wanted) return static_cast<Isa>(isa);
  if (!wanted.empty())
    Logger().Warn("SDX_MAX_ISA: expected one of ", Names(), ", found '", wanted, "'; it has no effect");
  return Isa{};
}

std::span<const Isa> SupportedIsas() {
  static const std::vector<Isa> supported = FindSupported();
  return supported;
}

bool Supported(Isa isa) {
  static const unsigned bits = FindSupportedBits();
  return (bits >> static_cast<unsigned>(isa) & 1) != 0;
}

Isa BestIsa() {
  static const Isa best = SupportedIsas().front();
  return best;
}

}  // namespace sardonyx::kernels
