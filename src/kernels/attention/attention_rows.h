// kernels/attention/attention_rows.h - the row kernels of attention, one set per ISA: softmax of a block of scores, and
// scores and sums of values for few queries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// The scores of one query against a block of keys, and what is known of the query's softmax so far. Exponentials are
// powers of two: `top` is the maximum times log2(e).
struct ScoreRow {
  float* x = nullptr;      // [count] scores; the memory reaches to the next whole pair of vectors
  std::int64_t count = 0;  // at most kKeyBlock
  std::int64_t first = 0;  // visible are [first, end); the others become -inf, then 0
  std::int64_t end = 0;
  const float* bias[2] = {nullptr, nullptr};  // [count], added
  float top = 0;                              // before the first block: -inf, or a sink
  float sum = 0;                              // of the exponentials e^(x - top); with a sink 1
  float keep = 1;                             // what earlier blocks' results are multiplied with
};

inline constexpr float kFarScore = 10000;        // from here on differences of scores are taken before the factor
inline constexpr std::int64_t kKeyBlock = 512;   // keys of one block
inline constexpr std::int64_t kFewQueries = 16;  // at most so many rows take the path without packing
inline constexpr std::int64_t kRowGroup = 4;     // rows of one call of few_scores and few_values

struct FewArgs {
  std::int64_t rows = 0;  // 1..kRowGroup
  std::int64_t keys = 0;
  std::int64_t size = 0;
  const float* q = nullptr;  // few_scores: [rows][q_stride] queries; few_values: [rows][q_stride] weights of the keys
  std::ptrdiff_t q_stride = 0;
  const float* kv = nullptr;  // [keys][kv_stride]
  std::ptrdiff_t kv_stride = 0;
  // So many floats further are those that will be read next: they are asked for, where it is not 0. The processor's own
  // prefetching stops at pages, which hold 16 keys of 64 floats.
  std::ptrdiff_t ahead = 0;
  float* y = nullptr;  // few_scores: [rows][y_stride] over keys; few_values: [rows][y_stride] over size
  std::ptrdiff_t y_stride = 0;
};

struct AttentionRowsSet {
  Isa isa;
  // x = cap * tanh(x / cap)
  void (*cap)(float* x, std::int64_t count, float cap);
  // Adds the biases, masks, and raises `top`; sets `keep`. x stays scores.
  void (*bias)(ScoreRow* row);
  // x = e^(x - top), masked ones 0; the sum is updated.
  void (*exponentials)(ScoreRow* row);
  // e^(a - b) for two values of `top`, neither infinite, rounded as `exponentials` rounds them
  float (*ratio)(float a, float b);
  // y[i] = x[i] * factor, i < n; y may be x
  void (*scale)(const float* x, std::int64_t n, float factor, float* y);
  // y[r][j] = q[r] . kv[j]
  void (*few_scores)(const FewArgs& args);
  // y[r] += sum over keys j of q[r][j] * kv[j]
  void (*few_values)(const FewArgs& args);
};

#define SDX_DECLARE(isa)                        \
  namespace isa {                               \
  const AttentionRowsSet& AttentionRowsOfIsa(); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const AttentionRowsSet& AttentionRows(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
