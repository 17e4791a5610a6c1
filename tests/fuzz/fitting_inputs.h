// tests/fuzz/fitting_inputs.h - values that fit the declared inputs of a session, with hostile contents for indices.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"

namespace sardonyx::fuzz {

// A name and a value for each input. Symbols of one name get one number.
std::vector<std::pair<std::string, Value>> FittingInputs(const runtime::Session& session, std::uint32_t seed);

// Elements of `dtype`: mostly small numbers, now and then an extreme one.
Tensor RandomTensor(std::mt19937& random, DType dtype, const Shape& shape);

}  // namespace sardonyx::fuzz
