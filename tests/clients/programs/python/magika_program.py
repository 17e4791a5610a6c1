"""Prints what magika says of contents made here. Arguments: none."""
import base64
import gzip
import io
import json
import pathlib
import tempfile
import zipfile

import magika

packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr(zipfile.ZipInfo("inner.txt"), "text " * 50)
CONTENTS = {
    "python": b"import os\n\n\ndef main(path):\n    for name in os.listdir(path):\n        print(name)\n" * 3,
    "c": b"#include <stdio.h>\nint main(int argc, char** argv) {\n  printf(\"%d\\n\", argc);\n  return 0;\n}\n",
    "json": json.dumps({"a": [1, 2, 3], "b": {"c": None}} | {str(i): i for i in range(50)}).encode(),
    "html": b"<!DOCTYPE html>\n<html><head><title>t</title></head><body><p>text</p></body></html>\n",
    "zip": packed.getvalue(), "gzip": gzip.compress(b"text " * 500, mtime=0),
    "png": base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
                            "rkJggg=="),
    "text": b"Nothing but a few words of an ordinary sentence. " * 10, "bytes": bytes(range(256)) * 8, "empty": b"",
    "shell": b"#!/bin/sh\nset -e\nfor f in *.c; do\n  cc -c \"$f\" || exit 1\ndone\n",
    "sql": b"SELECT a.id, COUNT(*) FROM orders a JOIN items b ON a.id = b.order_id GROUP BY a.id ORDER BY 2;\n" * 2,
    "markdown": b"# Title\n\nSome *text* with a [link](a.md).\n\n- one\n- two\n\n```python\nprint(1)\n```\n" * 2,
    "csv": b"name,number,date\n" + b"".join(b"row%d,%d,2026-01-%02d\n" % (i, i * i, i % 28 + 1) for i in range(40)),
}
engine = magika.Magika()
for name, content in CONTENTS.items():
    result = engine.identify_bytes(content)
    print(f"result {name}:", result.output.label, result.dl.label, round(float(result.score), 3))
with tempfile.TemporaryDirectory() as folder:
    paths = []
    for name, content in CONTENTS.items():
        paths.append(pathlib.Path(folder) / name)
        paths[-1].write_bytes(content)
    print("result all files at once:", *(result.output.label for result in engine.identify_paths(paths)))
