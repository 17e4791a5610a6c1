// kernels/copy/strided_copy.cpp - the strided copy: loops are merged, then one of three inner loops moves the elements.
#include "kernels/copy/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/copy/storage.h"
#include "kernels/copy/stream.h"
#include "kernels/copy/transpose.h"
#include "kernels/gemm/tile_f32.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

constexpr std::int64_t kBytesPerTask = 64 * 1024;
constexpr std::int64_t kStreamedRun = 512;  // elements: shorter runs have too many parts of lines

// A number that may lie at any address: short contiguous runs are moved as one larger element.
template <typename T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

// Joins loops that step through both layouts as one.
void MergeLoops(StridedLoops& l) {
  int last = 0;
  for (int d = 1; d < l.rank; ++d) {
    if (l.from[last] == l.from[d] * l.size[d] && l.to[last] == l.to[d] * l.size[d]) {
      l.size[last] *= l.size[d];
    } else {
      ++last;
      l.size[last] = l.size[d];
    }
    l.from[last] = l.from[d];
    l.to[last] = l.to[d];
  }
  if (l.rank > 0) l.rank = last + 1;
}

// Makes a short innermost contiguous run one element of 2 to 16 bytes; returns the element's bytes.
std::int64_t WidenElement(StridedLoops& l, std::int64_t bytes, std::int64_t& from_offset, std::int64_t& to_offset) {
  if (l.rank < 2) return bytes;
  const int inner = l.rank - 1;
  const std::int64_t n = l.size[inner];
  if (l.from[inner] != 1 || l.to[inner] != 1 || n * bytes > 16 || (n & (n - 1)) != 0) return bytes;
  if (from_offset % n != 0 || to_offset % n != 0) return bytes;
  for (int d = 0; d < inner; ++d)
    if (l.from[d] % n != 0 || l.to[d] % n != 0) return bytes;
  for (int d = 0; d < inner; ++d) {
    l.from[d] /= n;
    l.to[d] /= n;
  }
  from_offset /= n;
  to_offset /= n;
  --l.rank;
  return bytes * n;
}

// Walks the outer loops [0, rank) from iteration `begin`, keeping both offsets.
struct Odometer {
  const StridedLoops& loops;
  int rank;
  std::int64_t index[StridedLoops::kMaxRank];
  std::int64_t from = 0, to = 0;

  Odometer(const StridedLoops& l, int outer_rank, std::int64_t begin) : loops(l), rank(outer_rank) {
    for (int d = rank - 1; d >= 0; --d) {
      index[d] = begin % loops.size[d];
      begin /= loops.size[d];
      from += index[d] * loops.from[d];
      to += index[d] * loops.to[d];
    }
  }
  void Next() {
    for (int d = rank - 1; d >= 0; --d) {
      from += loops.from[d];
      to += loops.to[d];
      if (++index[d] < loops.size[d]) return;
      from -= loops.from[d] * loops.size[d];
      to -= loops.to[d] * loops.size[d];
      index[d] = 0;
    }
  }
};

template <typename T>
bool IsAligned(const T* from, const T* to) {
  const auto places = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  return places % sizeof(T) == 0;
}

// The unsigned integer of T's size.
template <typename T>
using Element =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <typename T>
void Fill(T* to, const T value, std::int64_t n) {
  constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(T));
  std::int64_t i = 0;
  if (n >= kBlock) {
    T block[kBlock];
    for (T& element : block) element = value;
    for (; i + kBlock <= n; i += kBlock) std::memcpy(static_cast<void*>(to + i), block, sizeof block);
  }
  for (; i < n; ++i) to[i] = value;
}

