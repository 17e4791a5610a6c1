/* tests/capi/thread_options.c - which functions create the workers of a session, and where the workers may run.
 *
 * usage: capi_thread_options MODEL SCENARIO [PROCESSOR]
 * MODEL takes x [N, N] and gives y [N, N]. Scenarios:
 *   affinity       the environment's pool of three threads, both workers on PROCESSOR (counted from 1)
 *   global-hooks   the environment's pool of three threads, made and joined by functions of this program
 *   session-hooks  a session of three threads of its own, made and joined likewise
 *   own-threads    a session of two threads of its own in an environment with hooks and PROCESSOR
 * Prints one line of JSON: the functions' calls, the processors of each worker during the run, and the first element
 * of y for x = 1. Linux only. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnxruntime_c_api.h"

enum { kSize = 256, kMaxThreads = 16 };

static const OrtApi* ort;

static void Must(OrtStatusPtr status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  exit(2);
}

/* ---- Functions that make threads ---- */

struct Made {
  pthread_t thread;
  OrtThreadWorkerFn work;
  void* parameter;
  int joined;
};
static struct Made made[kMaxThreads];
static int created, joined, wrong;
static int marker; /* its address is what the functions are to be given */

static void* Enter(void* thread) {
  const struct Made* self = thread;
  self->work(self->parameter);
  return NULL;
}

static OrtCustomThreadHandle Create(void* options, OrtThreadWorkerFn work, void* parameter) {
  if (options != &marker || created == kMaxThreads) ++wrong;
  struct Made* thread = &made[created++];
  thread->work = work;
  thread->parameter = parameter;
  if (pthread_create(&thread->thread, NULL, Enter, thread) != 0) return NULL;
  return (OrtCustomThreadHandle)thread;
}

static void Join(OrtCustomThreadHandle handle) {
  struct Made* thread = (struct Made*)handle;
  if (thread->joined++ != 0 || pthread_join(thread->thread, NULL) != 0) ++wrong;
  ++joined;
}

/* ---- Processors of the other threads ---- */

static void PrintWorkers(void) {
  DIR* folder = opendir("/proc/self/task");
  const char* between = "";
  printf("\"workers\": [");
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    const int thread = atoi(entry->d_name);
    cpu_set_t set;
    if (thread == 0 || thread == getpid() || sched_getaffinity(thread, sizeof(set), &set) != 0) continue;
    printf("%s[", between);
    const char* comma = "";
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &set)) continue;
      printf("%s%d", comma, core + 1);
      comma = ", ";
    }
    printf("]");
    between = ", ";
  }
  printf("]");
  closedir(folder);
}

/* A worker binds itself when it first runs, which a busy machine may delay: waits for that, ten seconds at most. */
static void WaitForBoundWorkers(void) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    DIR* folder = opendir("/proc/self/task");
    int unbound = 0;
    for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
      const int thread = atoi(entry->d_name);
      cpu_set_t set;
      if (thread == 0 || thread == getpid() || sched_getaffinity(thread, sizeof(set), &set) != 0) continue;
      unbound += CPU_COUNT(&set) > 1;
    }
    closedir(folder);
    if (unbound == 0) return;
    usleep(10000);
  }
}

/* ---- Running ---- */

static float RunOnce(OrtSession* session) {
  static float x[kSize * kSize];
  const int64_t shape[] = {kSize, kSize};
  const char *in = "x", *out = "y";
  OrtMemoryInfo* host = NULL;
  OrtValue *input = NULL, *output = NULL;
  float* y = NULL;
  for (int i = 0; i < kSize * kSize; ++i) x[i] = 1;
  Must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host));
  Must(ort->CreateTensorWithDataAsOrtValue(host, x, sizeof(x), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  for (int i = 0; i < 20; ++i) Must(ort->Run(session, NULL, &in, (const OrtValue* const*)&input, 1, &out, 1, &output));
  Must(ort->GetTensorMutableData(output, (void**)&y));
  const float first = y[0];
  ort->ReleaseValue(output);
  ort->ReleaseValue(input);
  ort->ReleaseMemoryInfo(host);
  return first;
}

static OrtEnv* MakeEnvironment(const char* processor, int hooks) {
  OrtThreadingOptions* threads = NULL;
  OrtEnv* env = NULL;
  Must(ort->CreateThreadingOptions(&threads));
  Must(ort->SetGlobalIntraOpNumThreads(threads, 3));
  if (processor != NULL) {
    char text[64];
    snprintf(text, sizeof(text), "%s;%s", processor, processor);
    Must(ort->SetGlobalIntraOpThreadAffinity(threads, text));
  }
  if (hooks) {
    Must(ort->SetGlobalCustomCreateThreadFn(threads, Create));
    Must(ort->SetGlobalCustomThreadCreationOptions(threads, &marker));
    Must(ort->SetGlobalCustomJoinThreadFn(threads, Join));
  }
  Must(ort->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_WARNING, "threads", threads, &env));
  ort->ReleaseThreadingOptions(threads);
  return env;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  const char *scenario = argv[2], *processor = argc > 3 ? argv[3] : NULL;
  const int own = strcmp(scenario, "own-threads") == 0, session_hooks = strcmp(scenario, "session-hooks") == 0;
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  Must(ort->CreateSessionOptions(&options));
  if (session_hooks) {
    Must(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "threads", &env));
    Must(ort->SetIntraOpNumThreads(options, 3));
    Must(ort->SessionOptionsSetCustomCreateThreadFn(options, Create));
    Must(ort->SessionOptionsSetCustomThreadCreationOptions(options, &marker));
    Must(ort->SessionOptionsSetCustomJoinThreadFn(options, Join));
  } else {
    env = MakeEnvironment(processor, own || strcmp(scenario, "global-hooks") == 0);
    if (own) {
      Must(ort->SetIntraOpNumThreads(options, 2));
    } else {
      Must(ort->DisablePerSessionThreads(options));
    }
  }
  Must(ort->CreateSession(env, argv[1], options, &session));
  printf("{\"first\": %g, ", (double)RunOnce(session));
  if (strcmp(scenario, "affinity") == 0) WaitForBoundWorkers();
  PrintWorkers();
  printf(", \"created\": %d, \"joined_before\": %d", created, joined);
  ort->ReleaseSession(session);
  printf(", \"joined_after_session\": %d", joined);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(env);
  printf(", \"joined\": %d, \"wrong\": %d}\n", joined, wrong);
  return 0;
}
