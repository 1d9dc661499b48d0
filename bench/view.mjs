// The page of `kelvin view` in Chromium, in turns with speedscope and the Firefox Profiler on the same profile:
//
//     node bench/view.mjs [SAMPLES...]          default 1000000
//
// Prints for each: from opening to the first complete picture, from a range to its picture, milliseconds per picture while the
// timeline is zoomed, CPU time and memory of the page's process, and the load of the machine. Needs 'make check-all' once: Chromium, npm.
//
//     ROUNDS=3     turns of all of them; of several, the medians come last
//     PATIENCE=300 seconds after which a page is given up
//     FIREFOX_PROFILER=DIST  the folder 'dist' of the Firefox Profiler, built from its repository; without it that one is left out
//     ONLY=kelvin  just these, of kelvin, speedscope and firefox
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

// Whole numbers below N, the same each time.
function numbers(seed) {
    return n => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return (seed >>> 8) % n;
    };
}

// Call paths up to 24 deep, of NAMES functions below function 0. As in programs, each leaves an earlier one somewhere.
function paths(n, names, random) {
    const all = [[0]];
    while (all.length < n) {
        const from = all[random(all.length)], path = from.slice(0, Math.max(1, from.length - random(4)));
        for (let more = 1 + random(4); more > 0 && path.length < 24; more--) path.push(1 + Math.floor(random(names) * random(1000) / 1000));
        all.push(path);
    }
    return all.map(path => path.join(','));
}

// Four threads, 20,000 call paths of which 200 are in use at a time, a sample each millisecond of each thread.
async function profile(samples) {
    const path = join(folder, `${samples}.json`), out = createWriteStream(path), names = 3000, random = numbers(1), stacks = paths(20000, names, random);
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

const seconds = +process.env.PATIENCE || 300, figures = new Map();

// WORK gives names and milliseconds. Prints them, and keeps them for the medians.
async function opened(name, url, work) {
    const home = mkdtempSync(join(folder, 'home-'));
    const context = await chromium.launchPersistentContext(home, {executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS, viewport: {width: 1280, height: 800}});
    try {
        const page = await context.newPage();
        page.setDefaultTimeout(seconds * 1000);
        const start = Date.now();
        await page.goto(url, {timeout: seconds * 1000});
        const seen = await work(page, start), {cpu, rss} = used(home);
        for (const [what, ms] of Object.entries(seen)) figures.set(`${name}: ${what}`, [...figures.get(`${name}: ${what}`) || [], ms]);
        console.log(`${name}: ${Object.entries(seen).map(([what, ms]) => `${what} ${ms.toFixed(ms < 100 ? 1 : 0)} ms`).join(', ')}; CPU ${cpu.toFixed(2)} s, memory ${Math.round(rss)} MB; load ${loadavg()[0].toFixed(1)}`);
    } catch (e) {
        console.log(`${name}: nothing to see within ${seconds} s (${e.message.split('\n')[0].slice(0, 120)}); load ${loadavg()[0].toFixed(1)}`);
    } finally {
        await context.close();
    }
}

const middle = list => [...list].sort((a, b) => a - b)[list.length >> 1];

// --- kelvin ---

const ranges = page => page.evaluate(async () => {
    const times = [];
    for (let i = 1; i < 8; i++) {
        performance.clearMarks('flame');
        const from = performance.now();
        location.hash = `#time=${i * 10}%25..${i * 10 + 10}%25`;
        times.push(await new Promise(done => { const look = () => { const m = performance.getEntriesByName('flame'); if (m.length) done(m[0].startTime - from); else setTimeout(look, 1); }; look(); }));
        await new Promise(done => setTimeout(done, 500)); // as a person would look at it: intervals have come
    }
    return times;
});
const zooms = page => page.evaluate(async () => {
    const box = document.querySelector('.time canvas').getBoundingClientRect(), frames = 60, from = performance.now();
    for (let i = 0; i < frames; i++) {
        document.querySelector('.time').dispatchEvent(new WheelEvent('wheel', {deltaY: i % 20 < 10 ? -1 : 1, clientX: box.x + 600, clientY: box.y + 40, ctrlKey: true, cancelable: true}));
        await new Promise(requestAnimationFrame);
    }
    return (performance.now() - from) / frames;
});

async function openKelvin({page}) {
    await opened('kelvin view', 'file://' + page, async p => {
        await p.waitForSelector('#app[data-settled]', {state: 'attached'});
        const first = await p.evaluate(() => performance.getEntriesByName('picture')[0].startTime);
        return {'first picture': first, 'a range (median of 7)': middle(await ranges(p)), 'per picture while zooming': await zooms(p)};
    });
}

// --- the others ---

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.wasm': 'application/wasm'};

// Serve the files below HOME, and FILE as /profile.json; other addresses are those of pages, which index.html is for.
async function served(home, file, work) {
    const server = createServer(async (request, response) => {
        const asked = normalize(new URL(request.url, 'http://x').pathname), name = asked === '/profile.json' ? file : join(home, asked);
        const send = async path => {
            const bytes = await readFile(path);
            response.writeHead(200, {'content-type': TYPES[extname(path)] || 'application/octet-stream'}).end(bytes);
        };
        await send(name).catch(() => send(join(home, 'index.html'))).catch(() => response.writeHead(404).end());
    });
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    try {
        await work(`http://127.0.0.1:${server.address().port}`);
    } finally {
        server.close();
    }
}

async function openSpeedscope({speedscope}) {
    await served(join(tests, 'node_modules/speedscope/dist/release'), speedscope, origin =>
        opened('speedscope', `${origin}/index.html#profileURL=${encodeURIComponent(origin + '/profile.json')}`, async (p, start) => {
            await p.getByText('Sandwich').waitFor();
            return {'first picture': Date.now() - start};
        }));
}

// From a move of the pointer that changes the range to the second picture after it, which has the new call tree.
async function dragged(page) {
    const track = await page.locator('.timelineTrackThread').first().boundingBox(), times = [];
    for (let i = 1; i < 8; i++) {
        const x = track.x + track.width * i / 10, y = track.y + 10;
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + track.width / 20, y);
        await page.evaluate(() => { window.taken = new Promise(done => addEventListener('mousemove', () => { const from = performance.now(); requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from))); }, {once: true, capture: true})); });
        await page.mouse.move(x + track.width / 10, y);
        times.push(await page.evaluate(() => window.taken));
        await page.mouse.up();
        await page.waitForTimeout(500);
    }
    return times;
}

