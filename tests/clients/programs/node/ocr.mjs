// Prints what @gutenye/ocr-node reads from pictures. Arguments: the pictures.
import path from "node:path";
import Ocr from "@gutenye/ocr-node";

const ocr = await Ocr.create();
for (const picture of process.argv.slice(2)) {
  const lines = await ocr.detect(picture);
  const name = path.basename(picture);
  lines.forEach((line, number) => {
    const corners = line.box.flat().map((n) => Math.round(n));
    console.log(`result ${name}, line ${number}: ${line.text} ${corners.join(" ")} ${line.mean.toFixed(4)}`);
  });
  console.log(`result ${name}, lines: ${lines.length}`);
}
