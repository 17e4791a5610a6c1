// kernels/recurrent/cell_f32.isa.cpp - LSTM and GRU steps, one source for every ISA.
#include "kernels/recurrent/cell_f32.h"

#include "kernels/simd/math_several_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Two vectors of units are computed together, and so is a block's rest, with lanes that nobody reads: whatever units a
// thread has, the same operations compute them, and their bits are the same.
constexpr int kTogether = 2;
using Units = Several<kTogether>;

// Which lanes of the vectors are units: all of them, or some.
struct AllLanes {};
struct SomeLanes {
  Lanes of[kTogether];
};

// Calls step(first, units, i, lanes) for each group of vectors: those of the block that begins with unit `first`, from
// its unit i on.
template <typename Step>
[[gnu::always_inline]] inline void ForEachGroup(int64_t n, int64_t block, Step step) {
  for (int64_t first = 0; first < n; first += block) {
    const int64_t units = n - first < block ? n - first : block;
    int64_t i = 0;
    for (; i + kTogether * kLanes <= units; i += kTogether * kLanes) step(first, units, i, AllLanes{});
    if (i < units) step(first, units, i, SomeLanes{FirstLanes(units - i), FirstLanes(units - i - kLanes)});
  }
}

template <typename F>
[[gnu::always_inline]] inline Units Each(F f) {
  return ForEach<kTogether>(f);
}
[[gnu::always_inline]] inline Units LoadUnits(const float* p, AllLanes) {
  return Each([&](int k) { return Load(p + k * kLanes); });
}
[[gnu::always_inline]] inline Units LoadUnits(const float* p, const SomeLanes& l) {
  return Each([&](int k) { return Load(p + k * kLanes, l.of[k]); });
}
template <typename L>
[[gnu::always_inline]] inline Units SumOf(const float* a, const float* b, const L& l) {
  const Units x = LoadUnits(a, l), y = LoadUnits(b, l);
  return Each([&](int k) { return x.v[k] + y.v[k]; });
}
[[gnu::always_inline]] inline void StoreUnits(float* p, const Units& x, AllLanes) {
  for (int k = 0; k < kTogether; ++k) Store(p + k * kLanes, x.v[k]);
}
[[gnu::always_inline]] inline void StoreUnits(float* p, const Units& x, const SomeLanes& l) {
  for (int k = 0; k < kTogether; ++k) Store(p + k * kLanes, x.v[k], l.of[k]);
}

[[gnu::always_inline]] inline Units Sigmoid(const Units& x) { return ValueOf(SigmoidRatio(x)); }
[[gnu::always_inline]] inline Units Tanh(const Units& x) { return ValueOf(TanhRatio(x)); }

// MulAdd says which of two products is rounded.
[[gnu::always_inline]] inline Units NewState(const Units& update, const Units& candidate, const Units& old) {
  return Each([&](int k) { return MulAdd(update.v[k], old.v[k], (Broadcast(1) - update.v[k]) * candidate.v[k]); });
}

}  // namespace

void LstmCell(int64_t n, int64_t block, const float* gates, const float* recurrent, float* c, float* h) {
  ForEachGroup(n, block, [=](int64_t first, int64_t units, int64_t i, const auto& l) {
    const auto gate = [&](int64_t g) {
      const int64_t at = 4 * first + g * units + i;
      return SumOf(gates + at, recurrent + at, l);
    };
    const Units forget = Sigmoid(gate(2));
    const Units fresh = ProductOf(SigmoidRatio(gate(0)), TanhRatio(gate(3)));
    const Units old = LoadUnits(c + first + i, l);
    const Units state = Each([&](int k) { return MulAdd(forget.v[k], old.v[k], fresh.v[k]); });
    StoreUnits(c + first + i, state, l);
    StoreUnits(h + first + i, ProductOf(SigmoidRatio(gate(1)), TanhRatio(state)), l);
  });
}

void GruCell(int64_t n, int64_t block, const float* gates, const float* recurrent, const float* bias, const float* old,
             float* h) {
  ForEachGroup(n, block, [=](int64_t first, int64_t units, int64_t i, const auto& l) {
    const int64_t at = 3 * first + i, candidate = at + 2 * units;
    const Units update = Sigmoid(SumOf(gates + at, recurrent + at, l));
    const Units reset = Sigmoid(SumOf(gates + at + units, recurrent + at + units, l));
    Units part = LoadUnits(recurrent + candidate, l);
    if (bias != nullptr) part = SumOf(recurrent + candidate, bias + first + i, l);
    const Units x = LoadUnits(gates + candidate, l);
    const Units fresh = Tanh(Each([&](int k) { return MulAdd(reset.v[k], part.v[k], x.v[k]); }));
    StoreUnits(h + first + i, NewState(update, fresh, LoadUnits(old + first + i, l)), l);
  });
}

void GruGates(int64_t n, int64_t block, float* gates, const float* recurrent, const float* h, float* reset_hidden) {
  ForEachGroup(n, block, [=](int64_t first, int64_t units, int64_t i, const auto& l) {
    float* update = gates + 3 * first + i;
    const float* product = recurrent + 2 * first + i;
    StoreUnits(update, Sigmoid(SumOf(update, product, l)), l);
    const Units reset = Sigmoid(SumOf(update + units, product + units, l)), old = LoadUnits(h + first + i, l);
    StoreUnits(reset_hidden + first + i, Each([&](int k) { return reset.v[k] * old.v[k]; }), l);
  });
}

void GruState(int64_t n, int64_t block, const float* gates, const float* product, const float* old, float* h) {
  ForEachGroup(n, block, [=](int64_t first, int64_t units, int64_t i, const auto& l) {
    const Units update = LoadUnits(gates + 3 * first + i, l);
    const Units fresh = Tanh(SumOf(gates + 3 * first + 2 * units + i, product + first + i, l));
    StoreUnits(h + first + i, NewState(update, fresh, LoadUnits(old + first + i, l)), l);
  });
}

}  // namespace sardonyx::kernels::SDX_ISA
