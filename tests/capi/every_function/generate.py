"""Writes a C program that calls every function of every table of the C interface with good and with bad arguments.

usage: generate.py OUTPUT.c [--kinds]

The program opens the library that it is given, makes the objects of objects.h and prints a line for each call:
`TABLE.FUNCTION CALL | status 0, out 1`. A CALL is `good`, or says which one argument is another: `name=NULL`. Each call
runs in a process of its own, because some end it, and leave nothing behind for the next. The results are the code of
the status and what was written: numbers and texts as they are, of pointers only whether they are NULL.
With --kinds, the calls are others: each has one handle of another kind than the function expects (`name=session`).
To give a function other arguments: a row in arguments.tsv.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ABI = HERE.parents[2] / "tools/abi"
TABLES = {"OrtApi": "ort_api", "OrtModelEditorApi": "ort_model_editor_api", "OrtCompileApi": "ort_compile_api",
          "OrtInteropApi": "ort_interop_api", "OrtEpApi": "ort_ep_api",
          "OrtModelPackageApi": "ort_model_package_api"}
OBJECTS = {kind: name for kind, name in re.findall(r"^static (?:const )?(Ort\w+)\*?\s.*?\bthe_(\w+)",
                                                   (HERE / "objects.h").read_text(), re.M) if kind == "Ort" + name}
STRUCTS = set(re.findall(r"^static (Ort\w+) the_\w+", (HERE / "objects.h").read_text(), re.M))
ENUMS = {line.split("\t")[0] for line in (ABI / "enums.tsv").read_text().splitlines()[1:]}
NUMBERS = {"size_t", "int", "int32_t", "int64_t", "uint32_t", "uint64_t", "bool", "float", "double"}
FUNCTIONS = {line.split("\t")[0] for line in (ABI / "callbacks.tsv").read_text().splitlines()[1:]
             if line.split("\t")[1] == "function_pointer"}

# Good arguments: of one function, or (`*`) of all by the argument's name. OUT is a place for results.
ROWS = [line.split("\t") for line in (HERE / "arguments.tsv").read_text().splitlines()[1:]]
GOOD = {(function, name): expression for function, name, expression in ROWS}
# Functions whose value is not a tensor.
VALUES = {"GetStringTensor": "the_strings", "FillStringTensor": "the_strings", "GetResizedString": "the_strings",
          "Use": "the_sparse", "FillSparseTensor": "the_sparse", "GetSparseTensor": "the_coordinates"}
# Results that differ from run to run or from machine to machine, or that say which library it is.
HIDDEN = {"SessionGetProfilingStartTimeNs", "GetVersionString", "GetBuildInfoString", "SessionEndProfiling"}


def parameters_of(text):
    """[(type, name)] of a list of C parameters."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += character
    parts += [part]
    result = []
    for part in (p.strip() for p in parts):
        if part in ("", "void"):
            continue
        if function := re.fullmatch(r"(.*\(\s*(?:ORT_API_CALL\s*)?\*)(\w+)(\).*)", part):
            result.append((function[1] + function[3], function[2]))
        elif array := re.fullmatch(r"(.*?)(\w+)\[\]", part):
            result.append((array[1].strip() + "*", array[2]))
        else:
            match = re.fullmatch(r"(.*?)(\w+)", part)
            result.append((match[1].strip(), match[2]))
    return result


def rows():
    marks = {}
    for line in (ABI / "param_annotations.tsv").read_text().splitlines()[1:]:
        struct, _, function, _, name, _, mark = line.split("\t")
        marks[struct, function, name] = mark
    for struct, table in TABLES.items():
        for line in (ABI / f"{table}.tsv").read_text().splitlines()[1:]:
            _, function, result, parameters, _ = line.split("\t")
            yield struct, function, result, [(kind, name, marks.get((struct, function, name), "-"))
                                             for kind, name in parameters_of(parameters)]


