// runtime/profile/pool_rate.h - how fast the threads of a pool are while all of them work.
#pragma once

#include <functional>
#include <vector>

#include "base/parallel.h"

namespace sardonyx::runtime {

// Does the same work on all threads at once, and times each thread by itself. An ordinary loop of the pool would not
// do: if the workers sleep, or others use their cores, the caller does all the work before they come.
class PoolRate {
 public:
  // `pieces`: how many threads, at least 1 and at most those of `parallel`. Each waits for the others at most
  // `patience` seconds.
  PoolRate(Parallel& parallel, int pieces, double patience)
      : parallel_(parallel), pieces_(pieces), patience_(patience) {}

  int pieces() const { return pieces_; }

  // How often per second all threads together do `work(piece)`: the most of several tries. If they never worked at the
  // same time, the most of one thread times their number.
  double Rate(int tries, const std::function<void(int)>& work);

 private:
  bool Try(const std::function<void(int)>& work, std::vector<double>& seconds);

  Parallel& parallel_;
  int pieces_;
  double patience_;
};

}  // namespace sardonyx::runtime
