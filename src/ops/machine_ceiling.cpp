// ops/machine_ceiling.cpp - short loops at full speed; the best of several counts, for others use the machine, too.
#include "ops/machine_ceiling.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "base/cpu_info.h"
#include "kernels/ceiling/ceiling.h"

namespace sardonyx::ops {
namespace {

// Each try fits into the time that a busy machine leaves a thread at once.
constexpr int kTries = 40;
constexpr double kStreamedAtLeast = 1e6;
constexpr double kStreamBytes[] = {32e3, 512e3, 8e6, 64e6};

double SecondsOf(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::max(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1e-9);
}

// One piece for each thread, all at once.
void OnAllThreads(Parallel& parallel, Parallel::Body body) { parallel.For(parallel.ThreadCount(), 1, body); }

double MeasureOperations(Parallel& parallel) {
  const kernels::CeilingSet& loops = kernels::Ceiling();
  constexpr std::int64_t kRounds = 3000;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = SecondsOf([&] {
      OnAllThreads(parallel, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) loops.multiply_adds(kRounds, 1e-3f);
      });
    });
    const auto operations =
        2.0 * static_cast<double>(kRounds * loops.multiply_adds_per_round() * parallel.ThreadCount());
    best = std::max(best, operations / seconds);
  }
  return best;
}

double MeasureStream(Parallel& parallel, double bytes, std::vector<float>& memory) {
  const kernels::CeilingSet& loops = kernels::Ceiling();
  const std::int64_t threads = parallel.ThreadCount();
  const auto floats = static_cast<std::int64_t>(bytes / 8 / static_cast<double>(threads));  // half read, half written
  const auto repeats = std::max<std::int64_t>(1, static_cast<std::int64_t>(kStreamedAtLeast / bytes));
  const int tries = bytes > 16e6 ? 6 : bytes > 4e6 ? 12 : kTries;
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const double seconds = SecondsOf([&] {
      OnAllThreads(parallel, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          float* x = memory.data() + 2 * piece * floats;
          for (std::int64_t r = 0; r < repeats; ++r) loops.stream(x, floats, x + floats);
        }
      });
    });
    best = std::max(best, 8.0 * static_cast<double>(floats * threads * repeats) / seconds);
  }
  return best;
}

MachineCeiling Measure(Parallel& parallel) {
  MachineCeiling ceiling;
  ceiling.threads = parallel.ThreadCount();
  ceiling.float_operations_per_second = MeasureOperations(parallel);
  std::vector<float> memory(static_cast<std::size_t>(kStreamBytes[std::size(kStreamBytes) - 1] / 4), 1.0f);
  for (const double bytes : kStreamBytes) ceiling.streams.push_back({bytes, MeasureStream(parallel, bytes, memory)});
  return ceiling;
}

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

}  // namespace

double MachineCeiling::OperationsPerSecond(DType dtype) const {
  if (IsByte(dtype)) return float_operations_per_second * (Cpu().avx512_vnni || Cpu().avx_vnni ? 4 : 2);
  return dtype == DType::kDouble ? float_operations_per_second / 2 : float_operations_per_second;
}

double MachineCeiling::BytesPerSecond(double bytes) const {
  for (const Stream& stream : streams)
    if (bytes <= stream.bytes) return stream.bytes_per_second;
  return streams.back().bytes_per_second;
}

double MachineCeiling::Seconds(double operations, double bytes, DType dtype) const {
  return std::max(operations / OperationsPerSecond(dtype), bytes / BytesPerSecond(bytes));
}

const MachineCeiling& CeilingOf(Parallel& parallel) {
  static std::mutex mutex;
  static std::map<int, MachineCeiling> measured;
  const std::scoped_lock lock(mutex);
  auto& ceiling = measured[parallel.ThreadCount()];
  if (ceiling.streams.empty()) ceiling = Measure(parallel);
  return ceiling;
}

}  // namespace sardonyx::ops
