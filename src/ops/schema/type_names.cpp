// ops/schema/type_names.cpp - reads the names of types from a schema.
#include "ops/schema/type_names.h"

#include <algorithm>

namespace sardonyx::ops {

std::map<std::string, std::vector<TypeArgument>> TypeNamesOf(const OpSchema& schema) {
  std::map<std::string, std::vector<TypeArgument>> names;
  for (const bool is_output : {false, true}) {
    std::uint32_t index = 0;
    for (const FormalParam& param : is_output ? schema.outputs() : schema.inputs())
      names[std::string(param.constraint >= 0 ? param.type() : param.name())].push_back({is_output, index++});
  }
  return names;
}

std::vector<std::int32_t> InputCounts(const OpSchema& schema, std::size_t inputs) {
  std::vector<std::int32_t> counts;
  auto left = static_cast<std::int32_t>(inputs);
  for (std::size_t i = 0; i < schema.inputs().size(); ++i) {
    const bool is_last = i + 1 == schema.inputs().size();
    counts.push_back(is_last ? left : std::min(left, 1));
    left -= counts.back();
  }
  return counts;
}

}  // namespace sardonyx::ops
