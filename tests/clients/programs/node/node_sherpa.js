// Prints what sherpa-onnx-node finds in a made-up voice with small random models and with the model of silero-vad.
// Arguments: the folder of the models.
'use strict';
const path = require('path');
const sherpa = require('sherpa-onnx-node');

const RATE = 16000;
const folder = process.argv[2];

function say(name, ...values) {
  console.log(`result ${name}: ${values.map((value) => String(value).replace(/\s+/g, '_')).join(' ')}`);
}

/** Two vowels that come and go, as harmonics of a pitch through resonances, and a little noise. */
function voice(seconds) {
  let seed = 1;
  const noise = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 1073741824 - 1;
  };
  const vowels = [[120, [[700, 90], [1200, 110], [2500, 150]]], [200, [[300, 60], [2300, 120], [3000, 150]]]];
  const sound = new Float32Array(seconds * RATE);
  for (let i = 0; i < sound.length; i++) {
    const [pitch, resonances] = vowels[Math.floor((2 * i) / sound.length)];
    let sum = 0;
    for (let k = 1; k < 35; k++) {
      const strength = resonances.reduce((all, [f, width]) => all + Math.exp(-(((pitch * k - f) / width) ** 2)), 0);
      sum += strength * Math.sin((2 * Math.PI * pitch * k * i) / RATE);
    }
    const loudness = Math.max(0, Math.sin((2 * Math.PI * 3 * i) / RATE)) * 0.15;
    sound[i] = sum * loudness + noise() * 0.003;
  }
  return sound;
}

function activity(sound) {
  for (const threshold of [0.1, 0.3, 0.7]) {
    const vad = new sherpa.Vad({
      sileroVad: {
        model: path.join(folder, 'silero_vad.onnx'), threshold, minSpeechDuration: 0.05, minSilenceDuration: 0.1,
        windowSize: 512,
      },
      sampleRate: RATE, numThreads: 1,
    }, 30);
    let speaking = 0;
    for (let start = 0; start + 512 <= sound.length; start += 512) {
      vad.acceptWaveform(sound.slice(start, start + 512));
      speaking += vad.isDetected() ? 1 : 0;
    }
    vad.flush();
    const segments = [];
    while (!vad.isEmpty()) {
      const segment = vad.front(false);
      segments.push(segment.start, segment.samples.length);
      vad.pop();
    }
    say(`voice activity at ${threshold}`, speaking, ...segments);
  }
}

function speakers(sound) {
  const extractor = new sherpa.SpeakerEmbeddingExtractor({model: path.join(folder, 'speaker.onnx'), numThreads: 2});
  const manager = new sherpa.SpeakerEmbeddingManager(extractor.dim);
  const vectors = [sound.slice(0, sound.length / 2), sound.slice(sound.length / 2)].map((part) => {
    const stream = extractor.createStream();
    stream.acceptWaveform({sampleRate: RATE, samples: part});
    stream.inputFinished();
    return extractor.compute(stream, false);
  });
  vectors.forEach((vector, number) => {
    say(`speaker ${number}`, ...vector);
    manager.add({name: `speaker ${number}`, v: vector});
  });
  say('speaker found', manager.search({v: vectors[1], threshold: 0.5}), manager.getNumSpeakers());
}

async function speech(sound) {
  const recognizer = new sherpa.OfflineRecognizer({
    featConfig: {sampleRate: RATE, featureDim: 80},
    modelConfig: {
      wenetCtc: {model: path.join(folder, 'ctc.onnx')}, tokens: path.join(folder, 'tokens.txt'), numThreads: 2,
      provider: 'cpu', debug: 0,
    },
  });
  for (const seconds of [1, 2, 4]) {
    const stream = recognizer.createStream();
    stream.acceptWaveform({sampleRate: RATE, samples: sound.slice(0, seconds * RATE)});
    recognizer.decode(stream);
    say(`speech of ${seconds} s`, recognizer.getResult(stream).text);
    if (recognizer.decodeAsync) {
      const other = recognizer.createStream();
      other.acceptWaveform({sampleRate: RATE, samples: sound.slice(0, seconds * RATE)});
      const found = await recognizer.decodeAsync(other);
      say(`speech of ${seconds} s in another thread`, found.text, found.tokens.length);
    }
  }
}

async function main() {
  const sound = voice(6);
  activity(sound);
  speakers(sound);
  await speech(sound);
  console.log('end');
}

main();