def plain(kind):
    """The type without const, struct, enum and stars, and how many stars."""
    base = re.sub(r"\b(const|struct|enum)\b", "", kind).replace(" ", "")
    return base.rstrip("*"), base.count("*")


def is_function(kind):
    return "(" in kind or plain(kind)[0] in FUNCTIONS and "*" not in kind


def is_pointer(kind):
    return "*" in kind or is_function(kind)


def is_result(kind, mark):
    """Whether the function writes there."""
    base, stars = plain(kind)
    if is_function(kind):
        return False
    return stars > 0 and ("Out" in mark and "opt_p" not in mark or "_Inout_" in mark and base in NUMBERS)


def good(function, kind, name, mark, index):
    """A C expression for an argument that the function should accept."""
    base, stars = plain(kind)
    given = GOOD.get((function, name))
    if given == "OUT":
        return f"out[{index}]"
    if given is not None:
        return given
    if is_function(kind):
        return "&Nothing"
    if base == "OrtValue" and stars == 1:
        return next((value for start, value in VALUES.items() if function.startswith(start)), "the_Value")
    if base in OBJECTS and stars == 1:
        return f"&the_{OBJECTS[base]}" if base in STRUCTS else f"the_{OBJECTS[base]}"
    if is_result(kind, mark):
        return f"out[{index}]"
    if ("*", name) in GOOD and (stars == 0 or base in NUMBERS or base in ("char", "ORTCHAR_T", "void") or stars == 2):
        return GOOD["*", name]
    if base in ("char", "ORTCHAR_T"):
        return '"text"' if stars == 1 else "kTexts"
    if base == "OrtValue" and stars == 2:
        return "values" if kind.count("const") else "no_values"
    lists = {"OrtValueInfo": "value_infos", "OrtNode": "nodes", "OrtOpAttr": "attributes",
             "OrtProfilingEvent": "events", "OrtEpDevice": "devices",
             "OrtHardwareDevice": "hardware", "OrtDataType": "types"}
    if stars == 2 and base in lists:
        return lists[base]
    if stars and base.startswith("Ort"):
        return "NULL"
    return f"out[{index}]" if stars else "0"


# Sizes of what another argument points to: a greater one reads what is not there, so only 0 is tried.
SIZE = re.compile(r"len|length|count|num_|_num$|size|^total$|entries|bytes")


# Handles of a large and of a small struct, and a value, which is no struct of the C interface.
KINDS = {"session": "the_Session", "arena_configuration": "the_ArenaCfg", "value": "the_Value"}
# What has no mark of its kind: a struct of the caller may begin as a value does, so only marks are recognized there.
UNMARKED = {"OrtAllocator", "OrtCustomOp", "OrtEnvCreationOptions", "OrtThreadPoolCallbacksConfig", "OrtOpAttr",
            "OrtSyncStream"}
# Structs of vendors, which are not looked at, and those of plug-ins.
UNSEEN = {"OrtMemoryDevice", "OrtDataType", "OrtSyncStreamImpl", "OrtKernelImpl", "OrtEp", "OrtEpFactory", "OrtApi",
            "OrtLoopKernelHelper", "OrtScanKernelHelper", "OrtExternalResourceImporter", "OrtExternalMemoryHandle",
            "OrtExternalSemaphoreHandle"}
UNSEEN_FUNCTION = re.compile(r"_(CUDA|ROCM|OpenVINO|TensorRT|MIGraphX|CANN|Dnnl|VitisAI)|ProviderOptions")


def other_kinds(function, kind, name, mark):
    """[(how the call is called, expression)] of handles of other kinds."""
    base, stars = plain(kind)
    if is_function(kind) or is_result(kind, mark) or not base.startswith("Ort") or base in ENUMS or base in UNSEEN:
        return []
    if UNSEEN_FUNCTION.search(function):
        return []
    if stars == 1:
        return [(label, handle) for label, handle in KINDS.items()
                if handle != f"the_{base[3:]}" and (label != "value" or base not in UNMARKED)]
    if base == "OrtValue" and "const" in kind:
        return [("sessions", "(void*[]){the_Session}")]
    return []


