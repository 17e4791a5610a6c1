// base/cpu_info.cpp - reads CPUID, the affinity mask, cgroups and cache sizes.
#include "base/cpu_info.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sardonyx {
namespace {

#if defined(__x86_64__)
// The register states that the operating system saves: bit 5..7 for AVX-512, 17 and 18 for AMX.
std::uint64_t EnabledStates() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 27)) == 0) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

void FindLevels(CpuInfo* info) {
  info->avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("aes") &&
               __builtin_cpu_supports("pclmul");
  info->avx512 = info->avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
}

void FindUnits(CpuInfo* info) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const std::uint64_t states = EnabledStates();
  const bool avx = (states & 0x6) == 0x6, avx512 = (states & 0xE6) == 0xE6, amx = (states & 0x60000) == 0x60000;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return;
  std::memcpy(info->vendor, &b, 4);
  std::memcpy(info->vendor + 4, &d, 4);
  std::memcpy(info->vendor + 8, &c, 4);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
  const bool avx512f = avx512 && (b & (1u << 16)) != 0;
  info->avx512_vnni = avx512f && (c & (1u << 11)) != 0;
  info->avx512_vbmi = avx512f && (c & (1u << 1)) != 0;
  info->avx512_fp16 = avx512f && (d & (1u << 23)) != 0;
  const bool amx_tile = amx && (d & (1u << 24)) != 0;
  info->amx_bf16 = amx_tile && (d & (1u << 22)) != 0;
  info->amx_int8 = amx_tile && (d & (1u << 25)) != 0;
  if (a < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return;
  info->avx_vnni = avx && (a & (1u << 4)) != 0;
  info->avx512_bf16 = avx512f && (a & (1u << 5)) != 0;
}
#else
void FindLevels(CpuInfo* /*info*/) {}
void FindUnits(CpuInfo* /*info*/) {}
#endif

bool AskForTiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kRequestState = 0x1023,
                 kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA of Linux's asm/prctl.h
  return syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
#else
  return false;
#endif
}

#if defined(__linux__)
void FindCaches(CpuInfo* info) {
  const auto set = [](int name, std::size_t* bytes) {
    const long found = sysconf(name);
    if (found > 0) *bytes = static_cast<std::size_t>(found);
  };
  set(_SC_LEVEL1_DCACHE_SIZE, &info->l1_data_bytes);
  set(_SC_LEVEL2_CACHE_SIZE, &info->l2_bytes);
  set(_SC_LEVEL3_CACHE_SIZE, &info->l3_bytes);
}

int AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return CPU_COUNT(&set);
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The tightest quota of a cgroup and its ancestors; in a container the mount itself may be the cgroup.
template <typename Read>
int TightestQuota(std::string path, Read read) {
  int tightest = 0;
  for (;;) {
    const int cores = read(path);
    if (cores > 0 && (tightest == 0 || cores < tightest)) tightest = cores;
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return tightest;
    path.resize(slash);
  }
}

int CgroupCores() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  int tightest = 0;
  while (std::getline(file, line)) {  // hierarchy:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    int cores = 0;
    if (controllers.empty()) {
      cores = TightestQuota(
          path, [](const std::string& p) { return CoresOfCpuMax(FirstLine("/sys/fs/cgroup" + p + "/cpu.max")); });
    } else if ((',' + controllers + ',').find(",cpu,") != std::string::npos) {
      cores = TightestQuota(path, [](const std::string& p) {
        const std::string base = "/sys/fs/cgroup/cpu" + p;
        return CoresOfCfs(FirstLine(base + "/cpu.cfs_quota_us"), FirstLine(base + "/cpu.cfs_period_us"));
      });
    }
    if (cores > 0 && (tightest == 0 || cores < tightest)) tightest = cores;
  }
  return tightest;
}
#else
void FindCaches(CpuInfo* /*info*/) {}
int AffinityCores() { return 0; }
int CgroupCores() { return 0; }
#endif

std::int64_t ToNumber(std::string_view text) {  // -1 if it is none
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : -1;
}

CpuInfo Find() {
  CpuInfo info;
  FindLevels(&info);
  FindUnits(&info);
  FindCaches(&info);
  info.logical_cores = AvailableCores();
  return info;
}

}  // namespace

int CoresOfCfs(std::string_view quota, std::string_view period) {
  const std::int64_t q = ToNumber(quota), p = ToNumber(period);
  if (q <= 0 || p <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((q - 1) / p + 1, 1 << 20));
}

int CoresOfCpuMax(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return 0;
  return CoresOfCfs(text.substr(0, space), text.substr(space + 1));
}

int AvailableCores() {
  int cores = AffinityCores();
  if (cores <= 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  const int quota = CgroupCores();
  if (quota > 0) cores = std::min(cores, quota);
  return std::max(cores, 1);
}

const CpuInfo& Cpu() {
  static const CpuInfo info = Find();
  return info;
}

bool MayUse(CpuUnit unit) {
  if (!(Cpu().*unit)) return false;
  if (unit != &CpuInfo::amx_int8 && unit != &CpuInfo::amx_bf16) return true;
  static const bool granted = AskForTiles();
  return granted;
}

}  // namespace sardonyx
