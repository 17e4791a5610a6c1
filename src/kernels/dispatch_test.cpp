// kernels/dispatch_test.cpp - which rows of a kernel's table a process may use.
#include "kernels/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sardonyx::kernels {
namespace {

constexpr auto kIsaCount = static_cast<std::size_t>(Isa::baseline) + 1;

TEST(Dispatch, EveryIsaIsFoundByItsName) {
  for (std::size_t i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    EXPECT_EQ(HighestAllowed(std::string(Name(isa)).c_str()), isa);
  }
  EXPECT_EQ(HighestAllowed(nullptr), Isa{});
  EXPECT_EQ(HighestAllowed(""), Isa{});
}

TEST(Dispatch, AnUnknownNameIsReportedAndHasNoEffect) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(HighestAllowed("avx1024"), Isa{});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("SDX_MAX_ISA: expected one of "), std::string::npos) << text;
  EXPECT_NE(text.find("baseline, found 'avx1024'; it has no effect"), std::string::npos) << text;
}

TEST(Dispatch, TheIsasOfThisProcessEndWithTheBaseline) {
  const std::span<const Isa> isas = SupportedIsas();
  EXPECT_EQ(isas.front(), BestIsa());
  EXPECT_EQ(isas.back(), Isa::baseline);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
  for (std::size_t i = 0; i < kIsaCount; ++i)
    EXPECT_EQ(Supported(static_cast<Isa>(i)), std::ranges::count(isas, static_cast<Isa>(i)) == 1);
}

TEST(Dispatch, BestIsTheFirstRowOfThatIsaOrALesserOne) {
  constexpr Variant<int> kRows[] = {{Isa{}, 1}, {Isa::baseline, 2}, {Isa::baseline, 3}};
  EXPECT_EQ(Best(kRows), Supported(Isa{}) ? 1 : 2);
  if (Isa{} != Isa::baseline) {
    EXPECT_EQ(Best(kRows, Isa::baseline), 2);
  }
}

TEST(Dispatch, ARowWithAUnitNeedsThatUnit) {
  for (const CpuUnit unit : {&CpuInfo::avx_vnni, &CpuInfo::avx512_vnni, &CpuInfo::avx512_vbmi, &CpuInfo::avx512_bf16,
                             &CpuInfo::avx512_fp16, &CpuInfo::amx_int8, &CpuInfo::amx_bf16}) {
    const Variant<int> rows[] = {{Isa::baseline, 1, unit}, {Isa::baseline, 2}};
    EXPECT_EQ(Best(rows), MayUse(unit) ? 1 : 2);
    EXPECT_EQ(Runnable(std::span<const Variant<int>>(rows)).size(), MayUse(unit) ? 2 : 1);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