def others(function, kind, name):
    """[(how the call is called, expression)] of bad values of an argument."""
    base, stars = plain(kind)
    if is_pointer(kind):
        found = [("NULL", "NULL")]
        if base in ("char", "ORTCHAR_T") and stars == 1 and "const" in kind:
            found += [("''", '""'), ("'nonsense'", '"nonsense"')]
        return found
    if kind == "bool":
        return [("true", "1")]
    if base in ENUMS or base in ("ONNXTensorElementDataType", "ONNXType"):
        return [("9999", "9999"), ("-1", "-1")]
    if name in ("index", "input_index", "output_index"):
        return [("1000", "1000")]
    if base == "size_t" or SIZE.search(name):
        return [("0", "0")]
    return [("-1", "-1"), ("9999", "9999")] if not base.startswith("u") else [("9999", "9999")]


def printed(index, kind, mark):
    """The statement that prints what an argument for a result has got."""
    base, stars = plain(kind)
    at = f"out[{index}]"
    if base in ("char", "ORTCHAR_T") and stars == 1:
        return f"PrintText({at});"
    if base in ("char", "ORTCHAR_T") and stars == 2:
        return f"PrintText(*(char**){at});"
    if stars >= 2:
        return f"PrintPointer(*(void**){at});"
    if base in ("float", "double"):
        return f'Print("%g", (double)*({base}*){at});'
    if base in NUMBERS or base in ENUMS:
        return f'Print("%lld", (long long)*({base}*){at});'
    return f"PrintPointer(*(void**){at});"


def phase(parameters):
    kinds = {plain(kind)[0] for kind, _, _ in parameters}
    if "OrtShapeInferContext" in kinds:
        return "kInShapeInference"
    return "kInCompute" if kinds & {"OrtKernelContext", "OrtKernelInfo", "OrtOp", "OrtLogger"} else "kAnywhere"


def call(struct, function, result, parameters, kinds=False):
    """The C function that makes the calls of `function`, and the names of the calls."""
    names, arguments, prints = ["good"], [], []
    for index, (kind, name, mark) in enumerate(parameters):
        expression = good(function, kind, name, mark, index)
        cast = "void*" if "(" in kind else kind
        chosen = f"({cast})({expression})"
        for label, value in other_kinds(function, kind, name, mark) if kinds else others(function, kind, name):
            if value == expression:
                continue
            chosen = f"call == {len(names)} ? ({cast})({value}) : {chosen}"
            names.append(f"{name}={label}")
        arguments.append(chosen)
        if expression == f"out[{index}]" and "_In_" not in mark.replace("_Inout_", "") and is_pointer(kind):
            prints.append(f'  Print(" %s ", "{name}"); {printed(index, kind, mark)}')
    lines = [f"static void Call_{struct}_{function}(int call) {{"]
    for index, (kind, _, mark) in enumerate(parameters):
        if "_Inout_" in mark and plain(kind) == ("size_t", 1):
            lines.append(f"  *(size_t*)out[{index}] = 1000;")
    text = ",\n      ".join(arguments)
    made = f"the_table_{struct}->{function}({text})"
    if result == "void":
        lines += [f"  {made};", '  Print("done");']
    elif result in ("OrtStatusPtr", "OrtStatus*") and function != "CreateStatus":
        lines += [f"  if (PrintStatus({made})) return;"]
    else:
        base, stars = plain(result)
        shown = ('Print("%s", result != NULL ? "set" : "NULL")' if is_pointer(result) and base != "char"
                 else "PrintText((char*)result)" if base == "char" else 'Print("%lld", (long long)result)')
        lines += [f"  {'void*' if is_pointer(result) else result} result = (void*){made};" if is_pointer(result)
                  else f"  {result} result = {made};", f"  {shown};"]
    if function not in HIDDEN:
        lines += prints
    return [*lines, "}"], names


