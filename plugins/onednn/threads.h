// plugins/onednn/threads.h - the threads that oneDNN computes with: those of OpenMP, whose number belongs to the thread
// that calls.
#pragma once

namespace sardonyx_onednn {

// As many as the machine grants this process.
int GrantedThreads();

// Sets the number while it lives; the host may use OpenMP too.
class ThreadCount {
 public:
  explicit ThreadCount(int count);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace sardonyx_onednn
