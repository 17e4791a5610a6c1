/* tests/capi/steady_state.c - counts the allocations, locks and futex system calls of 100 runs with bound outputs.
 *
 * usage: capi_steady_state MODEL THREADS[p][xCALLERS] [INPUT=DIMxDIM...[@VALUE]]...
 * THREADS 0 is the default; "2p" is parallel mode, on two threads for branches and two for loops; "1x3" are three
 * callers at once, 100 runs each. Unknown dimensions that no argument gives are 1. Prints one line of JSON:
 *   {"cold": {"allocations": 900, "locks": 40, "futex_calls": 2}, "run": {"allocations": 0, "locks": 0, ...},
 *    "binding": {...}, "ns_per_run": 1234}
 * where "cold" is what creating the session and its first run cost.
 *
 * Allocations are counted by replacing the allocation functions of libc, and locks (mutexes, readers and writers, waits
 * for conditions) by replacing those of its threads; futex calls by a seccomp filter that reports each to a process of
 * its own, which lets it go on. Linux and glibc only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "onnxruntime_c_api.h"

enum { kMaxPorts = 64, kMaxRank = 16, kMaxCallers = 8, kWarmUps = 5, kRuns = 100 };

/* ---- Counting ---- */

struct Counters {
  long futex_calls; /* shared with the counting process */
};
static struct Counters* counters;
static long allocations, locks;

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static void CountAllocation(void) { __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED); }

void* malloc(size_t size) {
  CountAllocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  CountAllocation();
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  CountAllocation();
  return __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  CountAllocation();
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = aligned_alloc(alignment, size);
  return *out != NULL ? 0 : ENOMEM;
}

/* The function of that name that this program's one hides. Found at the first call: dlsym takes no lock of these. */
#define COUNTED(name, parameters, arguments)                        \
  int name parameters {                                             \
    static int(*hidden) parameters;                                 \
    if (hidden == NULL) *(void**)&hidden = dlsym(RTLD_NEXT, #name); \
    __atomic_add_fetch(&locks, 1, __ATOMIC_RELAXED);                \
    return hidden arguments;                                        \
  }
COUNTED(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
COUNTED(pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
COUNTED(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
COUNTED(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
COUNTED(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex), (condition, mutex))

static void Fatal(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(3);
}

static void SendDescriptor(int socket, int descriptor) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  if (sendmsg(socket, &message, 0) < 0) Fatal("sendmsg");
}

static int ReceiveDescriptor(int socket) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
  int descriptor = -1;
  if (recvmsg(socket, &message, 0) < 0) Fatal("recvmsg");
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return descriptor;
}

/* The counting process: answers "go on" to every futex call until the runs' process is gone. */
static void Count(int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = ReceiveDescriptor(socket);
  for (;;) {
    struct seccomp_notif request;
    memset(&request, 0, sizeof(request));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
      if (errno == EINTR || errno == ENOENT) continue;
      _exit(0);
    }
    __atomic_add_fetch(&counters->futex_calls, 1, __ATOMIC_RELAXED);
    struct seccomp_notif_resp answer = {.id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno != ENOENT) _exit(0);
  }
}

/* From here on every futex call of this process and of the threads it makes is counted. */
static void CountFutexCalls(void) {
  int sockets[2];
  counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (counters == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) Fatal("shared memory");
  const pid_t child = fork();
  if (child < 0) Fatal("fork");
  if (child == 0) Count(sockets[1]);
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fatal("no_new_privs");
  const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0) Fatal("seccomp");
  SendDescriptor(sockets[0], (int)listener);
  close((int)listener);
}

/* Counts that never change are no counts. */
static void CheckCounters(void) {
  static int word;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const long allocations_before = allocations, locks_before = locks;
  void* volatile block = malloc(1);
  free(block);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
  errno = 0;
  if (allocations != allocations_before + 1) Fatal("allocations are not counted");
  if (locks != locks_before + 1) Fatal("locks are not counted");
  if (counters->futex_calls != 1) Fatal("futex calls are not counted");
}

/* ---- Running ---- */

static const OrtApi* ort;

static void Must(OrtStatusPtr status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  exit(2);
}

static void FillWith(void* data, ONNXTensorElementDataType type, size_t i, double value) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      ((float*)data)[i] = (float)value;
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      ((int64_t*)data)[i] = (int64_t)value;
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      ((int32_t*)data)[i] = (int32_t)value;
      break;
    default:
      fprintf(stderr, "no way to fill inputs of type %d\n", (int)type);
      exit(3);
  }
}

/* The value of input `index`: shape and contents from the argument "NAME=1x3x2@VALUE" if there is one. */
static OrtValue* MakeInput(OrtSession* session, OrtAllocator* allocator, size_t index, const char* name, int argc,
                           char** argv) {
  OrtTypeInfo* type_info = NULL;
  const OrtTensorTypeAndShapeInfo* info = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0, count = 1;
  int64_t dims[kMaxRank];
  double fill = -1;
  OrtValue* value = NULL;
  void* data = NULL;
  Must(ort->SessionGetInputTypeInfo(session, index, &type_info));
  Must(ort->CastTypeInfoToTensorInfo(type_info, &info));
  Must(ort->GetTensorElementType(info, &type));
  Must(ort->GetDimensionsCount(info, &rank));
  Must(ort->GetDimensions(info, dims, kMaxRank));
  ort->ReleaseTypeInfo(type_info);
  for (int i = 3; i < argc; ++i) {
    const size_t length = strlen(name);
    if (strncmp(argv[i], name, length) != 0 || argv[i][length] != '=') continue;
    char* at = argv[i] + length + 1;
    for (rank = 0; *at >= '0' && *at <= '9' && rank < kMaxRank; at += *at == 'x') dims[rank++] = strtoll(at, &at, 10);
    if (*at == '@') fill = strtod(at + 1, NULL);
  }
  for (size_t i = 0; i < rank; ++i) count *= (size_t)(dims[i] = dims[i] < 0 ? 1 : dims[i]);
  Must(ort->CreateTensorAsOrtValue(allocator, dims, rank, type, &value));
  Must(ort->GetTensorMutableData(value, &data));
  for (size_t i = 0; i < count; ++i) FillWith(data, type, i, fill >= 0 ? fill : (double)(i % 7) / 7);
  return value;
}

