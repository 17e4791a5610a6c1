// runtime/profile/machine_ceiling.h - the highest speed that this machine can reach with a number of threads; profiles
// compare nodes with it.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "base/parallel.h"
#include "ops/cost_context.h"

namespace sardonyx::runtime {

// Measured, not looked up: multiply-adds in registers, and streams through each level of the caches and through memory.
struct MachineCeiling {
  struct Stream {
    double bytes = 0;                  // read and written by all threads together
    double bytes_per_second = 0;       // half of them read, half written to the same places
    double read_bytes_per_second = 0;  // all of them read
  };
  int threads = 1;
  double float_operations_per_second = 0;
  std::vector<Stream> streams;  // by growing size

  // Keeps the higher speed of both, figure by figure. `other` must have as many threads.
  void KeepBest(const MachineCeiling& other);
  // For 8-bit integers, what the CPU's dot product instructions reach.
  double OperationsPerSecond(DType dtype) const;
  // The largest stream that is not larger than `bytes`.
  const Stream& StreamOf(double bytes) const;
  // The time that a perfect kernel would take: that of the arithmetic or that of the memory traffic, whichever is
  // longer. Weights are read from a level that holds those of the whole model, because all others are used between two
  // uses of one.
  double Seconds(const ops::Cost& cost, double weights_of_model = 0) const;
};

// For the threads of `parallel`. Each of the first three calls in a process for a number of threads measures for about
// 0.1 s, and the best counts, because a machine that others use seems slower than it is.
MachineCeiling CeilingOf(Parallel& parallel);

}  // namespace sardonyx::runtime
