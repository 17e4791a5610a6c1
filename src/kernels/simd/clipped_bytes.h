// kernels/simd/clipped_bytes.h - the loops of kernels/gemm/clipped_rows.h, which only CPUs with AVX2 and without VNNI
// need.
#pragma once

#include <cstring>

#include "kernels/gemm/clipped_rows.h"
#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX2__) && !defined(__AVX512F__)

constexpr int64_t kClippedBytes = 32;

// Notes the groups of remainders that are not all 0.
inline void NoteClipped(__m256i remainders, int64_t group, int64_t row, ClippedList* list, bool* is_full) {
  const __m256i is_zero = _mm256_cmpeq_epi32(remainders, _mm256_setzero_si256());
  auto found = ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_zero))) & 0xFF;
  if (found == 0) return;
  if (list->end - list->next < 8) {
    *is_full = true;
    return;
  }
  alignas(32) std::uint32_t values[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(values), remainders);
  for (; found != 0; found &= found - 1) {
    const int i = __builtin_ctz(found);
    *list->next++ = {static_cast<std::uint32_t>((group + i) * kClippedRows + row), values[i]};
  }
}

inline std::uint32_t ClipBytes(const std::uint8_t* x, int64_t n, int64_t group, int64_t row, std::uint8_t* out,
                               ClippedWindow* window) {
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(window->flip));
  const __m256i shift = _mm256_set1_epi8(static_cast<char>(window->shift));
  const std::uint8_t* limits = window->limits != nullptr ? window->limits + 4 * group : nullptr;
  const __m256i zero = _mm256_setzero_si256();
  __m256i sums = zero;
  const auto take = [&](__m256i v, int64_t i) {
    if (limits == nullptr) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), v);
    const __m256i limit = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(limits + i));
    const __m256i highest = _mm256_adds_epu8(shift, limit);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_min_epu8(_mm256_subs_epu8(v, shift), limit));
    const __m256i above = _mm256_subs_epu8(v, highest), below = _mm256_subs_epu8(shift, v);
    const __m256i any = _mm256_or_si256(above, below);
    if (_mm256_testz_si256(any, any) != 0) return;
    NoteClipped(above, group + i / 4, row, &window->above, &window->is_full);
    NoteClipped(below, group + i / 4, row, &window->below, &window->is_full);
  };
  int64_t i = 0;
  for (; i + kClippedBytes <= n; i += kClippedBytes) {
    const __m256i v = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)), flip);
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(v, zero));
    take(v, i);
  }
  if (i < n) {
    alignas(32) std::uint8_t rest[kClippedBytes] = {};
    std::memcpy(rest, x + i, static_cast<std::size_t>(n - i));
    const __m256i index = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                           22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const __m256i inside = _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(n - i)), index);
    const __m256i v = _mm256_xor_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(rest)), flip);
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_and_si256(v, inside), zero));
    take(_mm256_blendv_epi8(shift, v, inside), i);  // the rest becomes 0
  }
  alignas(32) std::uint64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  return static_cast<std::uint32_t>((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
}

template <bool kAdds>
[[gnu::always_inline]] inline void CombineClippedGroup(const ClippedGroup& group, const std::byte* panel,
                                                       std::uint32_t* sums) {
  static_assert(kClippedRows == 4 * kClippedColumns);  // bytes of a group in a panel
  const std::byte* b = panel + (group.where & ~static_cast<std::uint32_t>(kClippedRows - 1));
  std::uint32_t* sum = sums + (group.where & (kClippedRows - 1)) * kClippedColumns;
  const UintVec values = BroadcastInt(group.values);
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < 2; ++v) {
    const UintVec products = DotSmallBytes(UintVec{}, values, LoadInt(b + v * 32));
    const UintVec old = LoadInt(sum + v * kLanes), changed = kAdds ? old + products : old - products;
    std::memcpy(sum + v * kLanes, &changed, sizeof changed);
  }
}

// Several parts of the list in turns: neighbours mostly change the same row, and so would wait for each other.
template <bool kAdds>
void CombineClipped(const ClippedGroup* first, const ClippedGroup* last, const std::byte* panel, std::uint32_t* sums) {
  constexpr ptrdiff_t kParts = 4;
  const ptrdiff_t count = last - first, part = count / kParts;
  for (ptrdiff_t i = 0; i < part; ++i) {
#pragma GCC unroll 4
    for (ptrdiff_t k = 0; k < kParts; ++k) CombineClippedGroup<kAdds>(first[i + k * part], panel, sums);
  }
  for (ptrdiff_t i = kParts * part; i < count; ++i) CombineClippedGroup<kAdds>(first[i], panel, sums);
}

inline void FindClippedLimits(const std::byte* panels, int64_t count, int64_t panel_bytes, int64_t groups,
                              int64_t merged, std::uint8_t* limits) {
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi8(1);
  for (int64_t g = 0; g < groups; g += merged) {
    const int64_t together = merged < groups - g ? merged : groups - g;
    __m256i largest = zero;  // of values 0 and 1, and 2 and 3, of each column
    for (int64_t p = 0; p < count; ++p)
      for (int64_t v = 0; v < 2; ++v) {
        __m256i sum_above = zero, sum_below = zero;
        for (int64_t i = 0; i < together; ++i) {
          const std::byte* from = panels + p * panel_bytes + (2 * (g + i) + v) * kClippedBytes;
          const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
          const __m256i above = _mm256_max_epi8(w, zero), below = _mm256_sub_epi8(zero, _mm256_min_epi8(w, zero));
          sum_above = _mm256_add_epi16(sum_above, _mm256_maddubs_epi16(above, one));
          sum_below = _mm256_add_epi16(sum_below, _mm256_maddubs_epi16(below, one));
        }
        largest = _mm256_max_epi16(largest, _mm256_max_epi16(sum_above, sum_below));
      }
    alignas(32) std::int16_t lanes[16];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), largest);
    for (int pair = 0; pair < 2; ++pair) {
      int sum = 0;
      for (int i = pair; i < 16; i += 2) sum = lanes[i] > sum ? lanes[i] : sum;
      for (int64_t i = 0; i < together; ++i)
        limits[4 * (g + i) + 2 * pair] = limits[4 * (g + i) + 2 * pair + 1] =
            static_cast<std::uint8_t>(sum <= 128 ? 255 : 32767 / sum);
    }
  }
}

constexpr ClippedRowsSet kClippedLoops = {ClipBytes, CombineClipped<true>, CombineClipped<false>, FindClippedLimits};

#else

constexpr ClippedRowsSet kClippedLoops = {};

#endif

}  // namespace sardonyx::kernels::SDX_ISA
