// ops/own_domain_test.cpp - docs/saved_models.md names every operator that a saved file may have beyond those of ONNX
// and ONNX Runtime, every activation, and every function of FusedElementwise.
#include "ops/own_domain.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>

#include "ops/channels_last.h"
#include "ops/fused_elementwise.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

std::string Page() {
  std::ifstream file(std::string(SDX_SOURCE_DIR) + "/docs/saved_models.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The word by itself.
bool Has(const std::string& text, std::string_view word) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!inside(text[at - 1]) && !inside(text[at + word.size()])) return true;
  return false;
}

TEST(OwnDomain, ThePageNamesEveryOperator) {
  const std::string page = Page();
  const std::string own = page.substr(0, page.find("## com.ms.internal.nhwc"));
  const std::string last = page.substr(own.size());
  const Registry registry;
  int count = 0;
  for (const OpDef* op : registry.All()) {
    if (op->domain != kOwnDomain && op->domain != kChannelsLastDomain) continue;
    ++count;
    EXPECT_TRUE(Has(op->domain == kOwnDomain ? own : last, op->name)) << op->domain << "." << op->name;
  }
  EXPECT_GE(count, 10);
  for (const std::string_view step : TapeFunctions()) EXPECT_TRUE(Has(own, step)) << step;
  EXPECT_FALSE(Has(page, "FusedNothing"));
}

}  // namespace
}  // namespace sardonyx::ops
