// benchmarks/boundary.c - how long calls through the C interface take, of two libraries that take turns in one process.
//
// usage: boundary LIBRARY PLUGIN LIBRARY PLUGIN ONE_NODE MANY_NODES
//   PLUGIN      boundary_plugin.so, one copy for each library
//   ONE_NODE    a model y = Neg(x) with float x[1]; MANY_NODES one with a chain of them
// Prints a line for each kind of run: its name, then the nanoseconds of a run with each library, once for each turn.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "onnxruntime_c_api.h"

enum { kTurns = 60, kRuns = 2000, kLibraries = 2 };

typedef struct {
  const OrtApi* ort;
  OrtSession* session;
  OrtIoBinding* binding;
  OrtValue *input, *output;
} Runner;

static void Must(const OrtApi* ort, OrtStatus* status, int line) {
  if (status == NULL) return;
  fprintf(stderr, "boundary.c:%d: %s\n", line, ort->GetErrorMessage(status));
  exit(2);
}
#define MUST(call) Must(ort, call, __LINE__)

// Of the processor that this thread has used: all runs are on this thread alone, and other programs do not count.
static double Now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static float values[kLibraries][2];

// `kind`: which device of the plug-in runs the nodes; NULL: the CPU provider.
static Runner MakeRunner(const OrtApi* ort, OrtEnv* env, const char* model, const char* kind, float* data) {
  Runner runner = {.ort = ort};
  const int64_t shape[1] = {1};
  OrtMemoryInfo* host = NULL;
  OrtSessionOptions* options = NULL;
  MUST(ort->CreateSessionOptions(&options));
  MUST(ort->SetIntraOpNumThreads(options, 1));
  // Two negations in a row would cancel out.
  MUST(ort->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
  if (kind != NULL) {
    const OrtEpDevice* const* devices = NULL;
    const OrtEpDevice* chosen = NULL;
    size_t count = 0;
    MUST(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; ++i) {
      const char* found = ort->GetKeyValue(ort->EpDevice_EpMetadata(devices[i]), "kind");
      if (found != NULL && strcmp(found, kind) == 0) chosen = devices[i];
    }
    MUST(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &chosen, 1, NULL, NULL, 0));
  }
  MUST(ort->CreateSession(env, model, options, &runner.session));
  ort->ReleaseSessionOptions(options);
  MUST(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  MUST(ort->CreateTensorWithDataAsOrtValue(host, &data[0], sizeof(float), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                           &runner.input));
  MUST(ort->CreateTensorWithDataAsOrtValue(host, &data[1], sizeof(float), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                           &runner.output));
  MUST(ort->CreateIoBinding(runner.session, &runner.binding));
  MUST(ort->BindInput(runner.binding, "x", runner.input));
  MUST(ort->BindOutput(runner.binding, "y", runner.output));
  ort->ReleaseMemoryInfo(host);
  return runner;
}

static void RunBound(Runner* runner) {
  const OrtApi* ort = runner->ort;
  MUST(ort->RunWithBinding(runner->session, NULL, runner->binding));
}

static void RunNamed(Runner* runner) {
  const OrtApi* ort = runner->ort;
  static const char* const kInputs[] = {"x"};
  static const char* const kOutputs[] = {"y"};
  MUST(ort->Run(runner->session, NULL, kInputs, (const OrtValue* const*)&runner->input, 1, kOutputs, 1,
                &runner->output));
}

static double TimeOf(void (*run)(Runner*), Runner* runner) {
  const double begin = Now();
  for (int i = 0; i < kRuns; ++i) run(runner);
  return (Now() - begin) / kRuns;
}

static void Measure(const char* name, void (*run)(Runner*), Runner* runners) {
  for (int i = 0; i < kLibraries; ++i) {
    values[i][0] = 3;
    values[i][1] = 0;
    for (int warm = 0; warm < 200; ++warm) run(&runners[i]);
    if (values[i][1] != 3 && values[i][1] != -3) {
      fprintf(stderr, "%s: expected 3 or -3, found %g\n", name, values[i][1]);
      exit(3);
    }
  }
  printf("%s", name);
  for (int turn = 0; turn < kTurns; ++turn) {
    double times[kLibraries];
    for (int i = 0; i < kLibraries; ++i) {
      const int library = turn % 2 == 0 ? i : kLibraries - 1 - i;
      times[library] = TimeOf(run, &runners[library]);
    }
    printf(" %.1f,%.1f", times[0], times[1]);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc != 7) return 4;
  const OrtApi* apis[kLibraries];
  OrtEnv* envs[kLibraries];
  for (int i = 0; i < kLibraries; ++i) {
    void* library = dlopen(argv[1 + 2 * i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 4;
    }
    const OrtApiBase*(ORT_API_CALL * get)(void) = dlsym(library, "OrtGetApiBase");
    const OrtApi* ort = apis[i] = get()->GetApi(ORT_API_VERSION);
    MUST(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "boundary", &envs[i]));
    MUST(ort->RegisterExecutionProviderLibrary(envs[i], "boundary", argv[2 + 2 * i]));
  }
  static const struct {
    const char *name, *device;
    int model;
  } kRunners[] = {{"cpu", NULL, 5},
                  {"compiled", "compiled", 5},
                  {"compiled_chain", "compiled", 6},
                  {"kernel", "kernels", 5},
                  {"kernel_chain", "kernels", 6}};
  for (size_t kind = 0; kind < sizeof kRunners / sizeof kRunners[0]; ++kind) {
    Runner runners[kLibraries];
    char name[64];
    for (int i = 0; i < kLibraries; ++i)
      runners[i] = MakeRunner(apis[i], envs[i], argv[kRunners[kind].model], kRunners[kind].device, values[i]);
    snprintf(name, sizeof name, "%s_bound", kRunners[kind].name);
    Measure(name, RunBound, runners);
    snprintf(name, sizeof name, "%s_run", kRunners[kind].name);
    Measure(name, RunNamed, runners);
    for (int i = 0; i < kLibraries; ++i) {
      apis[i]->ReleaseIoBinding(runners[i].binding);
      apis[i]->ReleaseValue(runners[i].input);
      apis[i]->ReleaseValue(runners[i].output);
      apis[i]->ReleaseSession(runners[i].session);
    }
  }
  return 0;
}