async function openFirefox({firefox}) {
    await served(process.env.FIREFOX_PROFILER, firefox, origin =>
        opened('Firefox Profiler', `${origin}/from-url/${encodeURIComponent(origin + '/profile.json')}/calltree/`, async (p, start) => {
            await p.waitForSelector('.treeViewRowScrolledColumns');
            return {'first picture': Date.now() - start, 'a range (median of 7)': middle(await dragged(p))};
        }));
}

const PAGES = {kelvin: openKelvin, speedscope: openSpeedscope, firefox: openFirefox};

// The profile in the form that each of them opens.
async function forms(samples) {
    const speedscope = await profile(samples), page = join(folder, 'page.html'), firefox = join(folder, 'firefox.json');
    execFileSync(kelvin, ['view', speedscope, '-o', page], {stdio: 'ignore'});
    if (process.env.FIREFOX_PROFILER) execFileSync(kelvin, ['convert', speedscope, '--to', 'firefox', '-o', firefox], {stdio: 'ignore'});
    return {speedscope, page, firefox};
}

try {
    const only = (process.env.ONLY || 'kelvin,speedscope,firefox').split(',').filter(name => name !== 'firefox' || process.env.FIREFOX_PROFILER);
    for (const samples of process.argv.slice(2).length ? process.argv.slice(2) : ['1000000']) {
        const files = await forms(+samples), rounds = +process.env.ROUNDS || 1;
        console.log(`${samples} samples, 4 threads:`);
        figures.clear();
        for (let i = 0; i < rounds; i++) for (const name of only) await PAGES[name](files);
        if (rounds > 1) for (const [what, list] of figures) console.log(`median of ${list.length}: ${what} ${middle(list).toFixed(1)} ms`);
    }
} finally {
    rmSync(folder, {recursive: true, force: true});
}
