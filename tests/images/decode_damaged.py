"""Decodes damaged image files and prints how many were decoded and how many refused.

usage: decode_damaged.py COUNT SEED
"""
import sys

import numpy as np
import pictures
import sardonyx
import test_image_decoder


def main(count, seed):
    files = [*pictures.lossless().values(), *pictures.lossy().values(), pictures.run_length_bmp(),
             *(data for data, _ in pictures.sixteen_bits().values())]
    sessions = list(test_image_decoder.SESSIONS.values())
    decoded = 0
    for i, data in enumerate(pictures.damaged(files, count, seed)):
        try:
            (pixels,) = sessions[i % 3].run(None, {"file": np.frombuffer(data, np.uint8)})
            decoded += 1
            assert pixels.ndim == 3 and pixels.shape[2] == (1 if i % 3 == 2 else 3)
        except sardonyx.InvalidArgument as error:
            assert "[ImageDecoder] node 'photo'" in str(error), str(error)
    print(decoded, count - decoded)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
