"""Writes a C program that calls every function of OrtApi with NULL for each argument that must not be NULL, in turn.

usage: null_arguments.py OUTPUT.c

The other arguments are valid objects where the program can make them (MAKERS); arguments of other types are NULL as
well, and the error may name any of those. Each call runs in a process of its own, because a function must not crash
whatever was freed before.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Objects that the program makes, by type.
OBJECTS = {"OrtEnv": "env", "OrtSession": "session", "OrtSessionOptions": "session_options",
           "OrtRunOptions": "run_options", "OrtValue": "value", "OrtMemoryInfo": "memory_info",
           "OrtAllocator": "allocator", "OrtTypeInfo": "type_info", "OrtTensorTypeAndShapeInfo": "tensor_info",
           "OrtModelMetadata": "metadata", "OrtIoBinding": "binding", "OrtThreadingOptions": "threading_options",
           "OrtKeyValuePairs": "pairs", "OrtArenaCfg": "arena", "OrtPrepackedWeightsContainer": "container",
           "OrtStatus": "status", "OrtMapTypeInfo": "map_info", "OrtSequenceTypeInfo": "sequence_info",
           "OrtOptionalTypeInfo": "optional_info", "OrtEpDevice": "ep_device", "OrtHardwareDevice": "hardware_device",
           "OrtEnvCreationOptions": "(&env_options)", "OrtThreadPoolCallbacksConfig": "(&callbacks)"}
HEAD = r"""// Written by tests/capi/null_arguments.py; do not edit.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnxruntime_c_api.h"

static const OrtApi* ort;
static OrtEnv* env;
static OrtSession* session;
static OrtSessionOptions* session_options;
static OrtRunOptions* run_options;
static OrtValue* value;
static OrtMemoryInfo* memory_info;
static OrtAllocator* allocator;
static OrtTypeInfo* type_info;
static OrtTensorTypeAndShapeInfo* tensor_info;
static const OrtMapTypeInfo* map_info;
static const OrtSequenceTypeInfo* sequence_info;
static const OrtOptionalTypeInfo* optional_info;
static OrtModelMetadata* metadata;
static OrtIoBinding* binding;
static OrtThreadingOptions* threading_options;
static OrtKeyValuePairs* pairs;
static OrtArenaCfg* arena;
static OrtPrepackedWeightsContainer* container;
static OrtStatus* status;
static const OrtEpDevice* ep_device;
static const OrtHardwareDevice* hardware_device;
static OrtEnvCreationOptions env_options = {0};
static OrtThreadPoolCallbacksConfig callbacks = {0};
static char scratch[4096];
static const char* texts[] = {"Cpu"};
static const int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const float numbers[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static void* pointers[1];
static OrtValue* strings;
static OrtValue* sequence;
static OrtValue* sparse;
static OrtValue* coordinates;

static void Nothing(void) {}

static void Must(OrtStatus* made) {
  if (made == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(made));
  exit(2);
}

static void MakeTypes(void) {
  const OrtModelEditorApi* editor = ort->GetModelEditorApi();
  static OrtTypeInfo* types[3];  // as long as the process: what is cast belongs to them
  Must(editor->CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, type_info, &types[0]));
  Must(ort->CastTypeInfoToMapTypeInfo(types[0], &map_info));
  Must(editor->CreateSequenceTypeInfo(type_info, &types[1]));
  Must(ort->CastTypeInfoToSequenceTypeInfo(types[1], &sequence_info));
  Must(editor->CreateOptionalTypeInfo(type_info, &types[2]));
  Must(ort->CastTypeInfoToOptionalTypeInfo(types[2], &optional_info));
}

