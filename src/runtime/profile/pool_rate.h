// runtime/profile/pool_rate.h - how fast the threads of a pool are while all of them work.
#pragma once

#include <functional>
#include <vector>

#include "base/parallel.h"

namespace sardonyx::runtime {

// The same work on all threads at once, each timed by itself. A loop of the pool alone would not do: where the workers
// sleep, or others use their cores, the caller does it all before they come.
class PoolRate {
 public:
  // `pieces`: how many threads, at least 1 and at most those of `parallel`. Each waits for the others at most
  // `patience` seconds.
  PoolRate(Parallel& parallel, int pieces, double patience)
      : parallel_(parallel), pieces_(pieces), patience_(patience) {}

  int pieces() const { return pieces_; }

  // How often a second all of them together do `work(piece)`: the most of several tries. Where they never met, one
  // thread's most times their number.
  double Rate(int tries, const std::function<void(int)>& work);

 private:
  bool Try(const std::function<void(int)>& work, std::vector<double>& seconds);

  Parallel& parallel_;
  int pieces_;
  double patience_;
};

}  // namespace sardonyx::runtime
