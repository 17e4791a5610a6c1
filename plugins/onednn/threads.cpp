// plugins/onednn/threads.cpp - the threads that oneDNN computes with.
#include "threads.h"

// Of OpenMP's library, which oneDNN is linked with; its header needs a compiler option that is not ours to set.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
}

namespace sardonyx_onednn {

int GrantedThreads() { return omp_get_num_procs(); }

ThreadCount::ThreadCount(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }

ThreadCount::~ThreadCount() { omp_set_num_threads(before_); }

}  // namespace sardonyx_onednn
