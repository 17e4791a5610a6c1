// planner/updates.cpp - which of the CPU's kernels write a cache where it lies.
#include "planner/updates.h"

#include <string_view>

namespace sardonyx::planner {
namespace {

constexpr Update kGroupQuery[] = {{3, 1}, {4, 2}};  // past_key and present_key, past_value and present_value
constexpr Update kMultiHead[] = {{6, 1}, {7, 2}};
constexpr Update kDecoderMasked[] = {{5, 1}, {6, 2}};
constexpr Update kPaged[] = {{3, 1}, {4, 2}};  // key_cache and value_cache
constexpr Update kScattered[] = {{0, 0}};      // past_cache and present_cache

struct Row {
  std::string_view domain, name;
  std::span<const Update> updates;
};
constexpr Row kRows[] = {
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", kDecoderMasked},
    {"com.microsoft", "GroupQueryAttention", kGroupQuery},
    {"com.microsoft", "MultiHeadAttention", kMultiHead},
    {"com.microsoft", "PagedAttention", kPaged},
    {"", "TensorScatter", kScattered},
};

}  // namespace

std::span<const Update> UpdatesOf(const ops::OpDef& op) {
  for (const Row& row : kRows)
    if (op.name == row.name && op.domain == row.domain) return row.updates;
  return {};
}

}  // namespace sardonyx::planner
