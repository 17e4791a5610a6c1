// base/read_ahead_test.cpp - what workers fetch of what was announced.
#include "base/read_ahead.h"

#include <gtest/gtest.h>

#include <vector>

namespace sardonyx {
namespace {

// All that the reader gives now, and that it is one range, in steps.
std::span<const std::byte> Rest(ReadAhead::Reader& reader) {
  std::span<const std::byte> all = reader.Next();
  for (;;) {
    const std::span<const std::byte> next = reader.Next();
    EXPECT_LE(next.size(), ReadAhead::kStep);
    if (next.empty()) return all;
    EXPECT_EQ(next.data(), all.data() + all.size());
    all = {all.data(), all.size() + next.size()};
  }
}

TEST(ReadAhead, WorkersShareWhatTheCallerLeaves) {
  const std::vector<std::byte> bytes(100000);
  for (const int threads : {2, 3, 7}) {
    ReadAhead ahead;
    ahead.Announce(bytes, threads);
    const std::byte* at = bytes.data() + bytes.size() / static_cast<std::size_t>(threads);
    for (int worker = 0; worker < threads - 1; ++worker) {
      ReadAhead::Reader reader(ahead, worker, bytes.size());
      const std::span<const std::byte> part = Rest(reader);
      EXPECT_EQ(part.data(), at);
      at += part.size();
    }
    EXPECT_EQ(at, bytes.data() + bytes.size());
    ReadAhead::Reader more(ahead, threads - 1, bytes.size());  // a worker that the loop does not want
    EXPECT_TRUE(more.Next().empty());
  }
}

TEST(ReadAhead, AWorkerFetchesTheBeginningOfItsPartOnce) {
  const std::vector<std::byte> bytes(100000), others(3000);
  ReadAhead ahead;
  ReadAhead::Reader reader(ahead, 0, 5000);
  EXPECT_TRUE(reader.Next().empty());
  ahead.Announce(bytes, 2);
  EXPECT_EQ(reader.Next().size(), ReadAhead::kStep);
  const std::span<const std::byte> rest = Rest(reader);
  EXPECT_EQ(rest.data() + rest.size(), bytes.data() + 50000 + 5000);
  EXPECT_TRUE(reader.Next().empty());
  ahead.Announce(bytes, 2);
  EXPECT_EQ(Rest(reader).size(), 5000u);
  ahead.Announce(bytes, 2);
  static_cast<void>(reader.Next());
  ahead.Announce(others, 2);  // the last announcement counts
  const std::span<const std::byte> last = Rest(reader);
  EXPECT_EQ(last.data(), others.data() + 1500);
  EXPECT_EQ(last.size(), 1500u);
}

TEST(ReadAhead, LittleBytesAndNoThreadsAreNoTrouble) {
  ReadAhead ahead;
  for (const std::size_t size : {0, 1, 2, 3}) {
    const std::vector<std::byte> bytes(size);
    for (const int threads : {0, 1, 2, 5}) {
      ahead.Announce(bytes, threads);
      std::size_t found = 0;
      for (int worker = 0; worker < 5; ++worker) {
        ReadAhead::Reader reader(ahead, worker, 64);
        found += Rest(reader).size();
      }
      EXPECT_LE(found, size);
    }
  }
}

TEST(ReadAhead, MemoryThatIsGoneMayBeFetched) {
  Prefetch({reinterpret_cast<const std::byte*>(std::uintptr_t{64}), 4096});
  Prefetch({reinterpret_cast<const std::byte*>(~std::uintptr_t{0} - 8191), 8191});
  Prefetch({});
}

}  // namespace
}  // namespace sardonyx
