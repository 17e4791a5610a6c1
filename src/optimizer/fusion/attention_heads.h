// optimizer/fusion/attention_heads.h - reads the queries, keys and values of attention through their views, through
// what repeats heads for groups of queries, and through caches in front of them.
#pragma once

#include <array>
#include <optional>

#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {

inline constexpr std::size_t kBatch = 0, kHead = 1, kRow = 2, kSize = 3;

// How keys or values lie in a cache.
struct CacheForm {
  std::array<std::size_t, 4> axes = {kBatch, kHead, kRow, kSize};  // what each of its axes is
  bool joined = false;                                             // heads and sizes are one axis, the last one
  DType dtype = DType::kUndefined;

  bool operator==(const CacheForm&) const = default;
  bool IsUsual() const { return axes == CacheForm().axes && !joined; }
  std::size_t RowAxis() const;
};

struct Heads {
  AxisView view;  // axes batch, head, row, size
  AxisView::Plan plan;
  ValueId past = kNoValue, present = kNoValue;  // a cache in front of the rows, and both together
  Dim repeats = Dim(1);                         // query heads that share one of these
  CacheForm form;                               // of past and present
};

inline Dim Size(const Heads& heads, std::size_t axis) { return heads.view.SizeOf(heads.view.axis(axis)); }

// Nothing if the value has no such axes. `swapped`: rows come after elements.
std::optional<Heads> TraceHeads(const Graph& graph, ValueId value, double* scale, bool swapped);

struct AttentionOperands {
  std::optional<Heads> q, k, v;
  double scale = 1;  // that is multiplied into queries or keys

  bool FitTogether() const;
};
// Queries, keys (with rows last) and values (with rows last if `transposed`) of two products. Query heads that share
// one of the keys may have an axis of their own: [batch, key head, head of the group, row, size].
AttentionOperands TraceOperands(const Graph& graph, ValueId queries, ValueId keys, ValueId values, bool transposed);

// Heads of keys and values are as many as those of the queries, are repeated, or are one.
bool FitTogether(const Heads& q, const Heads& k, const Heads& v);

// A source that is Concat(past, new) over the rows, or a Cast of one that holds 16-bit floats: `new` takes its place.
std::optional<Heads> BehindCache(const Graph& graph, const Heads& heads);

// Plans all three as projections write them, unless fewer elements move otherwise.
bool PlanAsProjections(Heads* q, Heads* k, Heads* v);
// Plans [batch, head, row, size].
bool PlanDeep(Heads* heads);

}  // namespace sardonyx::optimizer
