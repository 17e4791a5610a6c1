// tests/clients/programs/node/transformers_js.mjs - what pipelines of transformers.js make of small random models.
// usage: node transformers_js.mjs PACKAGE MODELS
import { createRequire } from 'module';
import { pathToFileURL } from 'url';
import path from 'path';

const [name, models] = process.argv.slice(2);
const found = createRequire(path.join(process.cwd(), 'package.json')).resolve(name);
const { pipeline, env, AutoTokenizer, AutoModel, RawImage } = await import(pathToFileURL(found));
env.allowRemoteModels = false;
env.localModelPath = models;

const words = (value) => {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : value.toFixed(4);
  if (value && value.data && value.dims) return [...value.dims, ...Array.from(value.data, Number).map(words)].join(' ');
  if (Array.isArray(value)) return value.map(words).join(' ');
  if (value && typeof value === 'object') return Object.entries(value).map(([k, v]) => k + ' ' + words(v)).join(' ');
  return String(value).replace(/\s+/g, '_') || '_';
};
const say = async (title, call) => {
  let text;
  try {
    text = words(await call());
  } catch (error) {
    text = 'raises ' + error.constructor.name;
    if (process.env.LOUD) console.error(error);
  }
  console.log(`result ${title}: ${text}`);
};
const open = (task, options = {}) => pipeline(task, task, name.startsWith('@xenova') ? { quantized: false }
                                                                                    : { dtype: 'fp32', ...options });
const sentences = ['the cat sat on the mat.', 'who is my dog?', 'the new york dog ran'];

await say('features', async () => {
  const pipe = await open('feature-extraction');
  return [await pipe(sentences[0]), await pipe(sentences, { pooling: 'mean', normalize: true }),
          await pipe(sentences[1], { pooling: 'cls' })];
});
await say('classes', async () => {
  const pipe = await open('text-classification');
  return [await pipe(sentences[0]), await pipe(sentences), await pipe(sentences[2], { top_k: 3, topk: 3 })];
});
await say('tokens', async () => (await open('token-classification'))(sentences[0]));
await say('masks', async () => (await open('fill-mask'))('the [MASK] sat on the mat.'));
await say('answers', async () => (await open('question-answering'))('who sat?', 'the cat sat on the mat.'));
const ways = { greedy: { max_new_tokens: 8, do_sample: false },
               penalized: { max_new_tokens: 6, num_beams: 1, repetition_penalty: 1.3 },
               'without repeats': { max_new_tokens: 5, no_repeat_ngram_size: 2, min_new_tokens: 3 } };
for (const [way, options] of Object.entries(ways))
  await say('text ' + way, async () =>
    (await open('text-generation', { model_file_name: 'model' }))('the cat sat', options));
await say('two texts', async () => (await open('text-generation', { model_file_name: 'model' }))(
  ['the cat', 'my dog ran on'], { max_new_tokens: 4 }));
const pixels = (width, height) => new RawImage(Uint8ClampedArray.from({ length: width * height * 3 },
                                                                      (_, i) => (i * 37 + (i >> 5) * 11) % 256), width, height, 3);
await say('pictures', async () => (await open('image-classification'))(pixels(32, 32), { top_k: 3, topk: 3 }));
await say('objects', async () => (await open('object-detection'))(pixels(32, 48), { threshold: 0.3 }));
await say('sounds', async () => (await open('audio-classification'))(
  Float32Array.from({ length: 4000 }, (_, i) => Math.sin(i * 0.05) + 0.2 * Math.sin(i * 0.31)), { top_k: 3, topk: 3 }));
await say('a model without a pipeline', async () => {
  const tokens = await (await AutoTokenizer.from_pretrained('feature-extraction'))(sentences, { padding: true });
  const model = await AutoModel.from_pretrained('feature-extraction', name.startsWith('@xenova') ? { quantized: false }
                                                                                                : { dtype: 'fp32' });
  const first = await model(tokens);
  await model.dispose();
  return first.last_hidden_state;
});
for (const session_options of [{ graphOptimizationLevel: 'disabled' }, { intraOpNumThreads: 1, enableMemPattern: false },
                               { executionMode: 'parallel', logSeverityLevel: 3 }])
  await say('options ' + Object.keys(session_options), async () => (await open('text-classification', { session_options }))(sentences));
await say('many at once', async () => {
  const pipe = await open('text-classification');
  return Promise.all(Array.from({ length: 12 }, (_, i) => pipe(sentences[i % 3])));
});
await say('no such model', async () => pipeline('text-classification', 'nothing'));
