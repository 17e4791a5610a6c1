// runtime/config_keys_test.cpp - compares docs/config_keys.md with the table. SDX_UPDATE=1 in the environment renews
// the page.
#include "runtime/config_keys.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "testing/generated_page.h"

namespace sardonyx::runtime {
namespace {

constexpr const char* kHead = R"(# Configuration entries

This page is generated from `src/runtime/config_keys.cpp`; `SDX_UPDATE=1 build/release/bin/unit_tests
--gtest_filter='ConfigKeys*'` renews it.

An entry is a key with a value. It belongs to a session (`AddSessionConfigEntry`, in Python `add_session_config_entry`),
to a run (`AddRunConfigEntry`, `add_run_config_entry`) or to an environment (`CreateEnvWithOptions`). This page lists
all entries that ONNX Runtime 1.31 knows, and those of Sardonyx. If an entry is not honoured, one warning says what
Sardonyx does instead, unless the value asks for just that. `tests/python/test_config_keys.py` sets every entry and
checks its effect or its warning.

Three options of a session are not entries, but similar: `enable_cpu_mem_arena = False` (`DisableCpuMemArena`) frees the
memory of a run when it ends. `enable_mem_pattern = False` (`DisableMemPattern`) has no effect, and a warning says so:
memory is always planned, once for each set of shapes. `use_deterministic_compute` (`SetDeterministicCompute`) does what
the entry `session.use_deterministic_compute` does.
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
  rows(KeyFate::kRead, "| honoured | what it does |");
  rows(KeyFate::kAlways, "| always fulfilled | what Sardonyx does in any case |");
  rows(KeyFate::kIgnored, "| not honoured | what Sardonyx does instead |");
}

TEST(ConfigKeys, ThePageSaysWhatTheTableSays) {
  std::ostringstream page;
  page << kHead;
  AddTable(page, "Entries of a session", SessionKeys());
  AddTable(page, "Entries of a run", RunKeys());
  AddTable(page, "Entries of an environment", EnvironmentKeys());
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
  EXPECT_NE(said[0].find("'session.disable_prepacking' is not honoured by Sardonyx: the CPU packs weights"),
            std::string::npos)
      << said[0];
  ASSERT_EQ(warn("ep.cuda.fpa_intb_gemm", "1").size(), 1u);
  ASSERT_EQ(warn("session.disable_quant_qdk", "1").size(), 1u);
  EXPECT_NE(said[0].find("did you mean 'session.disable_quant_qdq'"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace sardonyx::runtime
