// kernels/pool/pool_narrow_f32.isa.cpp - pools by narrow windows, one source for every ISA.
#include "kernels/pool/pool_narrow_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

struct Greatest {
  static constexpr float kStart = -__builtin_inff();
  static Vec Join(Vec a, Vec b) { return b != b ? b : Max(b, a); }  // a NaN stays: Max keeps its second operand
};
struct Total {
  static constexpr float kStart = 0;
  static Vec Join(Vec a, Vec b) { return a + b; }
};

template <ptrdiff_t... I>
struct Places {};
template <ptrdiff_t kCount, ptrdiff_t... I>
struct MakePlaces : MakePlaces<kCount - 1, kCount - 1, I...> {};
template <ptrdiff_t... I>
struct MakePlaces<0, I...> {
  using Made = Places<I...>;
};
using Each = typename MakePlaces<kLanes>::Made;

template <ptrdiff_t... I>
Vec Odds(Vec a, Vec b, Places<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
// The vector one element before the second of two neighbours, and one element after the first.
template <ptrdiff_t... I>
Vec OneBefore(Vec a, Vec b, Places<I...>) {
  return __builtin_shufflevector(a, b, (I + kLanes - 1)...);
}
template <ptrdiff_t... I>
Vec OneAfter(Vec a, Vec b, Places<I...>) {
  return __builtin_shufflevector(a, b, (I + 1)...);
}
template <ptrdiff_t... I>
Vec LastAre(Vec v, Vec others, int64_t count, Places<I...>) {  // elements from `count` on
  const IntVec keep = IntVec{static_cast<int>(I)...} < static_cast<int>(count);
  return keep ? v : others;
}

// One output row: the rows from `x` on, `kRows` of them (0: as many as `row_count` says).
template <typename Op, int kRows>
struct Columns {
  const float* x;
  int64_t width, row_count;

  // What the rows give for the columns from `at` on.
  Vec operator()(int64_t at) const {
    const Vec start = Broadcast(Op::kStart);
    if (at >= width || row_count == 0) return start;
    const float* from = x + at;
    const int64_t count = kRows == 0 ? row_count : kRows;
    if (at + kLanes <= width) {
      Vec v = Load(from);
      for (int64_t r = 1; r < count; ++r) v = Op::Join(v, Load(from + r * width));
      return v;
    }
    const Lanes lanes = FirstLanes(width - at);
    Vec v = Load(from, lanes);
    for (int64_t r = 1; r < count; ++r) v = Op::Join(v, Load(from + r * width, lanes));
    return LastAre(v, start, width - at, Each{});
  }
};

template <typename Op, NarrowWindow kWindow, typename Source>
struct Row {
  const Source& columns;
  // Vectors of columns: the one that is read last, and for the pads in front what came before it.
  Vec next, before;

  explicit Row(const Source& source) : columns(source), next(source(0)), before(Broadcast(Op::kStart)) {}

  // The outputs from `out` on; called for one vector after the other.
  Vec At(int64_t out) {
    if constexpr (kWindow == NarrowWindow::kThreeStride1Pad1) {
      const Vec here = next;
      next = columns(out + kLanes);
      const Vec v = Op::Join(Op::Join(OneBefore(before, here, Each{}), here), OneAfter(here, next, Each{}));
      before = here;
      return v;
    } else {
      const Vec first = next, second = columns(2 * out + kLanes);
      next = columns(2 * out + 2 * kLanes);
      const Vec evens = Evens(first, second), odds = Odds(first, second, Each{});
      if constexpr (kWindow == NarrowWindow::kTwoStride2) {
        return Op::Join(evens, odds);
      } else if constexpr (kWindow == NarrowWindow::kThreeStride2) {
        return Op::Join(Op::Join(evens, odds), OneAfter(evens, next, Each{}));
      } else {
        const Vec v = Op::Join(Op::Join(OneBefore(before, odds, Each{}), evens), odds);
        before = odds;
        return v;
      }
    }
  }
};

template <typename Op, NarrowWindow kWindow, int kRows>
void RunRow(const NarrowPoolRows& p, const float* x, int64_t row_count, float* y, float height_divisor) {
  const Columns<Op, kRows> columns{x, p.in_width, row_count};
  Row<Op, kWindow, Columns<Op, kRows>> row(columns);
  const Vec rows = Broadcast(height_divisor);
  for (int64_t i = 0; i < p.out_width; i += kLanes) {
    Vec v = row.At(i);
    const Lanes lanes = FirstLanes(p.out_width - i);
    if constexpr (Op::kStart == 0) v = v / (Load(p.width_divisors + i, lanes) * rows);
    Store(y + i, v, lanes);
  }
}

template <typename Op, NarrowWindow kWindow>
void RunRows(const NarrowPoolRows& p) {
  int64_t plane = p.first / p.out_height, out = p.first % p.out_height;
  for (int64_t row = p.first; row < p.last; ++row) {
    const int64_t top = out * p.stride_height - p.pad_height;
    const int64_t bottom = top + p.kernel_height < p.in_height ? top + p.kernel_height : p.in_height;
    const int64_t begin = top > 0 ? top : 0, count = bottom > begin ? bottom - begin : 0;
    const float* x = p.x + (plane * p.in_height + begin) * p.in_width;
    float* y = p.y + row * p.out_width;
    const float divisor = Op::kStart == 0 ? p.height_divisors[out] : 1;
    if (count == 3)
      RunRow<Op, kWindow, 3>(p, x, count, y, divisor);
    else if (count == 2)
      RunRow<Op, kWindow, 2>(p, x, count, y, divisor);
    else
      RunRow<Op, kWindow, 0>(p, x, count, y, divisor);
    if (++out == p.out_height) ++plane, out = 0;
  }
}

template <typename Op>
void RunAll(const NarrowPoolRows& p) {
  switch (p.window) {
    case NarrowWindow::kTwoStride2: return RunRows<Op, NarrowWindow::kTwoStride2>(p);
    case NarrowWindow::kThreeStride2: return RunRows<Op, NarrowWindow::kThreeStride2>(p);
    case NarrowWindow::kThreeStride2Pad1: return RunRows<Op, NarrowWindow::kThreeStride2Pad1>(p);
    case NarrowWindow::kThreeStride1Pad1: return RunRows<Op, NarrowWindow::kThreeStride1Pad1>(p);
    case NarrowWindow::kOther: return;
  }
}

}  // namespace

void NarrowMaxPool(const NarrowPoolRows& rows) { RunAll<Greatest>(rows); }
void NarrowAveragePool(const NarrowPoolRows& rows) { RunAll<Total>(rows); }

}  // namespace sardonyx::kernels::SDX_ISA
