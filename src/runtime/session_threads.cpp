// runtime/session_threads.cpp - reads the options that concern threads.
#include "runtime/session_threads.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/cpu_info.h"
#include "runtime/option_keys.h"

namespace sardonyx::runtime {
namespace {

class PoolParallel final : public Parallel {
 public:
  PoolParallel(ThreadPool& pool, int threads) : pool_(pool), threads_(threads) {}
  void For(std::int64_t count, std::int64_t grain, Body body) override { pool_.For(threads_, count, grain, body); }
  int ThreadCount() const override { return threads_; }

 private:
  ThreadPool& pool_;
  int threads_;
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void FailAffinities(const std::string& text) {
  Fail(Code::kInvalidArgument, "thread affinities: expected processor numbers of 1 or more, as in \"1,2;3-5\", found '",
       text, "'");
}

int ProcessorOf(std::string_view digits, const std::string& text) {
  constexpr int kMaxProcessor = 1 << 16;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 1 || number > kMaxProcessor)
    FailAffinities(text);
  return number - 1;
}

// ONNX Runtime's wish for smaller blocks at the end of a loop; ours shrink anyway (ThreadPool).
void CheckBlockBase(const SessionOptions& options) {
  constexpr const char* kKey = "session.dynamic_block_base";
  const std::string value = options.Config(kKey, "0");
  const Code code = CodeOfNoNumber(value);
  if (code == Code::kRuntimeException || value.find_first_not_of("0123456789") != std::string::npos)
    Fail(code, "config entry '", kKey, "': expected a whole number of 0 or more, found '", value, "'");
}

// One pool serves the loops inside of nodes and, in parallel mode, independent nodes: it waits as long as the longer of
// the two entries says.
void SetWaiting(const SessionOptions& options, ThreadPoolOptions& pool) {
  constexpr int kMaxPause = 64;
  const bool parallel = options.execution_mode == ExecutionMode::kParallel;
  const int spin = NumberOf(options, "session.intra_op.spin_duration_us", -1);
  const int branch_spin = NumberOf(options, "session.inter_op.spin_duration_us", -1);
  const int longest = parallel ? std::max(spin, branch_spin) : spin;
  if (longest == 0) pool.spin = false;
  if (longest > 0) pool.spin_during_run = std::chrono::microseconds(longest);
  const int pause = NumberOf(options, "session.intra_op.spin_backoff_max", 1);
  const int branch_pause = NumberOf(options, "session.inter_op.spin_backoff_max", 1);
  pool.longest_pause = std::clamp(parallel ? std::max(pause, branch_pause) : pause, 1, kMaxPause);
}

ThreadPoolOptions PoolOptions(const SessionOptions& options, int threads) {
  ThreadPoolOptions pool = options.thread_pool;
  pool.spin =
      IsOn(options, "session.intra_op.allow_spinning", true) &&
      (options.execution_mode == ExecutionMode::kSequential || IsOn(options, "session.inter_op.allow_spinning", true));
  SetWaiting(options, pool);
  pool.spin_after_run = !IsOn(options, "session.force_spinning_stop", false);
  const std::string affinities = options.Config("session.intra_op_thread_affinities", "");
  if (affinities.empty()) return pool;
  pool.cores = ParseAffinities(affinities);
  if (threads == 1) {  // there is no worker
    pool.cores.clear();
    return pool;
  }
  if (pool.cores.size() + 1 != static_cast<std::size_t>(threads)) {
    Fail(Code::kInvalidArgument, "config entry 'session.intra_op_thread_affinities': expected ", threads - 1,
         " groups of processors, one fewer than intra-op threads, found ", pool.cores.size());
  }
  return pool;
}

bool IsPlain(const ThreadPoolOptions& pool) {
  const ThreadPoolOptions usual;
  return pool.spin && pool.spin_after_run && pool.cores.empty() && !pool.make && !pool.callbacks &&
         pool.spin_during_run == usual.spin_during_run && pool.longest_pause == usual.longest_pause;
}

}  // namespace

std::vector<std::vector<int>> ParseAffinities(const std::string& text) {
  std::vector<std::vector<int>> cores;
  for (const std::string_view group : Split(text, ';')) {
    std::vector<int>& of_thread = cores.emplace_back();
    for (const std::string_view part : Split(group, ',')) {
      const std::vector<std::string_view> ends = Split(part, '-');
      if (ends.size() > 2) FailAffinities(text);
      const int first = ProcessorOf(ends.front(), text), last = ProcessorOf(ends.back(), text);
      if (last < first) FailAffinities(text);
      for (int core = first; core <= last; ++core) of_thread.push_back(core);
    }
  }
  return cores;
}

SessionThreads::SessionThreads(Environment& environment, const SessionOptions& options)
    : pool_(&environment.pool()),
      flushes_denormals_(IsOn(options, "session.set_denormal_as_zero", false) ||
                         (options.use_environment_pool && environment.pool_threads().flush_denormals)) {
  CheckBlockBase(options);
  const auto count = [](int wanted) { return wanted > 0 ? wanted : AvailableCores(); };
  const bool shared = options.use_environment_pool;
  const int threads = count(shared ? environment.pool_threads().intra_op : options.intra_op_threads);
  if (options.execution_mode == ExecutionMode::kParallel)
    branches_ = count(shared ? environment.pool_threads().inter_op : options.inter_op_threads);
  ThreadPoolOptions wanted = shared ? ThreadPoolOptions{} : PoolOptions(options, threads);
  if (!shared) wanted.callbacks = environment.session_callbacks();
  const int workers = std::max(threads, branches_) - 1;
  if (!IsPlain(wanted) || (!shared && !IsPlain(environment.pool().options()))) {
    own_ = std::make_unique<ThreadPool>(wanted);
    pool_ = own_.get();
  }
  if (workers > 0) pool_->Grow(workers);
  if (threads == 1) {
    parallel_ = std::make_unique<Serial>();
  } else {
    parallel_ = std::make_unique<PoolParallel>(*pool_, threads);
  }
}

}  // namespace sardonyx::runtime
