// optimizer/derivatives/derivation_test.cpp - the rows of the tables, and the page that lists them. What they compute
// is compared with differences in tests/gradient.
#include "optimizer/derivatives/derivation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "ops/schema/schema.h"

namespace sardonyx::optimizer {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& rows : {ArithmeticDerivatives(), LossDerivatives(), MovementDerivatives(),
                           NormalizationDerivatives(), PoolDerivatives(), ProductDerivatives(), ReductionDerivatives()})
    for (const Derivative& row : rows) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Derivatives, EachRowIsOfAnOperatorAndStandsOnce) {
  const std::vector<std::string> names = Names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names) {
    EXPECT_NE(ops::FindSchema("", name, ops::kNewestVersion), nullptr) << name;
    const Derivative* row = FindDerivative("", name);
    ASSERT_NE(row, nullptr) << name;
    const int ways = (row->derive != nullptr) + !row->same_as.empty() + !row->gradients[0].empty();
    EXPECT_EQ(ways, 1) << name << ": expected expressions, or one for the same as the node, or a function";
  }
  EXPECT_EQ(FindDerivative("com.microsoft", "Add"), nullptr);
  EXPECT_EQ(FindDerivative("", "LSTM"), nullptr);
}

TEST(Derivatives, ThePageListsEveryRow) {
  std::ifstream file(std::string(SDX_SOURCE_DIR) + "/docs/gradients.md");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string page = whole.str(), begin = "src/optimizer/derivatives -->\n";
  const std::size_t from = page.find(begin) + begin.size();
  std::string listed = page.substr(from, page.find("\n<!-- end -->") - from);
  std::replace(listed.begin(), listed.end(), '\n', ' ');
  std::string expected;
  for (const std::string& name : Names()) expected += (expected.empty() ? "" : ", ") + name;
  EXPECT_EQ(listed, expected);
}

}  // namespace
}  // namespace sardonyx::optimizer
