"""benchmarks/llm_page.py - the table of `make bench-llm`, as text and as a page."""
import html
import math

import ceilings

HEAD = (f"{'model':<5}{'bits':>6}{'prompt':>7} {'engine':<12}{'prompt t/s':>11}{'later':>7}{'ms/token':>9}{'later':>7}"
        f"{'of llama.cpp':>13}{'GB/s':>6}{'of memory':>10}{'peak MB':>8}  difference")
STYLE = ("body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .8em;"
         "text-align:right;border-bottom:1px solid #ddd}td:nth-child(-n+4){text-align:left}"
         "tr.sardonyx{background:#eef6ff;font-weight:bold}")
HEIGHT = 240  # of curves
COLORS = {"sardonyx": "#06c", "llama_cpp": "#c30", "onnxruntime": "#888"}
NAMES = {"sardonyx": "Sardonyx", "llama_cpp": "llama.cpp", "onnxruntime": "ONNX Runtime"}


def machine_text(rate, threads):
    cpu = ceilings.cpu()
    memory = f"; reads memory at {rate:.1f} GB/s with {threads} threads (benchmarks/peak)" if rate else ""
    return f"machine: {cpu['model']}, {cpu['cores']} cores; {' '.join(cpu['flags'])}{memory}"


def cells(row, rows, rate):
    """The texts of a line; `rows` are those of all engines."""
    same = ("model", "bits", "prompt", "threads", "cache", "filled")
    peer = next((other["later_ms"] for other in rows if other["engine"] == "llama_cpp"
                 and all(other.get(key) == row.get(key) for key in same)), None)
    cache = "" if row["cache"] == "growing" else f" ({row['cache']})"
    return [row["model"], row["bits"], str(row["prompt"]), NAMES[row["engine"]] + cache,
            *(f"{row[kind]:.0f}" if row[kind] else "" for kind in ("first_prompt_rate", "later_prompt_rate")),
            f"{row['first_ms']:.2f}",
            f"{row['later_ms']:.2f}", f"{peer / row['later_ms']:.2f}" if peer else "",
            f"{row['rate']:.1f}", f"{row['rate'] / rate:.0%}" if rate else "", f"{row['peak_mb']:.0f}",
            "" if row["difference"] is None else f"{row['difference']:.1e}"]


def table(rows, rate):
    lines = []
    for row in rows:
        c = cells(row, rows, rate)
        lines.append(f"{c[0]:<5}{c[1]:>6}{c[2]:>7} {c[3]:<12}{c[4]:>11}{c[5]:>7}{c[6]:>9}{c[7]:>7}{c[8]:>13}{c[9]:>6}"
                     f"{c[10]:>10}{c[11]:>8}  {c[12]}")
    return "\n".join(lines)


def x_of(length):
    return 60 * math.log2(max(16, length) / 16)


def curves(rows):
    """An SVG of ms per token over the length of the cache (its logarithm), for one model and one form of weights."""
    top = 1.1 * max(row["later_ms"] for row in rows)
    lines = []
    for i, engine in enumerate(NAMES):
        own = sorted((row["prompt"] + row["steps"] // 2, row["later_ms"]) for row in rows if row["engine"] == engine)
        if not own:
            continue
        points = [(x_of(length), HEIGHT * (1 - ms / top)) for length, ms in own]
        lines.append(f"<polyline fill=none stroke-width=2 stroke={COLORS[engine]} points='"
                     + " ".join(f"{x:.0f},{y:.0f}" for x, y in points) + "'/>")
        lines += [f"<circle r=3 fill={COLORS[engine]} cx={x:.0f} cy={y:.0f} />" for x, y in points]
        lines.append(f"<text x=8 y={16 * (i + 1)} fill={COLORS[engine]}>{NAMES[engine]}</text>")
    for length in (16, 128, 1024, 8192, 32768):
        lines.append(f"<text x={x_of(length):.0f} y={HEIGHT + 16} text-anchor=middle>{length}</text>")
    lines.append(f"<text x=-6 y=12 text-anchor=end>{top:.0f} ms</text><text x=-6 y={HEIGHT} text-anchor=end>0</text>"
                 f"<path d='M0 0V{HEIGHT}H660' fill=none stroke=#888 />")
    first = rows[0]
    return (f"<h2>{first['model']}, {first['bits']}, cache {first['cache']}</h2>"
            f"<svg viewBox='-60 -10 740 {HEIGHT + 40}' width=740>{''.join(lines)}</svg>")


def groups(rows):
    """Rows of the same model, form of weights and cache, which have several prompts."""
    found = {}
    for row in rows:
        found.setdefault((row["model"], row["bits"], row["cache"], row.get("filled")), []).append(row)
    return [group for group in found.values() if len({row["prompt"] for row in group}) > 1]


def page(rows, rate, threads):
    titles = ("model", "bits", "prompt", "engine", "prompt, tokens/s", "later", "ms per token", "later",
              "speed, llama.cpp = 1", "GB/s", "of memory", "peak MB", "difference")
    lines = "".join(f"<tr class={row['engine']}>" + "".join(f"<td>{html.escape(text)}" for text in
                                                          cells(row, rows, rate)) for row in rows)
    return (f"<!doctype html><meta charset=utf-8><title>Language models</title><style>{STYLE}</style>"
            f"<h1>Language models: Sardonyx, llama.cpp, ONNX Runtime</h1><p>{html.escape(machine_text(rate, threads))}"
            "<p>The same random weights at the same bits on the same cores, in turns. &ldquo;Later&rdquo; is the "
            "second generation of a session. GB/s counts the weights and the cache that a token reads at least."
            f"<table><tr>{''.join(f'<th>{title}' for title in titles)}{lines}</table>"
            f"<h1>ms per token, over the length of the cache</h1>{''.join(map(curves, groups(rows)))}\n")
