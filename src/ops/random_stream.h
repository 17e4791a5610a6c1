// ops/random_stream.h - the random numbers of a node: a seed always gives the same numbers, on any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>

#include "ops/node_view.h"

namespace sardonyx::ops {

// Mersenne Twister 19937, read as NumPy's RandomState reads it, so that a node with a seed gives ONNX's reference
// numbers in its first run. Every further run of the node gives others.
class RandomStream {
 public:
  explicit RandomStream(std::uint32_t seed) : engine_(seed) {}
  // In [0, 1), 53 bits.
  double Uniform() {
    const std::uint32_t high = static_cast<std::uint32_t>(engine_()) >> 5,
                        low = static_cast<std::uint32_t>(engine_()) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  // Mean 0, deviation 1 (Marsaglia's polar method, two at a time).
  double Normal();

 private:
  std::mt19937 engine_;
  bool has_saved_ = false;
  double saved_ = 0;
};

// Where the streams of a node's runs begin. Its counter is the one thing of a prepared node that a run changes.
class RandomSeed {
 public:
  // Attribute `seed` (float or int) if the node has one, else a seed of its own.
  static std::shared_ptr<const RandomSeed> Of(const AttributeReader& c);
  explicit RandomSeed(std::uint32_t seed) : seed_(seed) {}
  RandomStream NextRun() const;

 private:
  std::uint32_t seed_;
  mutable std::atomic<std::uint32_t> runs_{0};
};

}  // namespace sardonyx::ops
