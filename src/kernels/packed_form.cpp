// kernels/packed_form.cpp - names the ISA and the units that kernels choose their forms of weights by.
#include "kernels/packed_form.h"

#include <string_view>

#include "base/cpu_info.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/tile_bf16.h"

namespace sardonyx::kernels {
namespace {

struct Unit {
  std::string_view name;
  CpuUnit unit;
};
constexpr Unit kUnits[] = {
    {"avx_vnni", &CpuInfo::avx_vnni},       {"avx512_vnni", &CpuInfo::avx512_vnni},
    {"avx512_vbmi", &CpuInfo::avx512_vbmi}, {"avx512_bf16", &CpuInfo::avx512_bf16},
    {"avx512_fp16", &CpuInfo::avx512_fp16}, {"amx_int8", &CpuInfo::amx_int8},
    {"amx_bf16", &CpuInfo::amx_bf16},
};

// Whether a kernel of this ISA may use the unit; "avx_vnni" belongs to avx2, all others to avx512.
bool Reaches(std::string_view isa, std::string_view unit) {
  return isa == "avx512" || (isa == "avx2" && unit == "avx_vnni");
}

}  // namespace

std::string PackedForm() {
  const std::string_view isa = Name(BestIsa());
  std::string form = "packer " + std::to_string(kPackerVersion) + ", ";
  form += isa;
  for (const Unit& unit : kUnits) {
    if (!Reaches(isa, unit.name) || !MayUse(unit.unit)) continue;
    form += ", ";
    form += unit.name;
  }
  return form;
}

bool GainsFromBf16() { return BestTilesBf16() != nullptr; }

}  // namespace sardonyx::kernels
