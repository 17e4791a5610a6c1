// runtime/profile/machine_ceiling.cpp - times short loops at full speed. The best of several tries counts, because
// other programs use the machine, too.
#include "runtime/profile/machine_ceiling.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/cpu_info.h"
#include "kernels/ceiling/ceiling.h"
#include "runtime/profile/pool_rate.h"

namespace sardonyx::runtime {
namespace {

// Each try fits into the time that a busy machine leaves a thread at once.
constexpr int kTries = 40;
constexpr double kStreamedAtLeast = 4e6;
constexpr double kStreamBytes[] = {16e3, 64e3, 256e3, 1e6, 4e6, 16e6, 48e6, 128e6};
constexpr double kPatience = 2e-4;  // seconds

MachineCeiling::Stream MeasureStream(PoolRate& threads, double bytes, std::vector<float>& memory) {
  const kernels::CeilingSet& loops = kernels::Ceiling();
  const auto floats = static_cast<std::int64_t>(bytes / 4 / threads.pieces()), half = floats / 2;
  const auto repeats = std::max<std::int64_t>(1, static_cast<std::int64_t>(kStreamedAtLeast / bytes));
  const int tries = bytes > 16e6 ? 10 : kTries;
  const double changed = 8.0 * static_cast<double>(half * repeats), read = 4.0 * static_cast<double>(floats * repeats);
  const double changes = threads.Rate(tries, [&](int piece) {
    float* x = memory.data() + piece * half;  // in place, which asks for less of the caches than a copy does
    for (std::int64_t r = 0; r < repeats; ++r) loops.stream(x, half, x);
  });
  std::atomic<float> sink = 0;
  const double reads = threads.Rate(tries, [&](int piece) {
    for (std::int64_t r = 0; r < repeats; ++r) sink = loops.read(memory.data() + piece * floats, floats);
  });
  return {bytes, changed * changes, read * reads};
}

MachineCeiling Measure(Parallel& parallel) {
  const kernels::CeilingSet& loops = kernels::Ceiling();
  constexpr std::int64_t kRounds = 3000;
  PoolRate threads(parallel, std::max(1, std::min(parallel.ThreadCount(), AvailableCores())), kPatience);
  MachineCeiling ceiling;
  ceiling.threads = parallel.ThreadCount();
  std::atomic<float> sink = 0;
  ceiling.float_operations_per_second = 2.0 * static_cast<double>(kRounds * loops.multiply_adds_per_round()) *
                                        threads.Rate(kTries, [&](int) { sink = loops.multiply_adds(kRounds, 1e-3f); });
  std::vector<float> memory(static_cast<std::size_t>(kStreamBytes[std::size(kStreamBytes) - 1] / 4), 1.0f);
  for (const double bytes : kStreamBytes) ceiling.streams.push_back(MeasureStream(threads, bytes, memory));
  // What a larger stream reaches, a smaller one does: where it was slower others were in its way.
  for (std::size_t i = ceiling.streams.size() - 1; i-- > 0;) {
    MachineCeiling::Stream& stream = ceiling.streams[i];
    stream.bytes_per_second = std::max(stream.bytes_per_second, ceiling.streams[i + 1].bytes_per_second);
    stream.read_bytes_per_second = std::max(stream.read_bytes_per_second, ceiling.streams[i + 1].read_bytes_per_second);
  }
  return ceiling;
}

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

}  // namespace

double MachineCeiling::OperationsPerSecond(DType dtype) const {
  if (IsByte(dtype)) return float_operations_per_second * (Cpu().avx512_vnni || Cpu().avx_vnni ? 4 : 2);
  return dtype == DType::kDouble ? float_operations_per_second / 2 : float_operations_per_second;
}

const MachineCeiling::Stream& MachineCeiling::StreamOf(double bytes) const {
  std::size_t at = 0;
  while (at + 1 < streams.size() && streams[at + 1].bytes <= bytes) ++at;
  return streams[at];
}

double MachineCeiling::Seconds(const ops::Cost& cost, double weights_of_model) const {
  const Stream& stream = StreamOf(cost.bytes);
  const double activations = cost.bytes - cost.weights;
  // As much read as is written streams through with it; the rest is only read.
  const double paired = std::min(activations, 2 * cost.written);
  const double moving = paired / stream.bytes_per_second + (activations - paired) / stream.read_bytes_per_second +
                        cost.weights / StreamOf(std::max(weights_of_model, cost.bytes)).read_bytes_per_second;
  return std::max(cost.operations.value_or(0) * cost.arithmetic / OperationsPerSecond(cost.computes), moving);
}

void MachineCeiling::KeepBest(const MachineCeiling& other) {
  float_operations_per_second = std::max(float_operations_per_second, other.float_operations_per_second);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i].bytes_per_second = std::max(streams[i].bytes_per_second, other.streams[i].bytes_per_second);
    streams[i].read_bytes_per_second =
        std::max(streams[i].read_bytes_per_second, other.streams[i].read_bytes_per_second);
  }
}

MachineCeiling CeilingOf(Parallel& parallel) {
  constexpr int kMeasurements = 3;
  struct Best {
    int measurements = 0;
    MachineCeiling ceiling;
  };
  static std::mutex mutex;
  static std::map<int, Best> measured;
  const std::scoped_lock lock(mutex);
  Best& best = measured[parallel.ThreadCount()];
  if (best.measurements < kMeasurements) {
    MachineCeiling ceiling = Measure(parallel);
    if (best.measurements++ > 0) ceiling.KeepBest(best.ceiling);
    best.ceiling = std::move(ceiling);
  }
  return best.ceiling;
}

}  // namespace sardonyx::runtime
