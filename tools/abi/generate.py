#!/usr/bin/env python3
"""Writes the headers of ONNX Runtime's C interface, tables of stubs and assertions from the tables beside this script.

usage: generate.py                  write the files
       generate.py --check          write nothing; name every file that differs, and exit with 1 if there is one
       generate.py --asserts FILE   write a C file of static assertions about our headers

The tables (*.tsv, opaque.txt) are facts about the binary interface: names, order, types, values. The words in
descriptions.tsv and ownership.tsv are ours: what a type or an implemented function does, and who frees what (a rule is
`release:FUNCTION`, `free_with:ALLOCATOR`, `borrowed` or `borrowed from OWNER`, or else a sentence). Slots are frozen: a
new release only adds rows at the end of a table.
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
API_VERSION = 31
VERSION = "1.31.1"  # the release that we report as ours, and whose symbol version new programs are linked with
# Programs ask for the symbol version of the release that they were linked with, patch releases included.
MINORS, PATCHES = range(41), range(10)

# struct, table, header, C++ namespace of the functions, description
TABLES = [
    ("OrtApi", "ort_api", "c", "", "The main table: environments, options, sessions, values, runs."),
    ("OrtModelEditorApi", "ort_model_editor_api", "c", "model_editor", "Builds and edits models in memory."),
    ("OrtCompileApi", "ort_compile_api", "c", "compile", "Compiles a model for an execution provider ahead of time."),
    ("OrtInteropApi", "ort_interop_api", "c", "interop", "Shares memory and semaphores with graphics APIs."),
    ("OrtModelPackageApi", "ort_model_package_api", "c", "model_package",
     "Reads packages that hold several variants of a model."),
    ("OrtEpApi", "ort_ep_api", "ep", "ep", "What plug-in execution providers call."),
    ("OrtTrainingApi", "ort_training_api", "training", "training", "On-device training."),
]
FIRST_EP_STRUCT = "OrtDataTransferImpl"  # this struct and all after it belong to the header of providers


def rows(name):
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def slots(table):
    return [(int(i), name, ret, params, since) for i, name, ret, params, since in rows(table + ".tsv")]


def descriptions():
    return {(kind, name): text for kind, name, text in rows("descriptions.tsv")}


def comment(text, indent=""):
    return textwrap.wrap(text, 120, initial_indent=indent + "// ", subsequent_indent=indent + "// ",
                         break_long_words=False, break_on_hyphens=False)


def signature(ret, pointer, params):
    """A field or typedef whose type is a function pointer."""
    return f"{ret} ({pointer})({params})"


def enum_text():
    out, groups, notes = [], {}, descriptions()
    for enum, name, value, since in rows("enums.tsv"):
        groups.setdefault(enum, []).append((name, value, since))
    for enum, entries in groups.items():
        if enum.startswith("MACRO"):
            continue
        since = entries[0][2]
        out += comment(f"{notes['enum', enum]} Since {since}.")
        out.append(f"typedef enum {enum} {{")
        for name, value, entry_since in entries:
            text = "(-2147483647 - 1)" if value == "-2147483648" else value
            note = f"  // since {entry_since}" if entry_since != since else ""
            out.append(f"  {name} = {text},{note}")
        out.append(f"}} {enum};\n")
    macros = [e for group, entries in groups.items() if group.startswith("MACRO:") for e in entries]
    out.append("// Former names of two enumerators of OrtExternalMemoryHandleType.")
    out += [f"#define {name} {value}" for name, value, _ in macros]
    return out


def forward_text():
    out = []
    for line in (HERE / "opaque.txt").read_text().split():
        out.append(f"typedef struct {line} {line};")
    names = list(dict.fromkeys(row[0] for row in rows("structs.tsv"))) + [t[0] for t in TABLES]
    out.append("")
    out += [f"typedef struct {name} {name};" for name in names]
    return out


def callback_text():
    out, notes = [], descriptions()
    for name, kind, type_text, convention in rows("callbacks.tsv"):
        out += comment(notes["callback", name])
        if kind == "alias":
            out.append(f"typedef {type_text} {name};")
            continue
        match = re.fullmatch(r"(.*?) ?\(\*\)\((.*)\)", type_text)
        call = "ORT_API_CALL *" if convention == "ORT_API_CALL" else "*"
        out.append("typedef " + signature(match[1], call + name, match[2]) + ";")
    for name, ret, params, since, _ in rows("experimental_api.tsv"):
        out.append(f"// What GetExperimentalFunction(\"{name}\") returns. Since {since}.")
        out.append("typedef " + signature(ret, f"ORT_API_CALL *OrtExperimental_{name}_Fn", params) + " NO_EXCEPTION;")
    return out


def struct_text(ep_part):
    out, groups, seen_ep, notes = [], {}, False, descriptions()
    for struct, _, field, type_text, since in rows("structs.tsv"):
        seen_ep = seen_ep or struct == FIRST_EP_STRUCT
        if seen_ep == ep_part:
            groups.setdefault(struct, []).append((field, type_text, since))
    for struct, fields in groups.items():
        out += comment(f"{notes['struct', struct]} Since {fields[0][2]}.")
        out.append(f"struct {struct} {{")
        since = fields[0][2]
        for field, type_text, field_since in fields:
            if field_since != since:
                out.append(f"  // since {field_since}:")
                since = field_since
            match = re.fullmatch(r"(.*?) \((ORT_API_CALL )?\*\)\((.*)\)", type_text)
            if match:
                out.append("  " + signature(match[1], f"{match[2] or ''}*{field}", match[3]) + ";")
            elif " [" in type_text:
                base, size = type_text.split(" [")
                out.append(f"  {base} {field}[{size};")
            else:
                out.append(f"  {type_text} {field};")
        out.append("};\n")
    return out


def ownership():
    """(table, function) -> sentences that say who frees what, where the types do not show it."""
    notes = {}
    for api, function, param, _, rule, _ in rows("ownership.tsv"):
        kind, _, name = rule.partition(":")
        if kind == "release":
            rule = f"Release `{param}` with {name}."
        elif kind == "free_with":
            rule = f"Free `{param}` with `{name}`."
        elif rule.startswith("borrowed"):
            rule = f"`{param}` is {rule}."
        notes.setdefault((api, function), []).append(rule)
    return notes


def table_text(header):
    out, owners, notes = [], ownership(), descriptions()
    for struct, table, where, _, about in TABLES:
        if where != header:
            continue
        out.append(f"// {about}")
        out.append(f"struct {struct} {{")
        version = None
        for index, name, ret, params, since in slots(table):
            if since != version:
                out += [*([""] if version else []), f"  // ---- Since {since}"]
                version = since
            out += comment(" ".join([notes.get((struct, name), ""), *owners.get((struct, name), [])]).strip(), "  ")
            out.append(f"  /* {index} */ " + signature(ret, f"ORT_API_CALL *{name}", params) + " NO_EXCEPTION;")
        out.append("};\n")
    return out


def wrap(lines, is_text):
    """Breaks lines of more than 120 columns at commas and blanks."""
    out = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        lead = "" if is_text else "  // " if line.lstrip().startswith("//") else " " * (indent + 4)
        while len(line) > 120:
            cut = max(line.rfind(", ", 0, 119) + 1, 0)
            if cut < 40:
                cut = line.rfind(" ", len(lead), 120)
            if cut <= len(lead):
                raise SystemExit(f"generate.py: expected a line that can be broken at 120 columns, found {line}")
            out.append(line[:cut].rstrip())
            line = lead + line[cut:].strip()
        out.append(line)
    return out


GENERATED = "// Generated by tools/abi/generate.py from the tables beside it; edit those."

PROLOGUE = f"""// onnxruntime_c_api.h - the C interface of Sardonyx, compatible with ONNX Runtime's (version {API_VERSION}).
//
{GENERATED}
//
// - Get the table of functions with OrtGetApiBase()->GetApi(ORT_API_VERSION).
// - A function that returns OrtStatusPtr returns NULL if it succeeds. Otherwise the status holds a code and a message,
//   and the caller releases it with ReleaseStatus. A NULL for an argument that is needed is ORT_INVALID_ARGUMENT.
// - docs/c_abi.md lists the functions that Sardonyx implements; they are described below. The others return
//   ORT_NOT_IMPLEMENTED with their name, or, if they return no status, do nothing and return 0 or NULL.
// - A result that is "borrowed" still belongs to the library: do not free it, and do not use it after the object that
//   it comes from is released. All Release functions accept NULL.
// - Texts are UTF-8 and end in NUL. Any number of threads may use one OrtEnv and one OrtSession at once; every other
//   object belongs to one thread at a time.
// - "Since" names the release of ONNX Runtime that added what follows.
// clang-format off
#pragma once
#ifndef SARDONYX_ONNXRUNTIME_C_API_H
#define SARDONYX_ONNXRUNTIME_C_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ORT_API_VERSION {API_VERSION}