static void MakeObjects(const char* model) {
  const int64_t shape[] = {1};
  const OrtEpDevice* const* devices = NULL;
  size_t count = 0;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "null_arguments", &env));
  Must(ort->CreateSessionOptions(&session_options));
  Must(ort->SetIntraOpNumThreads(session_options, 1));  // a process after a fork has no other threads
  Must(ort->CreateSession(env, model, session_options, &session));
  Must(ort->CreateRunOptions(&run_options));
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  pointers[0] = value;
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &strings));
  Must(ort->CreateValue((const OrtValue* const*)pointers, 1, ONNX_TYPE_SEQUENCE, &sequence));
  Must(ort->CreateSparseTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &sparse));
  Must(ort->CreateSparseTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &coordinates));
  Must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_info));
  const int64_t zero = 0;
  Must(ort->FillSparseTensorCoo(coordinates, memory_info, shape, 1, numbers, &zero, 1));
  Must(ort->AddSessionConfigEntry(session_options, "Cpu", "1"));
  Must(ort->SessionGetInputTypeInfo(session, 0, &type_info));
  MakeTypes();
  Must(ort->CreateTensorTypeAndShapeInfo(&tensor_info));
  Must(ort->SessionGetModelMetadata(session, &metadata));
  Must(ort->CreateIoBinding(session, &binding));
  Must(ort->CreateThreadingOptions(&threading_options));
  ort->CreateKeyValuePairs(&pairs);
  Must(ort->CreateArenaCfg(0, -1, -1, -1, &arena));
  Must(ort->CreatePrepackedWeightsContainer(&container));
  status = ort->CreateStatus(ORT_FAIL, "a status");
  Must(ort->GetEpDevices(env, &devices, &count));
  ep_device = devices[0];
  hardware_device = ort->EpDevice_Device(ep_device);
  env_options.version = ORT_API_VERSION;
  env_options.log_id = "x";
  callbacks.version = ORT_API_VERSION;
}

#define PICK(i, type, valid) (null == (i) ? (type)NULL : (type)(valid))

