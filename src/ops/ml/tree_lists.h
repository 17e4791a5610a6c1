// ops/ml/tree_lists.h - checks of the attribute lists of tree ensembles, shared by the readers of both spellings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/node_view.h"

namespace sardonyx::ops {

// Indices are 32 bits wide once multiplied by the rows of a block.
constexpr std::int64_t kMostFeatures = std::int64_t{1} << 25;
constexpr std::int64_t kMostTargets = std::int64_t{1} << 24;

// A tensor attribute of any numeric type; empty if missing.
std::vector<double> TensorDoubles(const AttributeReader& c, const std::string& name);
void CheckSize(const AttributeReader& c, std::string_view name, std::size_t found, std::size_t expected);
// `value` if it is in [0, size), else fails naming the attribute.
std::int32_t Checked(const AttributeReader& c, std::string_view name, std::int64_t value, std::int64_t size);
void CheckTargets(const AttributeReader& c, std::int64_t targets);

}  // namespace sardonyx::ops
