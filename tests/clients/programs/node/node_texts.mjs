// Prints what fastembed makes of texts, and where LiveKit's agents hear speech in a sound made here.
// usage: node node_texts.mjs [FOLDER], with what transformers_small.py has written; without it, speech is heard. In
// one process stock fails: the second release of its library finds the first, which has its name, and no symbols of
// its own version.
import { createRequire } from "node:module";
import path from "node:path";
const require = createRequire(import.meta.url);

const RATE = 16000;
const say = (name, ...values) =>
  console.log(`result ${name}: ${values.flat().map((v) => (v.toFixed ? Math.round(v * 1e4) / 1e4 : v)).join(" ")}`);

async function texts(folder) {
  const { EmbeddingModel, FlagEmbedding } = require("fastembed");
  const words = ["hello world", "the quick brown fox jumps over the lazy dog", "", "a text that nobody knows"];
  for (const maxLength of [512, 8]) {
    const model = await FlagEmbedding.init({
      model: EmbeddingModel.CUSTOM, modelAbsoluteDirPath: path.join(folder, "feature-extraction"),
      modelName: "onnx/model.onnx", maxLength,
    });
    for (const batch of [1, 3, 256]) {
      let at = 0;
      for await (const vectors of model.embed(words, batch))
        for (const vector of vectors) say(`fastembed of ${maxLength}, ${batch} at once, ${at++}`, [...vector]);
    }
    for await (const vectors of model.passageEmbed(words))
      say(`fastembed of ${maxLength}, passages`, vectors.map((vector) => [...vector].slice(0, 4)).flat());
    say(`fastembed of ${maxLength}, query`, [...(await model.queryEmbed("hello fox"))]);
  }
}

async function voices() {
  const { initializeLogger, VADEventType } = await import("@livekit/agents");
  const { AudioFrame } = await import("@livekit/rtc-node");
  const { VAD } = await import("@livekit/agents-plugin-silero");
  initializeLogger({ pretty: false, level: "silent" });
  const sound = Int16Array.from({ length: 3 * RATE }, (_, i) => {
    const time = i / RATE;
    let voice = 0;
    for (let k = 1; k < 30; k++)
      for (const [middle, width] of [[700, 90], [1200, 110], [2500, 150]])
        voice += Math.sin(2 * Math.PI * 130 * k * time) * Math.exp(-(((130 * k - middle) / width) ** 2));
    return 4000 * voice * Math.max(0, Math.sin(2 * Math.PI * 1.5 * time));
  });
  for (const sampleRate of [RATE, 8000]) {
    const vad = await VAD.load({
      sampleRate, activationThreshold: 0.08, minSpeechDuration: 30, minSilenceDuration: 60,
    });
    const stream = vad.stream();
    // At the model's own rate: LiveKit's resampler gives other samples each time.
    const heard = sound.filter((_, i) => i % (RATE / sampleRate) === 0);
    for (let at = 0; at < heard.length; at += 800)
      stream.pushFrame(new AudioFrame(heard.slice(at, at + 800), sampleRate, 1, 800));
    const { START_OF_SPEECH: started, INFERENCE_DONE: done, END_OF_SPEECH: ended } = VADEventType;
    const chances = [];
    const events = [];
    while (chances.length < 90) {  // of 93 windows; the stream itself does not say when it has read everything
      const { value: event } = await stream.next();
      if (event.type === done) chances.push(event.probability);
      if (event.type === started || event.type === ended)
        events.push(event.type, event.samplesIndex, event.frames[0].samplesPerChannel);
    }
    stream.close();
    say(`livekit at ${sampleRate}, chances`, chances);
    say(`livekit at ${sampleRate}, events`, events);
  }
}

await (process.argv[2] ? texts(process.argv[2]) : voices());
process.exit(0);