TAIL = r"""
static const struct {
  const char *table, *function;
  void (*call)(int call);
  const char* const* names;
  int count, phase;
} kFunctions[] = {
%s
};

static const char* only;  // the function to call, or NULL for all

static void RunCalls(int phase) {
  for (size_t i = 0; i < sizeof kFunctions / sizeof kFunctions[0]; ++i) {
    if (kFunctions[i].phase != phase || (only != NULL && strcmp(only, kFunctions[i].function) != 0)) continue;
    for (int call = kFirstCall; call < kFunctions[i].count; ++call) {
      said[0] = '\0';
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
        alarm(10);
        kFunctions[i].call(call);
        _exit(0);
      }
      int ended = 0;
      waitpid(child, &ended, 0);
      const int hung = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM;
      printf("%%s.%%s %%s | %%s\n", kFunctions[i].table, kFunctions[i].function, kFunctions[i].names[call],
             hung ? "hangs" : !WIFEXITED(ended) ? "crashes" : WEXITSTATUS(ended) != 0 ? "exits" : said);
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 4;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%%s\n", dlerror());
    return 4;
  }
  only = argc > 3 ? argv[3] : NULL;
  said = mmap(NULL, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const OrtApiBase* (ORT_API_CALL *get)(void) = dlsym(library, "OrtGetApiBase");
  ort = get()->GetApi(ORT_API_VERSION);
  the_table_OrtModelEditorApi = ort->GetModelEditorApi();
  the_table_OrtCompileApi = ort->GetCompileApi();
  the_table_OrtInteropApi = ort->GetInteropApi();
  the_table_OrtEpApi = ort->GetEpApi();
  the_table_OrtModelPackageApi = ort->GetModelPackageApi();
  MakeObjects(argv[2]);
  RunCalls(kAnywhere);
  RunProbe();
  return 0;
}
"""
PRINT = r"""
// What a call prints: the process of the call writes it, the program reads it.
enum { kRoom = 65536 };
static char* said;

static void Print(const char* format, ...) {
  const size_t length = strlen(said);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said + length, kRoom - length, format, arguments);
  va_end(arguments);
}

static void PrintPointer(const void* pointer) { Print("%s", pointer != NULL ? "set" : "NULL"); }

static void PrintText(const char* text) {
  if (text == NULL) {
    Print("NULL");
    return;
  }
  // Where the folder of this run stands says nothing about the library.
  const char* at = strstr(text, folder);
  Print("'%.100s'", at == text ? text + strlen(folder) : text);
}

// Whether the call has failed; then it has written nothing that may be read.
static int PrintStatus(OrtStatus* status) {
  Print("status %d", status != NULL ? (int)ort->GetErrorCode(status) : 0);
  if (status != NULL && getenv("SDX_SHOW_MESSAGES") != NULL) fprintf(stderr, "  %s\n", ort->GetErrorMessage(status));
  const int failed = status != NULL;
  ort->ReleaseStatus(status);
  return failed;
}
"""


def program(kinds):
    lines = ["// Written by tests/capi/every_function/generate.py; do not edit.", '#include "objects.h"', PRINT,
             f"enum {{ kFirstCall = {int(kinds)} }};"]
    listed = []
    for struct, function, result, parameters in rows():
        body, names = call(struct, function, result, parameters, kinds)
        names_of = f"kNames_{struct}_{function}"
        texts = ", ".join(f'"{name}"' for name in names)
        lines += body + [f"static const char* const {names_of}[] = {{{texts}}};"]
        listed.append(f'    {{"{struct}", "{function}", Call_{struct}_{function}, {names_of}, {len(names)}, '
                      f"{phase(parameters)}}},")
    return "\n".join(lines) + TAIL % "\n".join(listed)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(program(kinds="--kinds" in sys.argv[2:]))
