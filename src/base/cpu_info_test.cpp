// base/cpu_info_test.cpp - CPU quotas are parsed, and what is found on this machine is plausible.
#include "base/cpu_info.h"

#include <gtest/gtest.h>

#include <thread>

namespace sardonyx {
namespace {

TEST(CpuInfo, QuotasRoundUpToWholeCores) {
  EXPECT_EQ(CoresOfCpuMax("200000 100000"), 2);
  EXPECT_EQ(CoresOfCpuMax("150000 100000"), 2);
  EXPECT_EQ(CoresOfCpuMax("50000 100000"), 1);
  EXPECT_EQ(CoresOfCfs("300001", "100000"), 4);
}

TEST(CpuInfo, NoLimitAndNonsenseAreZero) {
  EXPECT_EQ(CoresOfCpuMax("max 100000"), 0);
  EXPECT_EQ(CoresOfCpuMax(""), 0);
  EXPECT_EQ(CoresOfCpuMax("100000"), 0);
  EXPECT_EQ(CoresOfCpuMax("100000 0"), 0);
  EXPECT_EQ(CoresOfCfs("-1", "100000"), 0);
}

TEST(CpuInfo, AUnitMayBeUsedWhereTheCpuHasItAndTilesOnRequest) {
  for (const CpuUnit unit :
       {&CpuInfo::avx512, &CpuInfo::avx2, &CpuInfo::baseline, &CpuInfo::avx_vnni, &CpuInfo::avx512_vnni,
        &CpuInfo::avx512_vbmi, &CpuInfo::avx512_bf16, &CpuInfo::avx512_fp16})
    EXPECT_EQ(MayUse(unit), Cpu().*unit);
  for (const CpuUnit unit : {&CpuInfo::amx_int8, &CpuInfo::amx_bf16}) {
    if (!(Cpu().*unit)) {
      EXPECT_FALSE(MayUse(unit));
    }
  }
}

TEST(CpuInfo, FindsAtLeastOneCoreAndSensibleCaches) {
  const CpuInfo& cpu = Cpu();
  EXPECT_GE(cpu.logical_cores, 1);
  EXPECT_LE(cpu.logical_cores, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  EXPECT_GE(cpu.l1_data_bytes, std::size_t{8} << 10);
  EXPECT_GE(cpu.l2_bytes, cpu.l1_data_bytes);
#if defined(__x86_64__)
  EXPECT_EQ(cpu.avx512_vnni, __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(cpu.avx512_vbmi, __builtin_cpu_supports("avx512vbmi") != 0);
#endif
}

}  // namespace
}  // namespace sardonyx