static double Nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct Cost {
  long allocations, locks, futex_calls;
  double ns;
};

struct Runs {
  OrtSession* session;
  OrtIoBinding* binding;
  size_t inputs, outputs;
  char *in[kMaxPorts], *out[kMaxPorts];
  OrtValue *values[kMaxPorts], *results[kMaxPorts];
};

static void RunOnce(struct Runs* runs, int bound) {
  if (bound) {
    Must(ort->RunWithBinding(runs->session, NULL, runs->binding));
  } else {
    Must(ort->Run(runs->session, NULL, (const char* const*)runs->in, (const OrtValue* const*)runs->values, runs->inputs,
                  (const char* const*)runs->out, runs->outputs, runs->results));
  }
}

/* One caller, on a thread of its own. Callers and the counting main thread meet without futex calls. */
struct Caller {
  struct Runs runs;
  int bound;
  pthread_t thread;
};
static int callers, warm, begun, done, counted;

static void WaitFor(const int* flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value) usleep(200);
}

static void* Call(void* argument) {
  struct Caller* caller = argument;
  const double begin = Nanoseconds();
  for (int i = 0; i < kWarmUps || Nanoseconds() - begin < 3e8; ++i) RunOnce(&caller->runs, caller->bound);
  __atomic_add_fetch(&warm, 1, __ATOMIC_RELEASE);
  WaitFor(&begun, 1);
  for (int i = 0; i < kRuns; ++i) RunOnce(&caller->runs, caller->bound);
  __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
  WaitFor(&counted, 1);
  return NULL;
}

static struct Cost Measure(struct Caller* all, int bound) {
  warm = begun = done = counted = 0;
  for (int i = 0; i < callers; ++i) {
    all[i].bound = bound;
    if (pthread_create(&all[i].thread, NULL, Call, &all[i]) != 0) Fatal("pthread_create");
  }
  WaitFor(&warm, callers);
  const struct Cost before = {allocations, locks, counters->futex_calls, Nanoseconds()};
  __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
  WaitFor(&done, callers);
  const double end = Nanoseconds();
  const struct Cost cost = {allocations - before.allocations, locks - before.locks,
                            counters->futex_calls - before.futex_calls, end - before.ns};
  __atomic_store_n(&counted, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < callers; ++i) pthread_join(all[i].thread, NULL);
  return cost;
}

static void Prepare(struct Runs* runs, OrtSession* session, OrtAllocator* allocator, int argc, char** argv) {
  runs->session = session;
  Must(ort->SessionGetInputCount(session, &runs->inputs));
  Must(ort->SessionGetOutputCount(session, &runs->outputs));
  if (runs->inputs > kMaxPorts || runs->outputs > kMaxPorts) exit(1);
  Must(ort->CreateIoBinding(session, &runs->binding));
  for (size_t i = 0; i < runs->inputs; ++i) {
    Must(ort->SessionGetInputName(session, i, allocator, &runs->in[i]));
    runs->values[i] = MakeInput(session, allocator, i, runs->in[i], argc, argv);
    Must(ort->BindInput(runs->binding, runs->in[i], runs->values[i]));
  }
  for (size_t i = 0; i < runs->outputs; ++i) Must(ort->SessionGetOutputName(session, i, allocator, &runs->out[i]));
  RunOnce(runs, 0); /* makes the outputs, which all further runs write to */
  for (size_t i = 0; i < runs->outputs; ++i) Must(ort->BindOutput(runs->binding, runs->out[i], runs->results[i]));
}

static void PrintCost(const char* name, struct Cost cost) {
  printf("%s: {\"allocations\": %ld, \"locks\": %ld, \"futex_calls\": %ld}", name, cost.allocations, cost.locks,
         cost.futex_calls);
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  CountFutexCalls();
  CheckCounters();
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  OrtEnv* env = NULL;
  OrtAllocator* allocator = NULL;
  static struct Caller all[kMaxCallers];
  const char* const times = strchr(argv[2], 'x');
  callers = times != NULL ? atoi(times + 1) : 1;
  if (callers < 1 || callers > kMaxCallers) return 1;
  OrtSession* session = NULL;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "steady_state", &env));
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  OrtSessionOptions* options = NULL;
  Must(ort->CreateSessionOptions(&options));
  Must(ort->SetIntraOpNumThreads(options, atoi(argv[2])));
  if (strchr(argv[2], 'p') != NULL) {
    Must(ort->SetSessionExecutionMode(options, ORT_PARALLEL));
    Must(ort->SetInterOpNumThreads(options, atoi(argv[2])));
  }
  Must(ort->CreateSession(env, argv[1], options, &session));
  for (int i = 0; i < callers; ++i) Prepare(&all[i].runs, session, allocator, argc, argv);

  const struct Cost cold = {allocations, locks, counters->futex_calls, 0};
  const struct Cost run = Measure(all, 0), binding = Measure(all, 1);
  PrintCost("{\"cold\"", cold);
  PrintCost(", \"run\"", run);
  PrintCost(", \"binding\"", binding);
  printf(", \"ns_per_run\": %.0f}\n", binding.ns / kRuns);
  return 0;
}