// What a call answered: 0 an error that names one of `names`, 1 success, 2 an error that names none of them, 3 that the
// function is not implemented.
static int Judge(const char* function, OrtStatus* answer, const char* names) {
  if (answer == NULL) return 1;
  const char* message = ort->GetErrorMessage(answer);
  if (strstr(message, "is not implemented in Sardonyx") != NULL) return 3;
  char copy[512];
  snprintf(copy, sizeof copy, "%s", names);
  for (char* name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
    char quoted[128];
    snprintf(quoted, sizeof quoted, "'%s'", name);
    if (strstr(message, quoted) != NULL) return 0;
  }
  fprintf(stderr, "%s: %s\n", function, message);
  return 2;
}
"""
MAIN = r"""
int main(int argc, char** argv) {
  if (argc < 2) return 4;
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  MakeObjects(argv[1]);
  setvbuf(stdout, NULL, _IONBF, 0);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (argc > 2 && strcmp(argv[2], calls[i].function) != 0) continue;
    const pid_t child = fork();
    if (child == 0) _exit(calls[i].call(calls[i].null));
    int ended = 0;
    waitpid(child, &ended, 0);
    const char* const kAnswers[] = {"error", "success", "other", "not_implemented"};
    const char* answer = WIFEXITED(ended) && WEXITSTATUS(ended) < 4 ? kAnswers[WEXITSTATUS(ended)] : "crash";
    printf("%s %s %s\n", calls[i].function, calls[i].argument, answer);
  }
  return 0;
}
"""


def annotations():
    rows = [line.split("\t") for line in (ROOT / "tools/abi/param_annotations.tsv").read_text().splitlines()[1:]]
    functions = {}
    for struct, _, function, _, name, kind, mark in rows:
        if struct == "OrtApi":
            functions.setdefault(function, []).append((name, kind, mark))
    return functions


def is_pointer(kind):
    return "*" in kind or kind.endswith("[]") or kind.endswith(("Fn", "Func", "OrtLoggingFunction"))


def value_for(function):
    """The value that the function works on."""
    if re.match(r"Fill.*Sparse|Use\w+Indices", function):
        return "sparse"
    if "SparseTensor" in function:
        return "coordinates"
    if "String" in function:
        return "strings"
    return "sequence" if function in ("GetValue", "GetValueCount") else "value"


def valid(function, name, kind):
    """A C expression for this parameter that is valid where the program has one, and whether it has."""
    if name in ("index", "indices_format"):
        return "0", True
    if name in ("p_data_len", "size_in_bytes"):
        return "4", True
    if kind.endswith("OrtValue*"):
        return value_for(function), True
    if kind == "const int64_t*":
        return "ones", True
    if kind == "enum ONNXTensorElementDataType" or kind == "ONNXTensorElementDataType":
        return "1", True
    return valid_kind(kind)


def valid_kind(kind):
    base = re.sub(r"\b(const|struct|enum)\b", "", kind).replace(" ", "")
    name, stars = base.rstrip("*[]"), base.count("*") + base.count("[]")
    if "(*" in kind or kind.endswith(("Fn", "Func", "OrtLoggingFunction")):
        return "&Nothing", True
    if not is_pointer(kind):
        return "1" if name in ("size_t", "uint32_t") else "0", True
    if name in OBJECTS and stars == 1:
        return OBJECTS[name], True
    if name.startswith("Ort") and stars == 1 and not re.search(r"Type|Format|Level|Compatibility", name):
        return "NULL", False
    if name in ("char", "ORTCHAR_T") and stars == 1:
        return ("texts[0]" if "const" in kind else "scratch"), True
    if name in ("char", "ORTCHAR_T") and kind.count("const") == 2 and stars == 2:
        return "texts", True
    if name == "OrtValue" and kind.count("const") >= 1 and stars == 2 and kind.rstrip().endswith("const*"):
        return "pointers", True
    return "scratch", True


def program():
    out, calls = [HEAD], []
    results = {row[1]: row[2] for row in
               (line.split("\t") for line in (ROOT / "tools/abi/ort_api.tsv").read_text().splitlines()[1:])}
    for function, parameters in annotations().items():
        wanted = [(i, name) for i, (name, kind, mark) in enumerate(parameters)
                  if is_pointer(kind) and mark != "-" and "opt" not in mark]
        released = [(i, name) for i, (name, _, mark) in enumerate(parameters) if mark == "_Frees_ptr_opt_"]
        if not wanted and not released:
            continue
        returns_status = results[function] in ("OrtStatusPtr", "OrtStatus*")
        missing = [name for name, kind, _ in parameters if is_pointer(kind) and not valid(function, name, kind)[1]]
        types = [kind.replace("[]", "*") if "(*" not in kind else "void*" for _, kind, _ in parameters]
        arguments = ", ".join(
            f"PICK({i}, {types[i]}, {expression})" if is_pointer(kind) else f"({kind}){expression}"
            for i, (name, kind, _) in enumerate(parameters) for expression in [valid(function, name, kind)[0]])
        out.append(f"static int Call_{function}(int null) {{")
        if returns_status and not released:
            names = ",".join(name for name, _, _ in parameters)
            quoted = ", ".join(f'"{name}"' for name, _, _ in parameters)
            out.append(f"  static const char* const kNames[] = {{{quoted}}};")
            out.append("  char names[512];")
            out.append(f'  snprintf(names, sizeof names, "%s,{",".join(missing)}", kNames[null]);')
            out.append(f'  return Judge("{function}", ort->{function}({arguments}), names);')
            assert len(names) < 500, function
        else:
            out.append(f"  (void)ort->{function}({arguments});")
            out.append("  return 0;")
        out.append("}")
        calls += [f'    {{"{function}", "{name}", Call_{function}, {i}}},' for i, name in wanted + released]
    out += ["", "static const struct {", "  const char *function, *argument;", "  int (*call)(int null);",
            "  int null;", "} calls[] = {", *calls, "};", MAIN]
    return "\n".join(out)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(program())
