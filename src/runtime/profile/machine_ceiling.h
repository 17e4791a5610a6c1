// runtime/profile/machine_ceiling.h - the most that this machine can do with so many threads: what profiles compare
// nodes with.
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

  // The faster of both in each. `other` is of as many threads.
  void KeepBest(const MachineCeiling& other);
  // Products of 8-bit integers count with what the CPU's dot product instructions do at once.
  double OperationsPerSecond(DType dtype) const;
  // Of the largest stream that is no larger than `bytes`.
  const Stream& StreamOf(double bytes) const;
  // The time that a perfect kernel would take: the longer of computing and moving. Weights come from where those of the
  // whole model fit, for between two uses the others are used.
  double Seconds(const ops::Cost& cost, double weights_of_model = 0) const;
};

// Of the threads of `parallel`. Each of the first three calls in a process for a number of threads measures, in about
// 0.1 s, and the best counts: while others use the machine it seems to be slower than it is.
MachineCeiling CeilingOf(Parallel& parallel);

}  // namespace sardonyx::runtime
