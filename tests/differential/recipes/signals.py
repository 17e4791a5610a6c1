"""Signals, text and random numbers."""
import numpy as np
from calls import Call, dtype_of

from recipes import recipe


@recipe("BlackmanWindow", "HammingWindow", "HannWindow")
def window(d):
    size = np.array(d.whole(1, 20), dtype_of(d.kind("T1")))
    kind = d.kind("T2")
    return Call([size], {"periodic": d.pick(None, 0, 1), "output_datatype": kind}, tolerance=8)


@recipe("MelWeightMatrix")
def mel(d):
    kind, real = d.kind("T1"), d.kind("T2")
    numbers = [np.array(n, dtype_of(kind)) for n in (d.whole(1, 6), 16, 8000 if kind not in (2, 3) else 100)]
    limits = [np.asarray(n).astype(dtype_of(real)) for n in (0.0, d.pick(3000.0, 4000.0) if numbers[2] > 100 else 50.0)]
    return Call([*numbers, *limits], {"output_datatype": d.kind("T3")}, tolerance=8)


@recipe("DFT")
def dft(d):
    batch, n = d.shape(1, 2, 20), d.whole(1, 9)
    inverse, onesided = d.pick(None, 0, 1), d.pick(None, 0, 1)
    if onesided:
        inverse = 0
    batch = tuple(max(b, 1) for b in batch)
    x = d.values("T1", (*batch, n, 1 if onesided or d.chance(0.5) else 2), "tame")
    attributes = {"inverse": inverse, "onesided": onesided}
    length = np.array(d.whole(1, 10), dtype_of(d.kind("T2"))) if d.chance(0.4) else None
    axis = d.pick(len(batch), -2)
    if d.version < 20:
        attributes["axis"] = axis
        return Call([x, length] if length is not None else [x], attributes, tolerance=64)
    return Call([x, length, np.array(axis, np.int64)], attributes, tolerance=64)


@recipe("STFT")
def stft(d):
    frame = d.whole(2, 6)
    steps, length = d.whole(1, 3), frame + d.whole(0, 8)
    x = d.values("T1", (d.pick(1, 2), length, d.pick(1, 1, 2)), "tame")
    dtype = dtype_of(d.kind("T2"))
    with_window = d.chance(0.7)
    inputs = [x, np.array(steps, dtype), d.values("T1", (frame,), "tame", 0.1, 1) if with_window else None,
              np.array(frame, dtype) if not with_window or d.chance() else None]
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs, {"onesided": 0 if x.shape[-1] == 2 else d.pick(None, 0, 1)}, tolerance=64)


@recipe("StringConcat")
def string_concat(d):
    one, other = d.pair(3)
    return Call([d.values("T", one), d.values("T", other)])


@recipe("StringSplit")
def string_split(d):
    d.kind("T2")
    d.kind("T3")
    return Call([d.values("T1", d.shape(0, 2, 20))],
                {"delimiter": d.pick(None, "", ",", "a"), "maxsplit": d.pick(None, 1, 2)}, 2)


@recipe("RegexFullMatch")
def regex(d):
    d.kind("T2")
    return Call([d.values("T1", d.shape(0, 2, 20))], {"pattern": d.pick("[a-z]*", r"\d+", ".*", "ab c|x,y", r"\W?")})


@recipe("StringNormalizer")
def normalizer(d):
    x = d.values(8, (1, d.whole(1, 6)) if d.chance() else (d.whole(1, 6),))
    return Call([x], {"case_change_action": d.pick(None, "NONE", "LOWER", "UPPER"),
                      "is_case_sensitive": d.pick(None, 0, 1), "stopwords": d.pick(None, ["a", "zz"], ["b"])})


@recipe("TfIdfVectorizer")
def tf_idf(d):
    kind = d.kind("T")
    d.kind("T1")
    words = kind == 8
    pool = ["a", "zz", "B", "12", "a", "zz", "B", "12"] if words else [2, 3, 5, 4, 2, 3, 5, 4]
    n = d.whole(1, 8)
    shape = (n,) if d.chance() else (d.pick(1, 2), n)
    if words:
        x = np.array([["a", "zz", "B", "12", "q"][i] for i in d.rng.integers(0, 5, int(np.prod(shape)))], object)
        x = x.reshape(shape)
    else:
        x = d.rng.integers(1, 7, shape).astype(dtype_of(kind))
    low = d.pick(1, 1, 2)
    attributes = {"mode": d.pick("TF", "IDF", "TFIDF"), "min_gram_length": low, "max_gram_length": 2,
                  "max_skip_count": d.pick(0, 1, 2), "ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5],
                  "pool_strings" if words else "pool_int64s": pool,
                  "weights": d.pick(None, [0.5, 1.0, 2.0, 3.0, 0.25, 4.0])}
    return Call([x], attributes)


@recipe("RandomNormal", "RandomUniform")
def random_tensor(d):
    return Call([], {"shape": list(d.shape(1)), "dtype": d.kind("T"), "seed": d.pick(None, 1.0)}, random=True)


@recipe("RandomNormalLike", "RandomUniformLike")
def random_like(d):
    x = d.values("T1", d.shape())
    return Call([x], {"dtype": d.kind("T2"), "seed": d.pick(None, 1.0)}, random=True)


@recipe("Bernoulli")
def bernoulli(d):
    return Call([d.values("T1", d.shape(), "tame", 0.05, 0.95)], {"dtype": d.kind("T2"), "seed": d.pick(None, 1.0)},
                random=True)


@recipe("Multinomial")
def multinomial(d):
    return Call([d.values("T1", (d.pick(1, 2), d.whole(1, 4)), "tame")],
                {"dtype": d.kind("T2"), "sample_size": d.whole(1, 5), "seed": d.pick(None, 1.0)}, random=True)
