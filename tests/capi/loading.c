/* tests/capi/loading.c - opens, uses and closes libraries with the C ABI in one process, in the order that it is told.
 *
 * usage: capi_loading MODEL STEP...
 *   open:FLAG:LIBRARY  dlopen with RTLD_LOCAL ("local"), RTLD_GLOBAL ("global") or RTLD_DEEPBIND ("deepbind")
 *   run:N              runs MODEL (float x[2,3] to y) on the library opened as number N, from 0, and prints "N y..."
 *   close:N            releases what runs on it have made, and closes it
 *   forget:N           closes it, but leaves its session alive
 *   again:N:LIBRARY    opens, uses and closes it N times (RTLD_LOCAL), and prints what the last half of them has added:
 *                      "grown" kibibytes of resident memory, mapped files, open files
 *   mapped:PART        prints whether a file with PART in its path is mapped
 *   threads            prints the number of threads of the process */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnxruntime_c_api.h"

enum { kMost = 8 };

struct Opened {
  void* handle;
  const OrtApi* ort;
  OrtEnv* env;
  OrtSession* session;
};

static struct Opened all[kMost];
static int opened;

static void Must(const OrtApi* ort, OrtStatusPtr status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  exit(2);
}

static void Open(char* text) {
  char* path = strchr(text, ':');
  if (path == NULL || opened == kMost) exit(1);
  *path++ = '\0';
  const int scope = strcmp(text, "global") == 0     ? RTLD_GLOBAL
                    : strcmp(text, "deepbind") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND
                                                    : RTLD_LOCAL;
  struct Opened* library = &all[opened++];
  memset(library, 0, sizeof(*library));
  library->handle = dlopen(path, RTLD_NOW | scope);
  const OrtApiBase* (*get_base)(void) = NULL;
  if (library->handle != NULL) *(void**)&get_base = dlsym(library->handle, "OrtGetApiBase");
  if (get_base == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  library->ort = get_base()->GetApi(16); /* an old one, which both libraries have */
}

static void Run(struct Opened* library, const char* model, int print) {
  const OrtApi* ort = library->ort;
  static float x[] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3};
  const char *in = "x", *out = "y";
  OrtMemoryInfo* host = NULL;
  OrtValue *input = NULL, *output = NULL;
  OrtTensorTypeAndShapeInfo* info = NULL;
  float* y = NULL;
  size_t count = 0;
  if (library->session == NULL) {
    Must(ort, ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "loading", &library->env));
    Must(ort, ort->CreateSession(library->env, model, NULL, &library->session));
  }
  Must(ort, ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host));
  Must(ort,
       ort->CreateTensorWithDataAsOrtValue(host, x, sizeof(x), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  Must(ort, ort->Run(library->session, NULL, &in, (const OrtValue* const*)&input, 1, &out, 1, &output));
  Must(ort, ort->GetTensorTypeAndShape(output, &info));
  Must(ort, ort->GetTensorShapeElementCount(info, &count));
  Must(ort, ort->GetTensorMutableData(output, (void**)&y));
  if (print) {
    printf("%d", (int)(library - all));
    for (size_t i = 0; i < count; ++i) printf(" %g", (double)y[i]);
    printf("\n");
  }
  ort->ReleaseTensorTypeAndShapeInfo(info);
  ort->ReleaseValue(output);
  ort->ReleaseValue(input);
  ort->ReleaseMemoryInfo(host);
}

static void Close(struct Opened* library, int forget_session) {
  if (library->session != NULL && !forget_session) library->ort->ReleaseSession(library->session);
  if (library->env != NULL) library->ort->ReleaseEnv(library->env);
  if (dlclose(library->handle) != 0) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
}

static int Lines(const char* path) {
  FILE* file = fopen(path, "r");
  int count = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) count += c == '\n';
  fclose(file);
  return count;
}

static int Entries(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static long ResidentKibibytes(void) {
  FILE* file = fopen("/proc/self/statm", "r");
  long size = 0, resident = 0;
  if (fscanf(file, "%ld %ld", &size, &resident) != 2) exit(2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void Again(const char* model, char* text) {
  const int turns = atoi(text);
  const char* path = strchr(text, ':') + 1;
  long memory = 0;
  int maps = 0, files = 0;
  for (int turn = 0; turn < turns; ++turn) {
    char step[4200];
    snprintf(step, sizeof step, "local:%s", path);
    opened = 0;
    Open(step);
    Run(&all[0], model, 0);
    Close(&all[0], 0);
    if (turn + 1 != turns / 2) continue;
    memory = ResidentKibibytes();
    maps = Lines("/proc/self/maps");
    files = Entries("/proc/self/fd");
  }
  opened = 0;
  printf("grown %ld %d %d\n", ResidentKibibytes() - memory, Lines("/proc/self/maps") - maps,
         Entries("/proc/self/fd") - files);
}

static void PrintMapped(const char* part) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[8192];
  int found = 0;
  while (fgets(line, sizeof(line), maps) != NULL) found |= strstr(line, part) != NULL;
  fclose(maps);
  printf("mapped %d\n", found);
}

static void PrintThreads(void) { printf("threads %d\n", Entries("/proc/self/task")); }

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  for (int i = 2; i < argc; ++i) {
    char* argument = strchr(argv[i], ':');
    if (strcmp(argv[i], "threads") == 0) {
      PrintThreads();
      continue;
    }
    if (argument == NULL) return 1;
    ++argument;
    if (strncmp(argv[i], "open:", 5) == 0) {
      Open(argument);
    } else if (strncmp(argv[i], "again:", 6) == 0) {
      Again(argv[1], argument);
    } else if (strncmp(argv[i], "mapped:", 7) == 0) {
      PrintMapped(argument);
    } else {
      const int number = atoi(argument);
      if (number < 0 || number >= opened) return 1;
      if (strncmp(argv[i], "run:", 4) == 0) {
        Run(&all[number], argv[1], 1);
      } else {
        Close(&all[number], strncmp(argv[i], "forget:", 7) == 0);
      }
    }
    fflush(stdout);
  }
  return 0;
}
