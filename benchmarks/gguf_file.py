"""benchmarks/gguf_file.py - writes GGUF files, version 3 (github.com/ggml-org/ggml, docs/gguf.md)."""
import dataclasses
import struct

import numpy as np

ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8  # types of keys' values


@dataclasses.dataclass(frozen=True)
class Form:
    """How a tensor is stored: ggml's number, bytes and elements of a block; the number of a file of such tensors."""

    number: int
    block_bytes: int
    block: int
    file_type: int

    def bytes(self, size):
        return int(np.prod(size)) // self.block * self.block_bytes


FORMS = {"fp32": Form(0, 4, 1, 0), "fp16": Form(1, 2, 1, 1), "4-bit": Form(2, 18, 32, 2), "8-bit": Form(8, 34, 32, 7),
         "Q4_K": Form(12, 144, 256, 15), "Q6_K": Form(14, 210, 256, 15)}


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def key_entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", FLOAT32, value)
    return text(key) + struct.pack("<II", UINT32, value)


def encode_q4_k(numbers, factors, scales):
    """Blocks of 256 with d and dmin as float16; eight scales and eight minima of 6 bits; bytes of two numbers each. An
    element is d * scale * number - dmin * minimum: with dmin = 8 d and minima that are the scales, d * scale *
    (number - 8)."""
    count = scales.size
    numbers, factors = numbers.reshape(count, 4, 2, 32), factors.reshape(count, 8).astype(np.uint8)
    d = scales.reshape(count, 1)
    low, high = factors[:, :4], factors[:, 4:]
    # Six bits of scales 0 to 3 and of their minima have the high bits of the scales 4 to 7 above them.
    packed = np.concatenate([low | (high >> 4) << 6] * 2 + [(high & 15) * 17], 1)
    pairs = numbers[:, :, 0] | numbers[:, :, 1] << 4
    return np.concatenate([d.view(np.uint8), (d * np.float16(8)).view(np.uint8), packed, pairs.reshape(count, 128)], 1)


def encode_q6_k(numbers, factors, scales):
    """Blocks of 256: low four bits, high two bits, sixteen signed scales, d. An element is
    d * scale * (number - 32)."""
    count = scales.size
    numbers = numbers.reshape(count, 2, 4, 32)
    low = numbers[:, :, :2] & 15 | (numbers[:, :, 2:] & 15) << 4
    two = numbers >> 4
    high = two[:, :, 0] | two[:, :, 1] << 2 | two[:, :, 2] << 4 | two[:, :, 3] << 6
    factors = np.repeat(factors.reshape(count, 8), 2, 1).astype(np.int8)
    return np.concatenate([low.reshape(count, 128), high.reshape(count, 64), factors.view(np.uint8),
                           scales.reshape(count, 1).view(np.uint8)], 1)


def encode(content, form):
    """The bytes of a tensor: an array, or (unsigned numbers [rows, blocks, 32], float16 scales [rows, blocks]), or for
    blocks of 256 (unsigned numbers, whole factors of each 32, float16 scales of each 256)."""
    if form == FORMS["Q4_K"] or form == FORMS["Q6_K"]:
        return (encode_q4_k if form == FORMS["Q4_K"] else encode_q6_k)(*content).tobytes()
    if form == FORMS["fp32"] or form == FORMS["fp16"]:
        return np.asarray(content, np.float32 if form == FORMS["fp32"] else np.float16).tobytes()
    numbers, scales = content
    # 4 bits: byte i has the elements i and i + 16; 8 bits: signed.
    halves = form == FORMS["4-bit"]
    packed = numbers[..., :16] | numbers[..., 16:] << 4 if halves else numbers ^ np.uint8(128)
    return np.concatenate([scales[..., None].view(np.uint8), packed], -1).tobytes()


def write(path, keys, tensors, content):
    """`tensors`: (name, size [rows, columns] or [columns], form) of each; content(name, size) makes what `encode`
    takes, one after another, so that a large model is never whole in memory."""
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)))
        for key, value in keys.items():
            file.write(key_entry(key, value))
        offset = 0
        for name, size, form in tensors:
            file.write(text(name) + struct.pack("<I", len(size)) + struct.pack(f"<{len(size)}Q", *reversed(size)))
            file.write(struct.pack("<IQ", form.number, offset))
            offset += -(-form.bytes(size) // ALIGNMENT) * ALIGNMENT
        for name, size, form in tensors:
            file.write(bytes(-file.tell() % ALIGNMENT))
            data = encode(content(name, size), form)
            if len(data) != form.bytes(size):
                raise ValueError(f"{name}: expected {form.bytes(size)} bytes, found {len(data)}")
            file.write(data)
        file.write(bytes(-file.tell() % ALIGNMENT))
