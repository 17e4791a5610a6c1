// benchmarks/peak.cpp - measures the ceilings of this machine: FMA and VNNI per second, bytes read per second.
//
// Kernel times mean something only as a share of these. Loops are assembly, with enough independent chains for two
// units of five cycles; every figure is the best of many short runs. To add a unit: one row of kUnits.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr int kRounds = 2000;  // of a loop body, per measured run

// 20 x 24 instructions on zmm0..23, 20 x 12 on ymm0..11 or xmm0..11.
void FmaZmm() {
  for (int i = 0; i < kRounds; ++i)
    asm volatile(
        ".rept 20\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n"
        " vfmadd231ps %%zmm31,%%zmm31,%%zmm\\r\n .endr\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
}
void VnniZmm() {
  for (int i = 0; i < kRounds; ++i)
    asm volatile(
        ".rept 20\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n"
        " vpdpbusd %%zmm31,%%zmm31,%%zmm\\r\n .endr\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
}
void FmaYmm() {
  for (int i = 0; i < kRounds; ++i)
    asm volatile(".rept 20\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd231ps %%ymm15,%%ymm15,%%ymm\\r\n .endr\n .endr" ::
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm15");
}
void MulAddXmm() {
  for (int i = 0; i < kRounds; ++i)
    asm volatile(
        ".rept 20\n .irp r,0,1,2,3,4,5\n mulps %%xmm15,%%xmm\\r\n .endr\n"
        " .irp r,6,7,8,9,10,11\n addps %%xmm15,%%xmm\\r\n .endr\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
              "xmm15");
}
// Denormals or NaN in the registers would make some units slower: all registers start at zero.
void ClearRegisters(bool zmm) {
  asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n pxor %%xmm\\r,%%xmm\\r\n .endr" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
  if (zmm)
    asm volatile(
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,31\n"
        " vpxord %%zmm\\r,%%zmm\\r,%%zmm\\r\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
}

struct Unit {
  const char* name;
  const char* what;
  bool (*present)();
  void (*run)();
  double operations;  // of one run: an FMA is two, a dot product of four bytes eight per lane
  bool zmm;
};

const Unit kUnits[] = {
    {"fma f32 avx512", "GFLOP/s", [] { return __builtin_cpu_supports("avx512f") != 0; }, FmaZmm,
     kRounds * 20.0 * 24 * 16 * 2, true},
    {"fma f32 avx2", "GFLOP/s", [] { return __builtin_cpu_supports("fma") != 0; }, FmaYmm, kRounds * 20.0 * 12 * 8 * 2,
     false},
    {"mul+add f32 sse2", "GFLOP/s", [] { return true; }, MulAddXmm, kRounds * 20.0 * 12 * 4, false},
    {"vnni u8s8 avx512", "GOP/s", [] { return __builtin_cpu_supports("avx512vnni") != 0; }, VnniZmm,
     kRounds * 20.0 * 24 * 64 * 2, true},
};

// Runs work(thread) on all threads at once, `repeats` times; the shortest time from the common start to the last end.
double BestTime(int threads, int repeats, const std::function<void(int)>& prepare,
                const std::function<void(int)>& work) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    std::atomic<int> ready{0};
    std::vector<double> start(static_cast<std::size_t>(threads)), end(start);
    const auto body = [&](int t) {
      prepare(t);
      ready.fetch_add(1);
      while (ready.load() < threads) {
      }
      start[static_cast<std::size_t>(t)] = Now();
      work(t);
      end[static_cast<std::size_t>(t)] = Now();
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
    body(0);
    for (std::thread& t : others) t.join();
    best = std::min(best, *std::max_element(end.begin(), end.end()) - *std::min_element(start.begin(), start.end()));
  }
  return best;
}

// Touches every line of [p, p + bytes) with full-width loads; bytes is a multiple of 1024.
void Read(const std::byte* p, std::size_t bytes, bool zmm) {
  if (zmm) {
    for (std::size_t i = 0; i < bytes; i += 512)
      asm volatile(".irp r,0,1,2,3,4,5,6,7\n vmovups \\r*64(%0),%%zmm\\r\n .endr" ::"r"(p + i)
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
    return;
  }
  for (std::size_t i = 0; i < bytes; i += 128)
    asm volatile(".irp r,0,1,2,3,4,5,6,7\n movups \\r*16(%0),%%xmm\\r\n .endr" ::"r"(p + i)
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

// Bytes per second of threads that each read a buffer of their own.
double ReadRate(int threads, std::size_t bytes) {
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  const std::size_t loops = std::max<std::size_t>(1, (std::size_t{64} << 20) / bytes);
  for (int t = 0; t < threads; ++t) {
    buffers.emplace_back(new std::byte[bytes]);
    std::memset(buffers.back().get(), 1, bytes);
  }
  const bool zmm = __builtin_cpu_supports("avx512f") != 0;
  const double time = BestTime(
      threads, 5, [](int) {},
      [&](int t) {
        for (std::size_t i = 0; i < loops; ++i) Read(buffers[static_cast<std::size_t>(t)].get(), bytes, zmm);
      });
  return static_cast<double>(bytes * loops) * threads / time;
}

}  // namespace

// Argument --arithmetic: only the units, not the reads.
int main(int argc, char** argv) {
  const bool only_arithmetic = argc > 1 && std::strcmp(argv[1], "--arithmetic") == 0;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<int> counts = {1};
  if (cores >= 2) counts.push_back(2);
  if (cores > 2) counts.push_back(cores);
  std::printf("%-24s %-8s", "ceiling", "unit");
  for (const int threads : counts) std::printf(" %9d thr", threads);
  std::printf("\n");
  for (const Unit& unit : kUnits) {
    std::printf("%-24s %-8s", unit.name, unit.what);
    for (const int threads : counts) {
      if (!unit.present()) {
        std::printf(" %13s", "-");
        continue;
      }
      const double time = BestTime(
          threads, 30, [&](int) { ClearRegisters(unit.zmm); }, [&](int) { unit.run(); });
      std::printf(" %13.1f", unit.operations * threads / time / 1e9);
    }
    std::printf("\n");
  }
  if (only_arithmetic) return 0;
  const struct {
    const char* name;
    std::size_t bytes;
  } reads[] = {{"read 16 KB (L1)", std::size_t{16} << 10},
               {"read 512 KB (L2)", std::size_t{512} << 10},
               {"read 8 MB", std::size_t{8} << 20},
               {"read 256 MB (memory)", std::size_t{256} << 20}};
  for (const auto& read : reads) {
    std::printf("%-24s %-8s", read.name, "GB/s");
    for (const int threads : counts) std::printf(" %13.1f", ReadRate(threads, read.bytes) / 1e9);
    std::printf("\n");
  }
}
