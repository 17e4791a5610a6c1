// base/parallel.h - how kernels ask for threads without knowing the thread pool.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace sardonyx {

// Distributes work over the threads of one run. It never decides how a sum is split: a kernel divides its work by the
// shape alone, so results have the same bits for any number of threads.
class Parallel {
 public:
  using Body = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

  virtual ~Parallel() = default;
  // Calls body(begin, end) over disjoint ranges that cover [0, count), whose lengths are multiples of `grain`, except
  // for the last one. The calling thread takes part. The first exception of a body is rethrown here, the others are
  // dropped. Nested calls run serially on the calling worker.
  virtual void For(std::int64_t count, std::int64_t grain, Body body) = 0;
  // How many threads For may use, the caller included; at least 1.
  virtual int ThreadCount() const = 0;
};

class Serial final : public Parallel {
 public:
  void For(std::int64_t count, std::int64_t /*grain*/, Body body) override {
    if (count > 0) body(0, count);
  }
  int ThreadCount() const override { return 1; }
};

}  // namespace sardonyx
