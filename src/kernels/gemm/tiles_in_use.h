// kernels/gemm/tiles_in_use.h - keeps the tile registers of AMX configured while a thread runs many tiles.
#pragma once

namespace sardonyx::kernels {

// While it lives, the thread runs tiles of this set and no other code that uses tile registers. Set: TileInt8Set or
// SplitF32Set; null: nothing is kept.
template <typename Set>
class TilesInUse {
 public:
  explicit TilesInUse(const Set* set) : set_(set != nullptr && set->begin != nullptr ? set : nullptr) {
    if (set_ != nullptr) set_->begin();
  }
  ~TilesInUse() {
    if (set_ != nullptr) set_->end();
  }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;

 private:
  const Set* set_;
};

}  // namespace sardonyx::kernels
