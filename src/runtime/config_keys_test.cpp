// runtime/config_keys_test.cpp - docs/config_keys.md agrees with the table. SDX_UPDATE=1 in the environment updates the
// page.
#include "runtime/config_keys.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "testing/generated_page.h"

namespace sardonyx::runtime {
namespace {

constexpr const char* kHead = R"(# Configuration entries

This page is generated from `src/runtime/config_keys.cpp`; `SDX_UPDATE=1 build/release/bin/unit_tests
--gtest_filter='ConfigKeys*'` renews it. `tests/python/test_config_keys.py` sets every entry that ONNX Runtime 1.31 knows:
one that is read, or whose wish is always met, has the effect that stands here; any other one is warned of once.

Two options of sessions are no entries: `enable_cpu_mem_arena = False` (`DisableCpuMemArena`) gives a run's memory back
when it ends, and `enable_mem_pattern = False` (`DisableMemPattern`) changes nothing, which a warning says: memory is
planned for each shape. `use_deterministic_compute` needs no switch: results have the same bits in every run and for every
number of threads.
)";

void AddTable(std::ostream& out, const char* title, std::span<const ConfigKey> keys) {
  out << "\n## " << title << "\n";
  const auto rows = [&](KeyFate fate, const char* head) {
    bool any = false;
    for (const ConfigKey& key : keys) {
      if (key.fate != fate) continue;
      if (!any) out << "\n" << head << "\n|---|---|\n";
      any = true;
      out << "| `" << key.name << (key.name.ends_with('.') ? "*" : "") << "` | " << key.text << " |\n";
    }
  };
  rows(KeyFate::kRead, "| read | what it does |");
  rows(KeyFate::kAlways, "| always met | what holds |");
  rows(KeyFate::kIgnored, "| not honoured | what holds instead |");
}

TEST(ConfigKeys, ThePageSaysWhatTheTableSays) {
  std::ostringstream page;
  page << kHead;
  AddTable(page, "Of a session", SessionKeys());
  AddTable(page, "Of a run", RunKeys());
  AddTable(page, "Of an environment", EnvironmentKeys());
  testing::ExpectPage(SDX_SOURCE_DIR, "docs/config_keys.md", page.str());
}

TEST(ConfigKeys, StandOnce) {
  for (const auto keys : {SessionKeys(), RunKeys(), EnvironmentKeys()}) {
    std::set<std::string_view> names;
    for (const ConfigKey& key : keys) {
      EXPECT_TRUE(names.insert(key.name).second) << key.name;
      EXPECT_FALSE(key.text.empty()) << key.name;
      EXPECT_TRUE(key.fate == KeyFate::kIgnored || key.as_is.empty()) << key.name;
    }
  }
}

TEST(ConfigKeys, OneWarningSaysWhatHoldsInsteadOrTheClosestName) {
  std::vector<std::string> said;
  const Logger logger(
      [&](Severity, const char*, const char*, const char*, const char* text) { said.emplace_back(text); }, "",
      Severity::kWarning);
  const auto warn = [&](const char* key, const char* value) {
    said.clear();
    WarnOfKey(logger, "session", key, value, SessionKeys());
    return said;
  };
  EXPECT_TRUE(warn("session.disable_prepacking", "0").empty()) << "that is so anyway";
  EXPECT_TRUE(warn("session.disable_quant_qdq", "1").empty());
  ASSERT_EQ(warn("session.disable_prepacking", "1").size(), 1u);
  EXPECT_NE(said[0].find("'session.disable_prepacking' is not honoured by Sardonyx: weights are packed"),
            std::string::npos)
      << said[0];
  ASSERT_EQ(warn("ep.cuda.fpa_intb_gemm", "1").size(), 1u);
  ASSERT_EQ(warn("session.disable_quant_qdk", "1").size(), 1u);
  EXPECT_NE(said[0].find("did you mean 'session.disable_quant_qdq'"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace sardonyx::runtime
