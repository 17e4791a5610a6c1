// ops/random_stream.cpp - seeds of runs, and normally distributed numbers.
#include "ops/random_stream.h"

#include <bit>
#include <cmath>

namespace sardonyx::ops {

double RandomStream::Normal() {
  if (has_saved_) {
    has_saved_ = false;
    return saved_;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * Uniform() - 1;
    y = 2 * Uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * std::log(square) / square);
  saved_ = scale * x;
  has_saved_ = true;
  return scale * y;
}

std::shared_ptr<const RandomSeed> RandomSeed::Of(const AttributeReader& c) {
  const AttributeValue* value = c.node().FindAttribute("seed");
  if (value == nullptr) return std::make_shared<const RandomSeed>(static_cast<std::uint32_t>(std::random_device{}()));
  if (const auto* number = std::get_if<std::int64_t>(value))
    return std::make_shared<const RandomSeed>(static_cast<std::uint32_t>(*number));
  const float seed = c.Float("seed");
  // A whole number is that seed; any other float is told apart by its bits.
  const bool whole = seed >= 0 && seed < 4294967296.0f && std::floor(seed) == seed;
  return std::make_shared<const RandomSeed>(whole ? static_cast<std::uint32_t>(seed)
                                                  : std::bit_cast<std::uint32_t>(seed));
}

RandomStream RandomSeed::NextRun() const {
  const std::uint32_t run = runs_.fetch_add(1, std::memory_order_relaxed);
  return RandomStream(seed_ + run * 0x9e3779b9u);
}

}  // namespace sardonyx::ops
