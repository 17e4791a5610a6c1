// tests/clients/programs/node/node.js - asks onnxruntime-node for everything that its interface has.
// usage: node node.js MODELS FOLDER_TO_WRITE_IN
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { Worker, isMainThread, workerData } = require('worker_threads');
const ort = require('onnxruntime-node');

const models = isMainThread ? process.argv[2] : workerData.models;
const written = isMainThread ? process.argv[3] : null;
const file = (name) => path.join(models, name + '.onnx');
const open = (name, options) => ort.InferenceSession.create(file(name), options);
const x3 = () => new ort.Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]);
const linear = [22.5, 27.5, 49.5, 63.5];
const tests = {};

const values = {
  float32: Float32Array.of(1.5, -2, 0, Infinity), float64: Float64Array.of(1.5, -2, 1e300, 0),
  int8: Int8Array.of(-128, 127, 0, 1), uint8: Uint8Array.of(0, 255, 1, 2), int16: Int16Array.of(-32768, 32767, 0, 1),
  uint16: Uint16Array.of(0, 65535, 1, 2), int32: Int32Array.of(-2147483648, 2147483647, 0, 1),
  uint32: Uint32Array.of(0, 4294967295, 1, 2), int64: BigInt64Array.of(-9223372036854775808n, 1n, 2n, 3n),
  uint64: BigUint64Array.of(18446744073709551615n, 1n, 2n, 3n), bool: Uint8Array.of(1, 0, 1, 1),
  string: ['', 'plain', 'ż 大 김', 'x'.repeat(1000)],
};
for (const [type, data] of Object.entries(values))
  tests['tensor of ' + type] = async () => {
    const session = await open('identity_' + type);
    assert.deepStrictEqual(session.inputNames, ['x']);
    assert.deepStrictEqual(session.inputMetadata[0].shape, ['rows', 2]);
    assert.strictEqual(session.outputMetadata[0].type, type);
    const { y } = await session.run({ x: new ort.Tensor(type, data, [2, 2]) });
    assert.strictEqual(y.type, type);
    assert.deepStrictEqual(y.dims, [2, 2]);
    assert.deepStrictEqual(Array.from(y.data), Array.from(data));
    await session.release();
  };
