"""Image files of every format and kind that ImageDecoder reads, made with Pillow, and what Pillow makes of them."""
import io
import struct

import numpy as np
import PIL.Image

WIDTH, HEIGHT = 37, 23


def colors():
    """A smooth picture with an edge, which lossy formats keep close."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rgb = np.stack([x * 255 // (WIDTH - 1), y * 255 // (HEIGHT - 1), (x + y) * 4], -1).clip(0, 255).astype(np.uint8)
    rgb[5:12, 8:20] = [250, 40, 90]
    return PIL.Image.fromarray(rgb)


def with_alpha(mode):
    image = colors().convert(mode)
    alpha = np.linspace(0, 255, WIDTH * HEIGHT).astype(np.uint8).reshape(HEIGHT, WIDTH)
    image.putalpha(PIL.Image.fromarray(alpha))
    return image


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def gray16():
    return PIL.Image.fromarray((np.arange(WIDTH * HEIGHT) * 76 % 65536).astype(np.uint16).reshape(HEIGHT, WIDTH))


def with_orientation(kind, orientation):
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    return saved(colors(), kind, exif=exif)


def bmp16(masks=None):
    """BMP with 16 bits: 5 of each color, or as `masks` say."""
    pixels = (np.arange(WIDTH * HEIGHT) * 2741 % 65536).astype("<u2").reshape(HEIGHT, WIDTH)
    rows = np.pad(pixels, ((0, 0), (0, WIDTH % 2))).tobytes()
    extra = struct.pack("<III", *masks) if masks else b""
    start = 54 + len(extra)
    info = struct.pack("<IiiHHIIiiII", 40, WIDTH, HEIGHT, 1, 16, 3 if masks else 0, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start) + info + extra + rows


def run_length_bmp():
    """BMP with runs of 8 bits: runs, a literal of odd length, a jump, the ends of lines and of the image."""
    runs = bytes([5, 1, 32, 2, 0, 0, 0, 3, 7, 8, 9, 0, 34, 4, 0, 0, 0, 2, 3, 1, 30, 6, 0, 0, 37, 5, 0, 1])
    palette = b"".join(bytes([i * 3 % 256, i * 5 % 256, i * 7 % 256, 0]) for i in range(256))
    start = 54 + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, WIDTH, HEIGHT, 1, 8, 1, len(runs), 0, 0, 256, 0)
    return b"BM" + struct.pack("<IHHI", start + len(runs), 0, 0, start) + info + palette + runs


def pnm_text():
    values = np.asarray(colors()).reshape(-1).tolist()
    return f"P3 # colors\n{WIDTH} {HEIGHT}\n255\n{' '.join(map(str, values))}\n".encode()


def pnm_bits(text):
    bits = (np.indices((HEIGHT, WIDTH)).sum(0) % 3 == 0).astype(np.uint8)
    head = f"P{1 if text else 4}\n{WIDTH} {HEIGHT}\n".encode()
    lines = "\n".join("".join(map(str, row)) for row in bits).encode()
    return head + (lines if text else np.packbits(bits, 1).tobytes())


def pnm16():
    values = (np.arange(WIDTH * HEIGHT * 3) * 331 % 40001).astype(">u2")
    return f"P6 {WIDTH} {HEIGHT} 40000\n".encode() + np.minimum(values, 40000).astype(">u2").tobytes()


def lossless():
    """{name: file} of the pictures that decoders read to the last bit."""
    image, found = colors(), {}
    modes = {"color": image, "gray": image.convert("L"), "palette": image.quantize(60), "bits": image.convert("1"),
             "alpha": with_alpha("RGB"), "gray and alpha": with_alpha("L")}
    for name, picture in modes.items():
        found[f"png {name}"] = saved(picture, "PNG")
        found[f"tiff {name}"] = saved(picture, "TIFF")
        if "alpha" not in name:
            found[f"bmp {name}"] = saved(picture, "BMP")
            if name != "palette":
                found[f"pnm {name}"] = saved(picture, "PPM")
    found["png palette of 4 bits"] = saved(image.quantize(9), "PNG", bits=4)
    found["png with transparent color"] = saved(image, "PNG", transparency=(250, 40, 90))
    found["bmp alpha"] = saved(with_alpha("RGB"), "BMP")
    found["bmp 555"], found["bmp 565"] = bmp16(), bmp16((0xF800, 0x7E0, 0x1F))
    found["pnm text"], found["pnm 16 bits"] = pnm_text(), pnm16()
    found["pnm text bits"], found["pnm packed bits"] = pnm_bits(True), pnm_bits(False)
    for compression in ("packbits", "tiff_lzw", "tiff_adobe_deflate", "lzma", "zstd"):
        found[f"tiff {compression}"] = saved(image, "TIFF", compression=compression)
    found["tiff group4"] = saved(image.convert("1"), "TIFF", compression="group4")
    found["tiff cmyk"] = saved(image.convert("CMYK"), "TIFF")
    found["tiff with offsets of 64 bits"] = saved(image, "TIFF", big_tiff=True)
    for orientation in range(1, 9):
        found[f"tiff orientation {orientation}"] = with_orientation("TIFF", orientation)
    found["png with orientation"] = with_orientation("PNG", 6)
    found["webp lossless"] = saved(image, "WEBP", lossless=True)
    found["webp lossless alpha"] = saved(with_alpha("RGB"), "WEBP", lossless=True, exact=True)
    found["webp animation"] = saved(image, "WEBP", lossless=True, save_all=True,
                                    append_images=[image.rotate(180)], duration=100)
    for name, picture in list(modes.items()):
        if name not in ("palette", "bits"):
            found[f"jpeg 2000 {name}"] = saved(picture, "JPEG2000", irreversible=False)
    found["jpeg 2000 codestream"] = saved(image, "JPEG2000", irreversible=False, no_jp2=True)
    found["jpeg 2000 tiles"] = saved(image, "JPEG2000", irreversible=False, tile_size=(16, 16))
    return found


def lossy():
    """{name: file} of the pictures that decoders may round differently."""
    image = colors()
    found = {f"jpeg {name}": saved(image, "JPEG", quality=90, **options) for name, options in {
        "4:4:4": {"subsampling": 0}, "4:2:2": {"subsampling": 1}, "4:2:0": {"subsampling": 2},
        "progressive": {"progressive": True}, "restarts": {"restart_marker_rows": 1}}.items()}
    found["jpeg gray"] = saved(image.convert("L"), "JPEG")
    found["jpeg cmyk"] = saved(image.convert("CMYK"), "JPEG", quality=95)
    found["jpeg with orientation"] = with_orientation("JPEG", 6)
    found["webp"] = saved(image, "WEBP", quality=90)
    found["webp alpha"] = saved(with_alpha("RGB"), "WEBP", quality=90)
    found["tiff jpeg"] = saved(image, "TIFF", compression="jpeg")
    found["tiff ycbcr"] = saved(image.convert("YCbCr"), "TIFF")
    found["jpeg 2000"] = saved(image, "JPEG2000", irreversible=True, quality_mode="rates", quality_layers=[4])
    return found


def sixteen_bits():
    """{name: (file, its samples)}: the upper 8 bits of each are the result."""
    image = gray16()
    return {kind: (saved(image, kind), np.asarray(image)) for kind in ("PNG", "TIFF", "JPEG2000")}


def by_pillow(data, pixel_format):
    image = PIL.Image.open(io.BytesIO(data)).convert("RGB")
    if pixel_format == "Grayscale":
        return np.asarray(image.convert("L"))[:, :, None]
    return np.asarray(image)[:, :, ::-1 if pixel_format == "BGR" else 1]


def damaged(files, count, seed):
    """`count` files made of `files` ([bytes]) by changing bytes, cutting, repeating and joining parts of two."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        data = bytearray(files[rng.integers(len(files))])
        for _ in range(rng.integers(1, 4)):
            at, size = int(rng.integers(len(data))), int(rng.integers(1, 9))
            match rng.integers(6):
                case 0:
                    data[at] = rng.integers(256)
                case 1:
                    data[at] ^= 1 << rng.integers(8)
                case 2:
                    data[at : at + size] = rng.choice([0, 255, 127, 128, 1]).astype(np.uint8).tobytes() * size
                case 3:
                    data = data[: max(at, 1)]
                case 4:
                    data[at:at] = data[at : at + size]
                case 5:
                    other = files[rng.integers(len(files))]
                    data[at:] = other[min(at, len(other)) :] or b"\0"
        if rng.integers(3) == 0:  # the sizes lie near the beginning
            data[int(rng.integers(min(len(data), 64)))] = rng.integers(256)
        yield bytes(data)
