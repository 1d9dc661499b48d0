// The page's core outside of a page: node core.mjs PAGE.html [QUESTION...] prints an answer a line. PAGE.html is what
// `kelvin view -o` wrote: core and recording are taken from it. With --times the milliseconds of each step, and those of CPU time, go
// to standard error.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

// Node.js 18 takes a .js file for CommonJS unless a package says otherwise.
const source = readFileSync(new URL('../../web/view_wasm.js', import.meta.url));
const { Core } = await import(`data:text/javascript;base64,${source.toString('base64')}`);

const times = process.argv[2] === '--times';
const [page, ...questions] = process.argv.slice(times ? 3 : 2);
const html = readFileSync(page, 'latin1');

const inside = id => {
    const found = new RegExp(`<script type="text/plain" id="${id}">([^<]*)`).exec(html);
    return found && gunzipSync(Buffer.from(found[1], 'base64'));
};
const step = async (name, work) => {
    const start = performance.now(), cpu = process.cpuUsage(), result = await work(), used = process.cpuUsage(cpu);
    if (times) console.error(`${name}: ${(performance.now() - start).toFixed(1)} ms, CPU ${((used.user + used.system) / 1000).toFixed(1)} ms`);
    return result;
};

const core = await step('start', async () => Core.start(await WebAssembly.compile(inside('core'))));
for (let i = 0; ; i++) {
    const bytes = await step('unpack', () => inside('data' + i)), code = inside('code' + i);
    if (!bytes) break;
    await step('load', () => core.load(i, [bytes]));
    if (code) core.loadCode(i, [code]);
}
for (const q of questions) console.log(await step(q, () => core.ask(JSON.parse(q))));
if (times) console.error(`memory: ${(core.c.memory.buffer.byteLength / 2 ** 20).toFixed(0)} MB`);