tests['tensor of float16'] = async () => {
  const session = await open('identity_float16');
  const bits = Uint16Array.of(0x3c00, 0xc000, 0x7c00, 0);
  const { y } = await session.run({ x: new ort.Tensor('float16', bits, [2, 2]) });
  assert.deepStrictEqual(Array.from(new Uint16Array(y.data.buffer, y.data.byteOffset, 4)), Array.from(bits));
};
tests['empty tensor'] = async () => {
  const session = await open('identity_float32');
  const { y } = await session.run({ x: new ort.Tensor('float32', [], [0, 2]) });
  assert.deepStrictEqual(y.dims, [0, 2]);
};
tests['scalar'] = async () => {
  const session = await open('scalar');
  assert.deepStrictEqual(session.outputMetadata[0].shape, []);
  const { y } = await session.run({ x: new ort.Tensor('float32', [1, 2, 3], [3]) });
  assert.deepStrictEqual([y.dims, y.data[0]], [[], 6]);
};
tests['session of a path with options'] = async () => {
  for (const graphOptimizationLevel of ['disabled', 'basic', 'extended', 'layout', 'all'])
    for (const executionMode of ['sequential', 'parallel']) {
      const session = await open('linear', {
        graphOptimizationLevel, executionMode, executionProviders: ['cpu'], intraOpNumThreads: 2, interOpNumThreads: 1,
        enableCpuMemArena: false, enableMemPattern: false, logId: 'node', logSeverityLevel: 3, logVerbosityLevel: 0,
        extra: { session: { set_denormal_as_zero: '1', disable_prepacking: '1' } } });
      assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
    }
};
tests['provider given as an object'] = async () => {
  const session = await open('linear', { executionProviders: [{ name: 'cpu', useArena: true }] });
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
};
tests['session of bytes'] = async () => {
  const bytes = fs.readFileSync(file('linear'));
  const around = new Uint8Array(bytes.length + 32);
  around.set(bytes, 16);
  for (const session of [await ort.InferenceSession.create(bytes),
                         await ort.InferenceSession.create(around.buffer, 16, bytes.length),
                         await ort.InferenceSession.create(around.subarray(16, 16 + bytes.length))])
    assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
};
tests['external data'] = async () => {
  const session = await open('linear_external');
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
};
tests['free dimension overrides'] = async () => {
  const session = await open('linear', { freeDimensionOverrides: { batch: 2 } });
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
};
tests['some outputs'] = async () => {
  const session = await open('two_of_two');
  const feeds = { a: new ort.Tensor('float32', [1, 2], [2]), b: new ort.Tensor('float32', [3, 5], [2]) };
  assert.deepStrictEqual(session.outputNames, ['sum', 'product']);
  assert.deepStrictEqual(Object.keys(await session.run(feeds, ['product'])), ['product']);
  const all = await session.run(feeds, ['product', 'sum']);
  assert.deepStrictEqual([Array.from(all.sum.data), Array.from(all.product.data)], [[4, 7], [3, 10]]);
};
tests['preallocated outputs'] = async () => {
  const session = await open('linear');
  const y = new ort.Tensor('float32', new Float32Array(4), [2, 2]);
  const results = await session.run({ x: x3() }, { y });
  assert.deepStrictEqual(Array.from(results.y.data), linear);
  assert.deepStrictEqual(Array.from(y.data), linear);
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() }, { y: null })).y.data), linear);
};
tests['run options'] = async () => {
  const session = await open('linear');
  const options = { logSeverityLevel: 3, logVerbosityLevel: 0, tag: 'a tag', terminate: false };
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() }, options)).y.data), linear);
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() }, ['y'], options)).y.data), linear);
};
tests['several runs at once'] = async () => {
  const session = await open('linear');
  const runs = await Promise.all(Array.from({ length: 50 }, () => session.run({ x: x3() })));
  for (const { y } of runs) assert.deepStrictEqual(Array.from(y.data), linear);
};
tests['overridable initializer'] = async () => {
  const session = await open('overridable');
  const { y } = await session.run({ x: new ort.Tensor('float32', [1, 2], [1, 2]) });
  assert.deepStrictEqual(Array.from(y.data), [1.5, 1.5]);
};
tests['strings changed'] = async () => {
  const session = await open('upper');
  const { y } = await session.run({ x: new ort.Tensor(['one', 'Two'], [2]) });
  assert.deepStrictEqual(y.data, ['ONE', 'TWO']);
};
tests['outputs that are no tensors'] = async () => {
  const session = await open('to_sequence');
  assert.strictEqual(session.outputMetadata[0].isTensor, false);
  const feeds = { a: new ort.Tensor('float32', [1, 2], [2]), b: new ort.Tensor('float32', [3, 5], [2]) };
  await assert.rejects(session.run(feeds));
};
tests['profile'] = async () => {
  const session = await open('linear', { enableProfiling: true, profileFilePrefix: path.join(written, 'profile') });
  await session.run({ x: x3() });
  session.endProfiling();
  const profile = fs.readdirSync(written).filter((name) => name.startsWith('profile'));
  assert.strictEqual(profile.length, 1);
  const events = JSON.parse(fs.readFileSync(path.join(written, profile[0])));
  assert(events.some((event) => event.cat === 'Node'));
  assert(events.some((event) => event.name === 'model_run'));
};
tests['optimized model'] = async () => {
  const saved = path.join(written, 'optimized.onnx');
  await open('linear', { optimizedModelFilePath: saved, graphOptimizationLevel: 'extended' });
  const session = await ort.InferenceSession.create(saved);
  assert.deepStrictEqual(Array.from((await session.run({ x: x3() })).y.data), linear);
};
tests['released session'] = async () => {
  const session = await open('linear');
  await session.release();
  await assert.rejects(async () => session.run({ x: x3() }));
};
tests['backends'] = async () => {
  assert(ort.listSupportedBackends().some((backend) => backend.name === 'cpu' && backend.bundled));
  assert.match(ort.env.versions.node, /^\d+\./);
};
tests['worker threads'] = async () => {
  const done = await Promise.all([1, 2].map(() => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { models } });
    let message = null;
    worker.on('message', (got) => (message = got));
    worker.on('error', reject);
    worker.on('exit', () => resolve(message));
  })));
  assert.deepStrictEqual(done, [linear, linear]);
};
const rejected = {
  'no such file': () => open('nothing'), 'broken model': () => open('broken'), 'unknown operator': () => open('custom_op'),
  'empty buffer': () => ort.InferenceSession.create(new Uint8Array(0)),
  'unknown provider': () => open('linear', { executionProviders: ['nobody'] }),
  'wrong type': async () => (await open('linear')).run({ x: new ort.Tensor('int32', [1, 2, 3], [1, 3]) }),
  'wrong rank': async () => (await open('linear')).run({ x: new ort.Tensor('float32', [1, 2, 3], [3]) }),
  'wrong size': async () => (await open('linear')).run({ x: new ort.Tensor('float32', [1, 2], [1, 2]) }),
  'missing input': async () => (await open('two_of_two')).run({ a: new ort.Tensor('float32', [1], [1]) }),
  'unknown output': async () => (await open('linear')).run({ x: x3() }, ['z']),
};
for (const [name, action] of Object.entries(rejected))
  tests['rejects ' + name] = () => assert.rejects(async () => action(), Error);

async function main() {
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log('ok ' + name);
    } catch (error) {
      console.log('failed ' + name + ': ' + String(error.stack || error).replace(/\n/g, ' | '));
    }
  }
  console.log('end');
}

if (isMainThread) main();
else open('linear').then((session) => session.run({ x: x3() })).then(({ y }) =>
  require('worker_threads').parentPort.postMessage(Array.from(y.data)));
