// The page of `kelvin view` in Chromium, and speedscope on the same profile: node bench/view.mjs [SAMPLES...] (default 1000000).
// Prints for each: from opening to the first complete picture, from a range to its flame graph, milliseconds per picture while the
// timeline is zoomed, CPU time and memory of the page's process, and the load of the machine. Needs 'make check-all' once: Chromium, npm.
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..'), tests = join(root, 'tests/browser/');
const { chromium } = createRequire(tests)('playwright-core');
const kelvin = process.env.KELVIN || join(root, 'build/kelvin'), folder = mkdtempSync(join(tmpdir(), 'view-bench-'));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

// Four threads, 20,000 call paths up to 24 deep, a sample each millisecond of each thread.
async function profile(samples) {
    const path = join(folder, `${samples}.json`), out = createWriteStream(path), names = 3000;
    let seed = 1;
    const random = n => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    const stacks = Array.from({length: 20000}, () => { const s = [0]; for (let d = 2 + random(22); d > 0; d--) s.push(1 + Math.floor(random(names) * random(1000) / 1000)); return s.join(','); });
    const put = text => new Promise(done => out.write(text) ? done() : out.once('drain', done));
    await put(JSON.stringify({$schema: 'https://www.speedscope.app/file-format-schema.json', shared: {frames: Array.from({length: names + 1}, (_, i) => ({name: `function_${i}`}))}}).slice(0, -1) + ',"profiles":[');
    for (let t = 0; t < 4; t++) {
        const n = samples / 4;
        await put(`${t ? ',' : ''}{"type":"sampled","name":"thread ${t}","unit":"nanoseconds","startValue":0,"endValue":${n * 1e6},"samples":[`);
        for (let i = 0; i < n; i += 1000) await put(Array.from({length: Math.min(1000, n - i)}, (_, k) => `${i + k ? ',' : ''}[${stacks[(random(200) + Math.floor((i + k) / n * 19800)) % 20000]}]`).join(''));
        await put('],"weights":[');
        for (let i = 0; i < n; i += 1000) await put(Array.from({length: Math.min(1000, n - i)}, (_, k) => `${i + k ? ',' : ''}1000000`).join(''));
        await put(']}');
    }
    await put(']}');
    await new Promise(done => out.end(done));
    return path;
}

// CPU seconds and megabytes of the page's process: of those that render, the largest.
function used(home) {
    let cpu = 0, rss = 0;
    for (const pid of readdirSync('/proc').filter(p => /^\d+$/.test(p))) {
        try {
            const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
            if (!line.includes(home) || !line.includes('--type=renderer')) continue;
            const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
            const own = +/Pss:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1] / 1024;
            if (own < rss) continue; // a blank tab
            cpu = (+stat[11] + +stat[12]) / 100;
            rss = own;
        } catch { /* it ended */ }
    }
    return {cpu, rss};
}

async function opened(name, url, work) {
    const home = mkdtempSync(join(folder, 'home-'));
    const context = await chromium.launchPersistentContext(home, {executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS, viewport: {width: 1280, height: 800}});
    const page = await context.newPage();
    page.setDefaultTimeout(600000);
    const start = Date.now();
    await page.goto(url, {timeout: 600000});
    const said = await work(page, start);
    const {cpu, rss} = used(home);
    console.log(`${name}: ${said}; CPU ${cpu.toFixed(2)} s, memory ${Math.round(rss)} MB; load ${loadavg()[0].toFixed(1)}`);
    await context.close();
}

const ranges = page => page.evaluate(async () => {
    const times = [];
    for (let i = 1; i < 8; i++) {
        performance.clearMarks('flame');
        const from = performance.now();
        location.hash = `#time=${i * 10}%25..${i * 10 + 10}%25`;
        times.push(await new Promise(done => { const look = () => { const m = performance.getEntriesByName('flame'); if (m.length) done(m[0].startTime - from); else setTimeout(look, 1); }; look(); }));
    }
    return times.sort((a, b) => a - b)[3];
});
const zooms = page => page.evaluate(async () => {
    const box = document.querySelector('.time canvas').getBoundingClientRect(), frames = 60, from = performance.now();
    for (let i = 0; i < frames; i++) {
        document.querySelector('.time').dispatchEvent(new WheelEvent('wheel', {deltaY: i % 20 < 10 ? -1 : 1, clientX: box.x + 600, clientY: box.y + 40, ctrlKey: true, cancelable: true}));
        await new Promise(requestAnimationFrame);
    }
    return (performance.now() - from) / frames;
});

async function own(path) {
    const page = join(folder, 'page.html');
    execFileSync(kelvin, ['view', path, '-o', page], {stdio: 'ignore'});
    await opened('kelvin view', 'file://' + page, async p => {
        while (!(await p.locator('#app').getAttribute('data-settled'))) await p.waitForTimeout(10);
        const first = await p.evaluate(() => performance.getEntriesByName('picture')[0].startTime);
        return `first picture ${Math.round(first)} ms, a range ${Math.round(await ranges(p))} ms (median of 7), ${(await zooms(p)).toFixed(1)} ms per picture while zooming`;
    });
}

async function speedscope(path) {
    const release = join(tests, 'node_modules/speedscope/dist/release'), types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json'};
    const server = createServer(async (request, response) => {
        const asked = normalize(new URL(request.url, 'http://x').pathname);
        try {
            const bytes = await readFile(asked === '/profile.json' ? path : join(release, asked));
            response.writeHead(200, {'content-type': types[extname(asked)] || 'application/octet-stream'}).end(bytes);
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    const origin = `http://127.0.0.1:${server.address().port}`;
    try {
        await opened('speedscope', `${origin}/index.html#profileURL=${encodeURIComponent(origin + '/profile.json')}`, async (p, start) => {
            await p.getByText('Sandwich').waitFor();
            return `first picture ${Date.now() - start} ms`;
        });
    } finally {
        server.close();
    }
}

try {
    for (const samples of process.argv.slice(2).length ? process.argv.slice(2) : ['1000000']) {
        const path = await profile(+samples);
        console.log(`${samples} samples, 4 threads:`);
        await own(path);
        await speedscope(path);
    }
} finally {
    rmSync(folder, {recursive: true, force: true});
}