template <typename T>
void InnerLoop(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t n) {
  if (from_step == 0 && to_step == 1) return Fill(to, *from, n);
  if constexpr (sizeof(T) <= 8) {
    if (to_step == 1 && n >= 16 && IsAligned(from, to)) {
      const void* source = from;
      void* target = to;
      return BestTransposes().Every<Element<T>>()(static_cast<const Element<T>*>(source), from_step,
                                                  static_cast<Element<T>*>(target), n);
    }
  }
  if (from_step == 1 && to_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

std::int64_t OuterCount(const StridedLoops& l, int outer_rank) {
  std::int64_t count = 1;
  for (int d = 0; d < outer_rank; ++d) count *= l.size[d];
  return count;
}

// The innermost loop is cut into pieces so that one long row uses all threads, too.
template <typename T>
void CopyRows(const StridedLoops& l, const T* from, T* to, Parallel& parallel) {
  const int inner = l.rank - 1;
  const std::int64_t n = l.size[inner];
  const std::int64_t piece = std::max<std::int64_t>(1, kBytesPerTask / static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t pieces = (n + piece - 1) / piece;
  const std::int64_t rows = OuterCount(l, inner);
  const std::int64_t grain = std::max<std::int64_t>(1, piece / n);
  const bool contiguous = l.from[inner] == 1 && l.to[inner] == 1;
  const bool streamed = static_cast<std::size_t>(rows * n) * sizeof(T) >= kStreamedBytes && n >= kStreamedRun;
  parallel.For(rows * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    Odometer at(l, inner, begin / pieces);
    std::int64_t part = begin % pieces;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = part * piece;
      const std::int64_t count = std::min(piece, n - first);
      const T* source = from + at.from + first * l.from[inner];
      T* target = to + at.to + first * l.to[inner];
      if (contiguous && streamed) {
        Stream()(source, target, static_cast<std::size_t>(count) * sizeof(T));
      } else if (contiguous && count * static_cast<std::int64_t>(sizeof(T)) >= 32) {
        std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
      } else {
        InnerLoop(source, l.from[inner], target, l.to[inner], count);
      }
      if (++part == pieces) {
        part = 0;
        at.Next();
      }
    }
    if (contiguous && streamed) FinishStreaming();
  });
}

// Elements of four bytes at their own alignment move as floats do.
template <typename T>
bool IsFloatLike(const T* from, const T* to) {
  return sizeof(T) == sizeof(float) && IsAligned(from, to);
}

template <typename U>
TransposeFn<U>* TransposesOf() {
  if constexpr (sizeof(U) == 2) {
    return BestTransposes().u16;
  } else {
    return BestTransposes().u64;
  }
}

// to[i * to_step + j] = from[i + j * from_step] for i < rows, j < columns, by square tiles held in registers and L1.
template <typename T>
void TransposeTiles(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows,
                    std::int64_t columns) {
  if (IsFloatLike(from, to)) {
    const void* source = from;
    void* target = to;
    return BestTilesF32().transpose(columns, rows, static_cast<const float*>(source), from_step,
                                    static_cast<float*>(target), to_step);
  }
  if constexpr (sizeof(T) == 1) {
    return BestTilesInt8().transpose(columns, rows, reinterpret_cast<const std::uint8_t*>(from), from_step,
                                     reinterpret_cast<std::uint8_t*>(to), to_step);
  }
  if constexpr (sizeof(T) == 2 || sizeof(T) == 8) {
    const void* source = from;
    void* target = to;
    if (IsAligned(from, to)) {
      return TransposesOf<Element<T>>()(columns, rows, static_cast<const Element<T>*>(source), from_step,
                                        static_cast<Element<T>*>(target), to_step);
    }
  }
  constexpr std::int64_t kTile = sizeof(T) >= 8 ? 8 : 16;
  T tile[kTile * kTile];
  for (std::int64_t j = 0; j < columns; j += kTile) {
    for (std::int64_t i = 0; i < rows; i += kTile) {
      const std::int64_t height = std::min(kTile, rows - i), width = std::min(kTile, columns - j);
      if (height == kTile && width == kTile) {
        for (std::int64_t b = 0; b < kTile; ++b)
          for (std::int64_t a = 0; a < kTile; ++a) tile[a * kTile + b] = from[i + a + (j + b) * from_step];
        for (std::int64_t a = 0; a < kTile; ++a)
          std::memcpy(static_cast<void*>(to + (i + a) * to_step + j), tile + a * kTile, kTile * sizeof(T));
      } else {
        for (std::int64_t a = 0; a < height; ++a)
          for (std::int64_t b = 0; b < width; ++b) to[(i + a) * to_step + j + b] = from[i + a + (j + b) * from_step];
      }
    }
  }
}

// The loop that is contiguous in the source, if the innermost one is contiguous in the destination only; else -1.
int TransposedLoop(const StridedLoops& l, std::size_t bytes) {
  const int inner = l.rank - 1, shortest = bytes == sizeof(float) ? 2 : 4;
  if (l.to[inner] != 1 || l.from[inner] == 1 || l.from[inner] == 0 || l.size[inner] < shortest) return -1;
  for (int d = 0; d < inner; ++d)
    if (l.from[d] == 1 && l.size[d] >= 4) return d;
  return -1;
}

template <typename T>
void CopyTransposed(StridedLoops l, int swapped, const T* from, T* to, Parallel& parallel) {
  const int inner = l.rank - 1;
  const std::int64_t columns = l.size[inner], from_step = l.from[inner];
  const std::int64_t rows = l.size[swapped], to_step = l.to[swapped];
  for (int d = swapped; d + 1 < inner; ++d) {
    l.size[d] = l.size[d + 1];
    l.from[d] = l.from[d + 1];
    l.to[d] = l.to[d + 1];
  }
  l.rank -= 2;
  constexpr std::int64_t kRows = 64;  // rows of one task: their source lines are used up while they are in the cache
  const std::int64_t bands = (rows + kRows - 1) / kRows;
  const std::int64_t band_bytes = std::min(rows, kRows) * columns * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesPerTask / band_bytes);
  parallel.For(OuterCount(l, l.rank) * bands, grain, [&](std::int64_t begin, std::int64_t end) {
    Odometer at(l, l.rank, begin / bands);
    std::int64_t band = begin % bands;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = band * kRows;
      TransposeTiles(from + at.from + row, from_step, to + at.to + row * to_step, to_step, std::min(kRows, rows - row),
                     columns);
      if (++band == bands) {
        band = 0;
        at.Next();
      }
    }
  });
}

