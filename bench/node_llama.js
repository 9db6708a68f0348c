#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// node_llama.js FOLDER MODEL.gguf THREADS: tokens a second of node-llama-cpp, which is installed in
// FOLDER, as "pp512 N" and "tg128 N": a prompt of 512 tokens of which only the last has logits, and
// 128 tokens one by one, the most likely each time.
'use strict';
const path = require('path');
const { pathToFileURL } = require('url');

const [folder, file, threads] = process.argv.slice(2);
const prompt_size = 512;
const decode_size = 128;

// Milliseconds: with one thread those that this process runs, which no other process takes away.
function now()
{
	const { user, system } = process.cpuUsage();

	return threads === '1' ? (user + system) / 1e3 : performance.now();
}

async function prefill(seq, tokens)
{
	const start = now();

	await seq.clearHistory();
	await seq.evaluateWithoutGeneratingNewTokens(tokens);
	return tokens.length * 1e3 / (now() - start);
}

// The clock begins at the first token: what comes before it is a prompt.
async function decode(seq)
{
	let start, num = 0;

	await seq.clearHistory();
	for await (const token of seq.evaluate([1], { temperature: 0, yieldEogToken: true })) {
		if (token === undefined || num === decode_size)
			break;
		if (num++ === 0)
			start = now();
	}
	return (num - 1) * 1e3 / (now() - start);
}

async function main()
{
	const module = path.resolve(folder, 'node_modules/node-llama-cpp/dist/index.js');
	const { getLlama, LlamaLogLevel } = await import(pathToFileURL(module).href);
	const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error,
		maxThreads: Number(threads) });
	if (file === undefined) {
		console.log(`${llama.llamaCppRelease.release} ${llama.buildType}`);
		process.exit(0);
	}
	const model = await llama.loadModel({ modelPath: path.resolve(file), gpuLayers: 0 });
	const context = await model.createContext({ contextSize: 1024, batchSize: prompt_size,
		threads: Number(threads) });
	const seq = context.getSequence();
	const tokens = Array.from({ length: prompt_size }, (_, i) => 500 + i * 7919 % 31000);

	await prefill(seq, tokens.slice(0, 32));	// does not count
	console.log(`pp512 ${(await prefill(seq, tokens)).toFixed(2)}`);
	console.log(`tg128 ${(await decode(seq)).toFixed(2)}`);
	process.exit(0);
}

main();
