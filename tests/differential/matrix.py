#!/usr/bin/env python3
"""The matrix of operator, version and type: the types of the schemas, of our kernels and of ONNX Runtime's.

usage: matrix.py --stock     writes onnxruntime_kernels.tsv from the installed package of ONNX Runtime
       matrix.py --copied    measures which types are computed from copies in a wider type, and writes copied_types.tsv
       matrix.py --page      writes docs/operator_types.md
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools")]
STOCK, COPIED, PAGE = HERE / "onnxruntime_kernels.tsv", HERE / "copied_types.tsv", ROOT / "docs/operator_types.md"
DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]
GROUPS = [("floats", {1, 10, 11, 16}), ("integers", {2, 3, 4, 5, 6, 7, 12, 13}), ("bool", {9}), ("string", {8}),
          ("complex", {14, 15}), ("float8", {17, 18, 19, 20, 24}), ("small", {21, 22, 23, 25, 26})]
REMARKS = {  # what a type is limited to, and why
    ("Resize", "string bool"): "nearest only: there is no mean of them",
    ("Upsample", "string bool"): "nearest only: there is no mean of them",
    ("GridSample", "string bool"): "nearest only: there is no mean of them",
    ("Col2Im", "string"): "refused: strings have no sum",
}
REFUSED = {("Col2Im", 8)}  # types of a schema that mean nothing for the operator


def kinds_of(texts):
    """Numbers of the element types in type strings, also of those in sequences and optionals."""
    from calls import KINDS
    found = set()
    for text in texts:
        inner = text[text.index("tensor("):text.index(")") + 1] if "tensor(" in text else text
        if inner in KINDS:
            found.add(KINDS[inner])
    return found


def stock_rows():
    """{(domain, operator, first, last): {variable: kinds}} of the package."""
    import onnxruntime.capi.onnxruntime_pybind11_state as state
    rows = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in DOMAINS:
            first, last = kernel.version_range
            row = rows.setdefault((kernel.domain, kernel.op_name, first, min(last, 999)), {})
            for name, texts in kernel.type_constraints.items():
                row.setdefault(name, set()).update(kinds_of(texts))
    return rows


def stock_text():
    from calls import NAMES
    lines = ["# CPU kernels of ONNX Runtime 1.31.1, by matrix.py --stock: domain, operator, versions, types."]
    for (domain, operator, first, last), row in sorted(stock_rows().items()):
        types = " ".join(f"{name}={','.join(NAMES[k] for k in sorted(kinds))}" for name, kinds in sorted(row.items()))
        lines.append(f"{domain or 'ai.onnx'}\t{operator}\t{first}\t{last}\t{types}")
    return "\n".join(lines) + "\n"


def stored_stock():
    from calls import KINDS
    rows = []
    for line in STOCK.read_text().splitlines()[1:]:
        domain, operator, first, last, types = line.split("\t")
        variables = dict(word.split("=") for word in types.split())
        rows.append(("" if domain == "ai.onnx" else domain, operator, int(first), int(last),
                     {k: {KINDS[f"tensor({t})"] for t in v.split(",") if t} for k, v in variables.items()}))
    return rows


def kernel_kinds(rows, schema, variable, allowed):
    """The kinds of the variable in the kernels for this version; all where a kernel does not limit it."""
    found = set()
    for domain, operator, first, last, variables in rows:
        if (domain, operator) == (schema.domain, schema.name) and first <= schema.since_version <= last:
            found |= variables.get(variable, allowed) if variable else allowed
    return found & allowed


def our_rows():
    import sardonyx.capi.onnxruntime_pybind11_state as state
    return [(k.domain, k.op_name, *k.version_range, {n: kinds_of(t) for n, t in k.type_constraints.items()})
            for k in state.get_all_opkernel_def()]


def copied():
    """{(domain, operator): kinds} whose kernel computes from a copy of its inputs in a wider type."""
    from calls import KINDS
    found = {}
    for line in COPIED.read_text().splitlines()[1:]:
        domain, operator, types = line.split("\t")
        found["" if domain == "ai.onnx" else domain, operator] = {KINDS[f"tensor({t})"] for t in types.split()}
    return found


def text_of(kinds):
    from calls import NAMES
    words = []
    for name, group in GROUPS:
        words += [name] if group <= kinds else [NAMES[k] for k in sorted(group & kinds)]
    return ", ".join(words) or "none"


def rows():
    """(schema, variable, allowed, ours, stock's) of each version of each operator."""
    import random_cases
    from calls import HISTORY
    ours, theirs = our_rows(), stored_stock()
    for (domain, operator), group in sorted(HISTORY.items()):
        for schema in group:
            if domain in DOMAINS and not schema.deprecated and operator != "SwiGLU":
                variable, kinds = random_cases.kinds_of(schema)
                allowed = {k for k in kinds if k}
                mine = kernel_kinds(ours, schema, variable, allowed) - {k for o, k in REFUSED if o == operator}
                yield schema, variable, allowed, mine, kernel_kinds(theirs, schema, variable, allowed)


HEAD = """# Operators, versions and types

This page is generated: `tests/differential/matrix.py --page` writes it from the standard's schemas, our table of
kernels, and `tests/differential/onnxruntime_kernels.tsv`, the table of ONNX Runtime 1.31.1.
`tests/differential/test_matrix.py` runs a case for each cell and compares it with ONNX's reference implementation or
with ONNX Runtime.

- **types** are the element types of the main input (of the output where there are no inputs) that Sardonyx computes in
  this version. *All* are all that the schema allows. *Floats* are float, double, float16 and bfloat16; *integers* are
  int8 to int64 and uint8 to uint64; *float8* are all five float8 types; *small* are int4, uint4, int2, uint2 and
  float4e2m1; *complex* are complex64 and complex128.
- **copied** are those whose inputs are copied in a wider type before they are computed: more memory than the others
  need. Kernels that widen a block at a time, in registers or in the cache, are not meant. The test measures the memory
  that the newest version needs with the portable kernels; some of those for newer CPUs take the narrow type.
- **ONNX Runtime** are the types that its kernels for this version take. It refuses models of opset 27 and newer,
  whatever its kernels take.
"""


def page():
    lines, before = [HEAD], None
    wide = copied()
    for schema, _, allowed, mine, theirs in rows():
        if schema.domain != before:
            before = schema.domain
            lines += [f"\n## {before or 'ai.onnx'}\n", "| operator | version | types | copied | ONNX Runtime |",
                      "|---|---|---|---|---|"]
        remark = "; ".join(f"{kinds}: {words}" for (op, kinds), words in REMARKS.items() if op == schema.name)
        types = "all" if not allowed else f"all: {text_of(mine)}" if mine == allowed else text_of(mine)
        shown = text_of(theirs) if theirs != allowed else "all" if has_kernel(schema) else "none"
        copies = wide.get((schema.domain, schema.name), set()) & mine
        lines.append(f"| {schema.name} | {schema.since_version} | {types}{f' ({remark})' if remark else ''} | "
                     f"{text_of(copies) if copies else ''} | {shown} |")
    return "\n".join(lines) + "\n"


def has_kernel(schema):
    return any((d, o) == (schema.domain, schema.name) and a <= schema.since_version <= b
               for d, o, a, b, _ in stored_stock())


def main():
    import peer
    peer.require()
    if "--stock" in sys.argv:
        STOCK.write_text(stock_text())
    if "--copied" in sys.argv:
        import memory
        COPIED.write_text(memory.table())
    if "--page" in sys.argv:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
