// base/cpu_info.h - what the CPU offers this process: instruction sets, cache sizes and cores.
#pragma once

#include <cstddef>
#include <string_view>

namespace sardonyx {

struct CpuInfo {
  char vendor[13] = "";  // from CPUID: "GenuineIntel", "AuthenticAMD"; "" on CPUs without it

  // What both the CPU and the operating system support. First the ISA levels that kernels are compiled for
  // (cmake/isa.cmake), named as in kernels/dispatch.h:
  bool avx512 = false;   // x86-64-v4, with AES and PCLMUL
  bool avx2 = false;     // x86-64-v3, with AES and PCLMUL
  bool baseline = true;  // every CPU
  // Units beyond them:
  bool avx_vnni = false;
  bool avx512_vnni = false;
  bool avx512_vbmi = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_int8 = false;  // for both AMX units see MayUse
  bool amx_bf16 = false;

  std::size_t l1_data_bytes = std::size_t{32} << 10;  // of one core; the defaults hold if the system doesn't tell
  std::size_t l2_bytes = std::size_t{1} << 20;        // of one core
  std::size_t l3_bytes = std::size_t{8} << 20;        // shared

  int logical_cores = 1;  // usable at once: affinity and cgroup quota (v1 or v2), rounded up
};

// Found on the first call, then constant. Thread-safe.
const CpuInfo& Cpu();

// A level or unit: &CpuInfo::avx512_vnni.
using CpuUnit = bool CpuInfo::*;

// Whether this process may use the unit. For AMX the first call requests the unit from the system: Linux enables the
// tiles only on request, because they add 8 KiB to the saved state of each thread.
bool MayUse(CpuUnit unit);

// Cores that the calling thread may use at this moment (its affinity mask and the quota of its cgroup, rounded up);
// unlike Cpu().logical_cores, which keeps what the first call found.
int AvailableCores();

// Cores granted by the text of a cgroup's cpu.max ("150000 100000" is 2, rounded up), or 0 for no limit or nonsense.
int CoresOfCpuMax(std::string_view text);

// Cores granted by cpu.cfs_quota_us and cpu.cfs_period_us of cgroup v1, or 0 for no limit (quota -1) or nonsense.
int CoresOfCfs(std::string_view quota, std::string_view period);

}  // namespace sardonyx