// Where the innermost loop is of a few elements (the pixels of a block), a long one that reads neighbours and writes
// close by takes its place.
void PreferLongLoop(StridedLoops& l, std::int64_t bytes) {
  const int inner = l.rank - 1;
  if (inner < 1 || l.size[inner] >= 8 || l.from[inner] == 1) return;
  for (int d = inner - 1; d >= 0; --d) {
    if (l.from[d] != 1 || l.to[d] * bytes > 64 || l.size[d] < 4 * l.size[inner]) continue;
    std::swap(l.size[d], l.size[inner]);
    std::swap(l.from[d], l.from[inner]);
    std::swap(l.to[d], l.to[inner]);
    return;
  }
}

template <typename T>
void CopyBytes(StridedLoops& l, const void* from, std::int64_t from_offset, void* to, std::int64_t to_offset,
               Parallel& parallel) {
  const auto* source = static_cast<const Loose<T>*>(from) + from_offset;
  auto* target = static_cast<Loose<T>*>(to) + to_offset;
  if (const int swapped = TransposedLoop(l, sizeof(T)); swapped >= 0) {
    CopyTransposed(l, swapped, source, target, parallel);
  } else {
    PreferLongLoop(l, static_cast<std::int64_t>(sizeof(T)));
    CopyRows(l, source, target, parallel);
  }
}

template <typename Storage>
void CopySlowly(const StridedLoops& l, typename Storage::Source from, std::int64_t from_offset, Storage to,
                std::int64_t to_offset) {
  const int inner = l.rank - 1;
  const std::int64_t rows = OuterCount(l, inner);
  Odometer at(l, inner, 0);
  for (std::int64_t row = 0; row < rows; ++row, at.Next()) {
    const std::int64_t source = from_offset + at.from, target = to_offset + at.to;
    if (l.from[inner] == 1 && l.to[inner] == 1) {
      to.CopyRun(target, from, source, l.size[inner]);
    } else {
      for (std::int64_t i = 0; i < l.size[inner]; ++i)
        to.Set(target + i * l.to[inner], from.Get(source + i * l.from[inner]));
    }
  }
}

}  // namespace

bool StridedLoops::Add(std::int64_t loop_size, std::int64_t from_stride, std::int64_t to_stride) {
  if (loop_size == 1) return true;
  if (rank == kMaxRank) return false;
  size[rank] = loop_size;
  from[rank] = from_stride;
  to[rank] = to_stride;
  ++rank;
  return true;
}

void StridedCopy(DType dtype, StridedLoops loops, const void* from, std::int64_t from_offset, void* to,
                 std::int64_t to_offset, Parallel& parallel) {
  for (int d = 0; d < loops.rank; ++d)
    if (loops.size[d] == 0) return;
  MergeLoops(loops);
  if (loops.rank == 0) return CopyElements(dtype, from, from_offset, to, to_offset, 1);
  if (IsString(dtype) || IsSubByte(dtype)) {
    VisitStorage(dtype, [&]<typename Storage>() {
      CopySlowly<Storage>(loops, StorageAt<Storage>(from), from_offset, StorageAt<Storage>(to), to_offset);
    });
    return;
  }
  switch (WidenElement(loops, Bits(dtype) / 8, from_offset, to_offset)) {
    case 1:
      return CopyBytes<std::uint8_t>(loops, from, from_offset, to, to_offset, parallel);
    case 2:
      return CopyBytes<std::uint16_t>(loops, from, from_offset, to, to_offset, parallel);
    case 4:
      return CopyBytes<std::uint32_t>(loops, from, from_offset, to, to_offset, parallel);
    case 8:
      return CopyBytes<std::uint64_t>(loops, from, from_offset, to, to_offset, parallel);
    default:
      return CopyBytes<Bytes16>(loops, from, from_offset, to, to_offset, parallel);
  }
}

void CopyElements(DType dtype, const void* from, std::int64_t begin, void* to, std::int64_t at, std::int64_t n) {
  if (IsString(dtype) || IsSubByte(dtype)) {
    VisitStorage(dtype,
                 [&]<typename Storage>() { StorageAt<Storage>(to).CopyRun(at, StorageAt<Storage>(from), begin, n); });
    return;
  }
  const std::int64_t bytes = Bits(dtype) / 8;
  if (n > 0) {
    std::memcpy(static_cast<char*>(to) + at * bytes, static_cast<const char*>(from) + begin * bytes,
                static_cast<std::size_t>(n * bytes));
  }
}

void FillElements(DType dtype, const void* value, std::int64_t index, void* to, std::int64_t at, std::int64_t n) {
  VisitStorage(dtype,
               [&]<typename Storage>() { StorageAt<Storage>(to).Fill(at, n, StorageAt<Storage>(value).Get(index)); });
}

void CopyAll(DType dtype, const void* from, void* to, std::int64_t count, Parallel& parallel) {
  if (count == 0 || from == to) return;
  if (IsSubByte(dtype)) {
    std::memcpy(to, from, ByteSize(dtype, count));
    return;
  }
  StridedLoops loops;
  loops.Add(count, 1, 1);
  StridedCopy(dtype, loops, from, 0, to, 0, parallel);
}

}  // namespace sardonyx::kernels
