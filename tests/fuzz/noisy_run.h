// tests/fuzz/noisy_run.h - a graph node by node with every value disturbed: what roundings may do to its outputs.
#pragma once

#include <random>
#include <vector>

#include "fuzz/random_graph.h"

namespace sardonyx::fuzz {

// The elements a rounding error of their type or so off (float, float16, bfloat16; others stay). NaN, infinities and
// zeros stay what they are, with their signs, and a number stays a number with its sign.
Tensor Disturbed(const Tensor& tensor, std::mt19937& random);

// The results of the graph with inputs, constants and results of nodes disturbed; `seed` says how. Where operators of
// oracle_exceptions.h leave an element undecided, it takes one of its values:
// - a zero that is a sum has either sign;
// - where the terms of a sum can overflow, the sum is a number, NaN or an infinity, and so is a product of many
// factors;
// - what overflows in float16 or as a square becomes the largest number instead now and then: fused chains and
//   normalizations are computed in wider types;
// - where docs/optimizer.md says that fused attention, a fused GELU or Winograd's algorithm differ, both happen;
// - Equal decides either way between numbers that lie close to each other.
std::vector<Value> RunWithNoise(const RandomGraph& graph, const ops::Registry& registry, unsigned seed);

}  // namespace sardonyx::fuzz
