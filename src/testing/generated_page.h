// testing/generated_page.h - compares pages of docs/ that are generated from tables in the code with these tables.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace sardonyx::testing {

// Fails unless the file `page` of the source tree (`source_dir`) holds exactly `want`. With SDX_UPDATE=1 in the
// environment the file is written instead.
inline void ExpectPage(const std::string& source_dir, const std::string& page, const std::string& want) {
  const std::string path = source_dir + "/" + page;
  if (std::getenv("SDX_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << want;
    return;
  }
  std::ostringstream found;
  found << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_TRUE(found.str() == want) << page << " differs from the tables it is generated from; SDX_UPDATE=1 renews it";
}

}  // namespace sardonyx::testing
