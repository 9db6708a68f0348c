// SPDX-License-Identifier: MIT
//
// Test Anything Protocol for scripts: ok() and friends, done() at the end.
'use strict';

let count = 0, failed = 0;

function ok(good, text)
{
	count++;
	if (!good)
		failed++;
	console.log(`${good ? '' : 'not '}ok ${count} - ${text}`);
	return good;
}

const diag = text => console.log(String(text).replace(/^/gm, '# '));
const skip = (text, why) => console.log(`ok ${++count} - ${text} # SKIP ${why}`);

function done()
{
	console.log(`1..${count}`);
	process.exitCode = failed || !count ? 1 : 0;
}

// Run an async test program; what it throws is one more failure.
function run(fn)
{
	fn().catch(err => ok(false, `ended early: ${err.stack}`)).finally(done);
}

const is_long = () => !['', '0'].includes(process.env.NPU_TEST_LONG ?? '');

module.exports = { ok, diag, skip, run, is_long };
