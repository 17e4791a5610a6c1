// ops/machine_ceiling.h - the most that this machine can do with so many threads: what profiles compare nodes with.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "base/parallel.h"

namespace sardonyx::ops {

// Measured, not looked up: multiply-adds in registers, and streams through each level of the caches and through memory.
struct MachineCeiling {
  struct Stream {
    double bytes = 0;  // touched by all threads together
    double bytes_per_second = 0;
  };
  int threads = 1;
  double float_operations_per_second = 0;
  std::vector<Stream> streams;  // by growing size

  // Products of 8-bit integers count with what the CPU's dot product instructions do at once.
  double OperationsPerSecond(DType dtype) const;
  double BytesPerSecond(double bytes) const;
  // The time that a perfect kernel would take: the longer of computing and moving.
  double Seconds(double operations, double bytes, DType dtype) const;
};

// Of the threads of `parallel`. Measured once in a process for each number of threads, in about 0.05 s.
const MachineCeiling& CeilingOf(Parallel& parallel);

}  // namespace sardonyx::ops