#ifdef __cplusplus
#define NO_EXCEPTION noexcept
extern "C" {{
#else
#define NO_EXCEPTION
#endif

#ifdef _WIN32
#define ORT_API_CALL __stdcall
#define ORT_MUST_USE_RESULT
#define ORTCHAR_T wchar_t
#ifdef ORT_DLL_IMPORT
#define ORT_EXPORT __declspec(dllimport)
#else
#define ORT_EXPORT
#endif
#else
#define ORT_API_CALL
#define ORT_MUST_USE_RESULT __attribute__((warn_unused_result))
#define ORT_EXPORT __attribute__((visibility("default")))
#ifndef ORTCHAR_T
#define ORTCHAR_T char
#endif
#endif

// Strings of ORTCHAR_T: a literal, the text of a macro, the name of the source file.
#ifdef _WIN32
#define ORT_TSTR(x) L##x
#define ORT_TSTR_ON_MACRO(x) ORT_TSTR(x)
#define ORT_FILE_INTERNAL(x) ORT_TSTR(x)
#define ORT_FILE ORT_FILE_INTERNAL(__FILE__)
#else
#define ORT_TSTR(x) x
#define ORT_TSTR_ON_MACRO(x) x
#define ORT_FILE __FILE__
#endif

// Annotations of parameters, for programs that use them; only Microsoft's compiler gives them a meaning.
#ifndef _MSC_VER
#define _In_
#define _In_z_
#define _In_opt_
#define _In_opt_z_
#define _Out_
#define _Out_opt_
#define _Outptr_
#define _Outptr_result_maybenull_
#define _Inout_
#define _Inout_opt_
#define _Inout_updates_(X)
#define _Inout_updates_all_(X)
#define _Frees_ptr_opt_
#define _Ret_maybenull_
#define _Ret_notnull_
#define _Check_return_
#define _In_reads_(X)
#define _In_reads_opt_(X)
#define _Out_writes_(X)
#define _Out_writes_opt_(X)
#define _Out_writes_all_(X)
#define _Out_writes_bytes_all_(X)
#define _Outptr_result_buffer_(X)
#define _Outptr_result_buffer_maybenull_(X)
#define _Success_(X)
#define ORT_ALL_ARGS_NONNULL __attribute__((nonnull))
#else
#include <specstrings.h>
#define ORT_ALL_ARGS_NONNULL
#endif

// Macros that declare and define functions with the calling conventions of this interface.
#define ORT_API(RETURN_TYPE, NAME, ...) RETURN_TYPE ORT_API_CALL NAME(__VA_ARGS__) NO_EXCEPTION
#define ORT_API_STATUS(NAME, ...) OrtStatusPtr ORT_API_CALL NAME(__VA_ARGS__) NO_EXCEPTION ORT_MUST_USE_RESULT
#define ORT_API_STATUS_IMPL(NAME, ...) OrtStatusPtr ORT_API_CALL NAME(__VA_ARGS__) NO_EXCEPTION
#define ORT_API_T(RETURN_TYPE, NAME, ...) RETURN_TYPE (ORT_API_CALL *NAME)(__VA_ARGS__) NO_EXCEPTION
#define ORT_API2_STATUS(NAME, ...) OrtStatusPtr (ORT_API_CALL *NAME)(__VA_ARGS__) NO_EXCEPTION
#define ORT_RUNTIME_CLASS(X) \\
  struct Ort##X;             \\
  typedef struct Ort##X Ort##X
#define ORT_CLASS_RELEASE(X) void (ORT_API_CALL *Release##X)(Ort##X * input)
#define ORT_CLASS_RELEASE2(X) void (ORT_API_CALL *Release##X)(Ort##X * input) NO_EXCEPTION
"""


def exported_text():
    out = []
    for name, ret, params, where, _ in rows("exported_functions.tsv"):
        if where in ("onnxruntime_c_api.h", "providers/cpu/cpu_provider_factory.h") and name != "OrtGetApiBase":
            out.append(f"ORT_EXPORT {ret} ORT_API_CALL {name}({params}) NO_EXCEPTION;")
    return out


def main_header():
    out = [PROLOGUE, "// ---- Enumerations ----\n", *enum_text()]
    out += ["\n// ---- Handles and structs ----\n",
            "// Handles, of which programs see only pointers, and below them the structs.", *forward_text()]
    out += ["\n// ---- Callbacks ----\n", *callback_text(), "\n// ---- Structs ----\n", *struct_text(False)]
    out += ["// ---- Tables of functions ----\n", *table_text("c")]
    out += ["// ---- Exported functions ----\n",
            "// The entry point of the library. It never returns NULL, and what it returns is static.",
            "ORT_EXPORT const OrtApiBase* ORT_API_CALL OrtGetApiBase(void) NO_EXCEPTION;\n",
            "// Older functions that add an execution provider. They return ORT_INVALID_ARGUMENT if this library lacks it.",
            *exported_text(), "", "#ifdef __cplusplus", "}", "#endif", "",
            '#include "onnxruntime_ep_c_api.h"', "", "#endif  // SARDONYX_ONNXRUNTIME_C_API_H"]
    return out


def part_header(file, guard, about, body):
    return [f"// {file} - {about}", "//", GENERATED, "// clang-format off", "#pragma once",
            f"#ifndef {guard}", f"#define {guard}", "",
            '#include "onnxruntime_c_api.h"', "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "", *body,
            "#ifdef __cplusplus", "}", "#endif", "", f"#endif  // {guard}"]


def functions_header():
    out = ["// capi/functions.h - the function behind every slot of every table; definitions are in the area files.",
           "//", GENERATED, "// clang-format off", "#pragma once", "", '#include "onnxruntime_c_api.h"', '#include "onnxruntime_training_c_api.h"',
           ""]
    for struct, table, _, namespace, _ in TABLES:
        scope = "sardonyx::capi" + (f"::{namespace}" if namespace else "")
        out += [f"namespace {scope} {{  // {struct}", ""]
        for _, name, ret, params, _ in slots(table):
            out.append(f"{ret} ORT_API_CALL {name}({params}) noexcept;")
        out += ["", f"}}  // namespace {scope}", ""]
    return out[:-1]


def stub_tables():
    out = ["// capi/tables/not_implemented.inc - a table of each kind whose functions all return ORT_NOT_IMPLEMENTED with their name.",
           "//", GENERATED, "// Included by api_table.cpp only.", "// clang-format off", ""]
    for struct, table, where, _, _ in TABLES:
        if where == "training":
            continue  # GetTrainingApi returns NULL, which programs take for "no training"
        out.append(f"constexpr {struct} kNo{struct[3:]} = {{")
        for _, name, _, _, _ in slots(table):
            out.append(f'    .{name} = NotImplemented<"{struct}::{name}">{{}},')
        out += ["};", ""]
    return out[:-1]


def exported():
    """The rows of what the library exports under the names of ONNX Runtime."""
    return [row for row in rows("exported_functions.tsv")
            if row[3] in ("onnxruntime_c_api.h", "providers/cpu/cpu_provider_factory.h")]


def version_script():
    out = ["# capi/exports.map - what libsardonyx.so exports, and the symbol versions that linked programs ask for.", "#",
           GENERATED.replace("//", "#")]
    releases = [f"1.{minor}{patch}" for minor in MINORS for patch in ["", *(f".{patch}" for patch in PATCHES)]]
    out += [f"VERS_{release} {{}};" for release in releases if release != VERSION]
    out += [f"VERS_{VERSION} {{", "  global:", *[f"    {row[0]};" for row in exported()], "  local:", "    *;", "};",
            "SARDONYX_1 {", "  global:", "    SardonyxGetApi;", "};"]
    return out


def symbol_versions():
    minors, patches = ([f",{number}" for number in numbers] for numbers in (MINORS, PATCHES))
    assembly = [".irp minor" + "".join(minors[:20]), "".join(minors[20:]) + r"\n", rf".irp patch{''.join(patches)}\n",
                rf".ifnc \\minor\\().\\patch,{VERSION[2:]}\n",
                r'.symver " #name "_of_any_release, " #name "@VERS_1.\\minor\\().\\patch\n', r".endif\n.endr\n",
                r'.symver " #name "_of_any_release, " #name "@VERS_1.\\minor\n', r".endr\n"]
    out = ["// capi/symbol_versions.cpp - every exported function under the symbol version of each release.", "//", GENERATED,
           "// clang-format off",
           "// ELF only. A program linked with release 1.30.0 asks for OrtGetApiBase@VERS_1.30.0 and accepts no other.",
           '#include "onnxruntime_c_api.h"', "",
           f"// name_of_any_release as name@VERS_1.0.0 to name@VERS_1.{MINORS[-1]}.{PATCHES[-1]}, but for {VERSION}: that",
           "// version, which new programs are linked with, is given to `name` itself by exports.map. And as name@VERS_1.0 to",
           f"// name@VERS_1.{MINORS[-1]}: Debian's packages leave the patch release out.",
           "#define SDX_EVERY_RELEASE(name) \\", "  __asm__( \\",
           *[f'      "{line}" \\' for line in assembly], "  )", "", 'extern "C" {', ""]
    for name, ret, params, *_ in exported():
        params = "" if params == "void" else params
        arguments = ", ".join(part.split()[-1].lstrip("*") for part in params.split(", ")) if params else ""
        alias = f"{name}_of_any_release({params}) NO_EXCEPTION"
        out += [f"ORT_EXPORT {ret} {alias};", f"{ret} {alias} {{ return {name}({arguments}); }}",
                f"SDX_EVERY_RELEASE({name});", ""]
    return [*out, '}  // extern "C"']


def assertions():
    """C assertions about offsets, signatures, struct fields and enum values, to be compiled with our headers."""
    out = ["// abi_asserts.c - compiles only if our headers have the layout of the tables in tools/abi.", "//",
           GENERATED, "#include <stddef.h>", "", '#include "onnxruntime_c_api.h"', '#include "onnxruntime_training_c_api.h"',
           ""]
    same = "_Static_assert(__builtin_types_compatible_p(%s, %s), \"%s\");"
    for struct, table, _, _, _ in TABLES:
        entries = slots(table)
        for index, name, ret, params, _ in entries:
            out.append(f'_Static_assert(offsetof({struct}, {name}) == {index} * sizeof(void*), "{struct}.{name}");')
            out.append(f"typedef {ret} (ORT_API_CALL *T_{struct}_{name})({params});")
            out.append(same % (f"__typeof__((({struct}*)0)->{name})", f"T_{struct}_{name}", f"type {struct}.{name}"))
        out.append(f'_Static_assert(sizeof({struct}) == {len(entries)} * sizeof(void*), "size of {struct}");')
    previous = None
    for struct, _, field, type_text, _ in rows("structs.tsv"):
        if previous and previous[0] == struct:
            out.append(f'_Static_assert(offsetof({struct}, {field}) > offsetof({struct}, {previous[1]}), "{field}");')
        previous = (struct, field)
        if type_text.startswith("union"):
            continue
        match = re.fullmatch(r"(.*?) \((ORT_API_CALL )?\*\)\((.*)\)", type_text)
        if match:
            out.append(f"typedef {match[1]} ({match[2] or ''}*T_{struct}_{field})({match[3]});")
        else:
            base, _, size = type_text.partition(" [")
            out.append(f"typedef {base} T_{struct}_{field}{'[' + size if size else ''};")
        out.append(same % (f"__typeof__((({struct}*)0)->{field})", f"T_{struct}_{field}", f"type {struct}.{field}"))
    for _, name, value, _ in rows("enums.tsv"):
        out.append(f'_Static_assert((long long){name} == {value}LL, "{name}");')
    for name, _kind, type_text, _ in rows("callbacks.tsv"):
        match = re.fullmatch(r"(.*?) ?\(\*\)\((.*)\)", type_text)
        out.append(f"typedef {type_text} C_{name};" if not match else f"typedef {match[1]} (*C_{name})({match[2]});")
        out.append(same % (name, f"C_{name}", name))
    out += ["", "int main(void) { return 0; }"]
    return out


def coverage():
    """docs/c_abi.md: which functions are implemented; the tables in src/capi/tables decide that."""
    heading = r"^constexpr (?:(Ort\w+) Filled\w*\(\)|void Add\w+\((Ort\w+)& \w+\)) \{(.*?)^\}"
    filled = {}
    for table in sorted((ROOT / "src/capi/tables").glob("*_api*.inc")):
        for made, added, body in re.findall(heading, table.read_text(), re.MULTILINE | re.DOTALL):
            filled.setdefault(made or added, set()).update(re.findall(r"\b\w*api\.(\w+) =", body))
    out = ["# The C interface: implemented functions", "",
           "Written by `tools/abi/generate.py` from the tables in `src/capi/tables`; do not edit.", "",
           f"`OrtGetApiBase()->GetApi(1 ... {API_VERSION})` returns one table, whose slots are those of ONNX Runtime "
           f"{VERSION}. A function that is not implemented returns `ORT_NOT_IMPLEMENTED` with its name."]
    for struct, table, where, _, about in TABLES:
        names = [name for _, name, *_ in slots(table)]
        done = [name for name in names if name in filled.get(struct, ())]
        out += ["", f"## {struct}", "", f"{about} {len(done)} of {len(names)} functions are implemented."]
        if where == "training":
            out[-1] += " `GetTrainingApi` returns NULL, as in every build of ONNX Runtime without training."
        for title, list_of_names in (("Implemented", done), ("Not implemented", [name for name in names if name not in done])):
            if done and list_of_names:
                out += ["", f"{title}: " + ", ".join(f"`{name}`" for name in list_of_names) + "."]
    return out


def files():
    ep_body = [*struct_text(True), *table_text("ep")]
    training = table_text("training")
    return {
        "include/onnxruntime_c_api.h": main_header(),
        "include/onnxruntime_ep_c_api.h": part_header(
            "onnxruntime_ep_c_api.h", "SARDONYX_ONNXRUNTIME_EP_C_API_H",
            "what plug-in execution providers implement and call; included by onnxruntime_c_api.h.", ep_body),
        "include/onnxruntime_training_c_api.h": part_header(
            "onnxruntime_training_c_api.h", "SARDONYX_ONNXRUNTIME_TRAINING_C_API_H",
            "the table of on-device training functions.", training),
        "src/capi/functions.h": functions_header(),
        "src/capi/tables/not_implemented.inc": stub_tables(),
        "src/capi/exports.map": version_script(),
        "docs/c_abi.md": coverage(),
        "src/capi/symbol_versions.cpp": symbol_versions(),
    }


def main():
    if sys.argv[1:2] == ["--asserts"]:
        pathlib.Path(sys.argv[2]).write_text("\n".join(assertions()) + "\n")
        return 0
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    stale = []
    for name, lines in files().items():
        lines = [part for line in lines for part in line.split("\n")]
        text = "\n".join(line.rstrip() for line in wrap(lines, name.endswith(".md"))).rstrip() + "\n"
        path = ROOT / name
        if check:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for name in stale:
        print(f"{name}: not what tools/abi/generate.py writes; run it and commit the result")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
