// What the page of `kelvin view` shows, cell by cell, next to what the core or the terminal says: node figures.mjs CASE PAGE.html [ARG...].
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [, , name, file, ...args] = process.argv;
const text = readFileSync(new URL('../../web/view_text.js', import.meta.url));
const { share, time, bytes, count, micro, exactly, quoted, seen, oneLine } = await import(`data:text/javascript;base64,${text.toString('base64')}`);

// Answers of the core to QUESTIONS about the page's own recording.
const ask = (...questions) => execFileSync('node', [fileURLToPath(new URL('core.mjs', import.meta.url)), file, ...questions.map(q => JSON.stringify(q))], {encoding: 'utf8', maxBuffer: 1 << 28})
    .trim().split('\n').map(line => JSON.parse(line));
const terminal = (...words) => JSON.parse(execFileSync(args[0], [...words, '--format', 'json'], {encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore']}));

const patience = 60000;
const settled = async page => +await page.locator('#app').getAttribute('data-settled') || 0;
async function then(page, action) {
    const before = await settled(page), end = Date.now() + patience;
    await action();
    while (await settled(page) <= before) {
        if (Date.now() > end) throw new Error('the page does not settle');
        await page.waitForTimeout(20);
    }
}
async function until(what, is) {
    const end = Date.now() + patience;
    while (!await is()) {
        if (Date.now() > end) throw new Error('in vain: ' + what);
        await new Promise(done => setTimeout(done, 30));
    }
}
async function withView(hash, test) {
    const { withPage } = await import('./browser.mjs');
    await withPage('about:blank', {width: 1400, height: 900}, async page => {
        // What is drawn: rectangles with their colours, lines of filled areas, dashes.
        await page.addInitScript(() => {
            const p = CanvasRenderingContext2D.prototype, fillRect = p.fillRect, dash = p.setLineDash, begin = p.beginPath, line = p.lineTo, fill = p.fill;
            window.drawn = {rects: [], dashes: 0, areas: []};
            let path = [];
            Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}});
            p.fillRect = function (...at) { window.drawn.rects.push([String(this.fillStyle), ...at, this.globalAlpha]); return fillRect.apply(this, at); };
            p.setLineDash = function (list) { if (list.length) window.drawn.dashes++; return dash.call(this, list); };
            p.beginPath = function () { path = []; return begin.call(this); };
            p.lineTo = function (x, y) { path.push([x, y]); return line.call(this, x, y); };
            p.fill = function (...how) { window.drawn.areas.push([String(this.fillStyle), path]); return fill.apply(this, how); };
        });
        await page.goto(`file://${file}${hash}`);
        await until('a picture', async () => await page.locator('#app').count() && await settled(page) > 0);
        await test(page);
    });
}
async function again(page) {
    await page.reload();
    await until('a picture', async () => await page.locator('#app').count() && await settled(page) > 0);
}
const fresh = page => page.evaluate(() => { window.drawn.rects.length = window.drawn.areas.length = window.drawn.dashes = 0; });
const drawn = page => page.evaluate(() => window.drawn);
// A colour of the page as a canvas gives it back.
const ink = (page, word) => page.evaluate(word => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + word).trim(); return String(c.fillStyle); }, word);
const table = (page, at) => page.locator(at).evaluateAll(rows => rows.map(r => ({...r.dataset, few: r.classList.contains('few'), classes: r.className, cells: [...r.cells].map(c => c.textContent), kinds: [...r.cells].map(c => c.className),
    bars: [...r.querySelectorAll('.bar')].map(b => ({said: b.getAttribute('aria-label'), part: parseFloat(b.querySelector('b').style.width), left: b.querySelector('i') && parseFloat(b.querySelector('i').style.left), width: b.querySelector('i') && parseFloat(b.querySelector('i').style.width)}))})));
const near = (a, b, words) => assert.ok(Math.abs(a - b) <= 0.06 + 1e-3 * Math.abs(b), `${words}: ${a}, and not ${b}`);
const within = (bar, s, full, words) => {
    near(bar.part, 100 * Math.min(1, s.share / full), words + ', bar');
    near(bar.left, 100 * Math.min(1, s.low / full), words + ', begin of the whisker');
    near(bar.width, Math.max(0.5, 100 * (Math.min(1, s.high / full) - Math.min(1, s.low / full))), words + ', whisker');
    assert.equal(bar.said, share(s.share, s.low, s.high), words);
};
const facts = page => page.locator('main dl').evaluateAll(all => all.flatMap(dl => [...dl.children]).reduce((list, e) => e.tagName === 'DT' ? [...list, [e.textContent]] : (list[list.length - 1].push(e.textContent), list), []));

const cases = {
    // Numbers and names as the terminal writes them.
    words() {
        assert.equal(share(0.05, 0.036, 0.064), '5.0% ±1.4');
        assert.equal(share(0.019, 0.003, 0.11), '1.9% (0.3-11.0)');
        assert.equal(share(0.5, 0.4998, 0.5002), '50.00% ±0.02');
        assert.equal(share(0.25), '25.0%');
        assert.equal(share(0.99, 0.96, 1), '99.0% (96.0-100.0)');
        assert.deepEqual([0, 1, 999, 1000, 1500, 1e6, 2.345e6, 1e9, 123.4e9].map(time), ['0 ns', '1 ns', '999 ns', '1 µs', '1.5 µs', '1 ms', '2.35 ms', '1 s', '123 s']);
        assert.deepEqual([0, 1023, 1024, 1536, 2 ** 20, 2.5 * 2 ** 30, 2 ** 40].map(bytes), ['0 B', '1023 B', '1 KiB', '1.5 KiB', '1 MiB', '2.5 GiB', '1 TiB']);
        assert.deepEqual([0, 999, 1000, 1234567, null].map(count), ['0', '999', '1,000', '1,234,567', '-']);
        assert.equal(micro('12 us and 3 use'), '12 µs and 3 use');
        assert.equal(exactly('a.b*(c)[d]{e}^$|\\+?'), '^a\\.b\\*\\(c\\)\\[d\\]\\{e\\}\\^\\$\\|\\\\\\+\\?$');
        for (const word of ['', 'plain-1.2', "it's", '$(touch x)', '`id`', 'a"b', 'a\\b', 'a;b', '-x', '*', '~', '!x', 'é', "\u202e'\\x"])
            assert.equal(execFileSync('bash', ['-c', `printf %s ${quoted(word)}`], {encoding: 'utf8'}), word);
        for (const ch of '\0\x01\x1b\x7f\x85\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff\ufff9\ufffb\ufffe\uffff') assert.equal(seen(`a${ch}b`), 'a?b', ch.codePointAt(0).toString(16));
        assert.equal(seen('a\tb\nc'), 'a\tb\nc');
        assert.equal(oneLine('a\tb\nc'), 'a?b?c');
    },
    // The table of functions: each cell, each bar and whisker; more rows come as one scrolls.
    async functions() {
        const {functions} = terminal('report', args[1], '--by', 'function', '--top', '1000'), [list] = ask({ask: 'list', by: 'function', sort: 'self', top: 1000});
        assert.ok(functions.length > 100);
        await withView('#tab=functions', async page => {
            // Only rows in sight are there: scroll to the first that was not seen.
            const found = new Map(), first = () => list.rows.findIndex((_, i) => !found.has(i));
            await until('all rows', async () => {
                for (const row of await table(page, 'main tbody tr')) found.set(+row.index, row);
                if (first() < 0) return true;
                await page.locator('main .scroll').evaluate((box, i) => { box.scrollTop = i * box.querySelector('tbody tr').offsetHeight; }, first());
                return false;
            });
            const rows = list.rows.map((_, i) => found.get(i)), full = Math.max(...list.rows.slice(0, 60).map(r => r.total.high));
            assert.deepEqual(rows.map(r => r.name), list.rows.map(r => r.name), 'each function once, in order');
            functions.forEach((f, i) => {
                const [self, , selfTime, total, , totalTime, samples, name, module, place] = rows[i].cells;
                assert.equal(name, f.name);
                assert.deepEqual([self, selfTime, total, totalTime, samples], [share(f.self.share, f.self.low, f.self.high), time(f.self_time_ns), share(f.total.share, f.total.low, f.total.high), time(f.total_time_ns), count(f.self_samples)], name);
                assert.deepEqual([module, place], [f.module, name + '.c'], name);
                within(rows[i].bars[0], f.self, full, name + ', self');
                within(rows[i].bars[1], f.total, full, name + ', total');
                assert.equal(rows[i].few, f.total_samples < 10, name + ': grey where there are few samples');
            });
            assert.ok(rows.some(r => r.few) && rows.some(r => !r.few));
            // Functions that only call others have nothing of their own.
            const main = rows.find(r => r.name === 'main').cells;
            assert.deepEqual([main[0], main[2], main[6]], ['', '', '']);
        });
        await withView('#tab=functions&filter=%5Ef00', async page => {
            const rows = await table(page, 'main tbody tr');
            assert.deepEqual(rows.map(r => r.name).sort(), list.rows.map(r => r.name).filter(n => n.startsWith('f00')).sort());
        });
    },
    // The call tree, unfolded.
    async tree() {
        for (const inverted of [false, true]) {
            const q = {least: 0.0005, group: 'none', inverted}, [t, {shares}] = ask({...q, ask: 'tree'}, {...q, ask: 'tree_shares'});
            await withView('#tab=tree' + (inverted ? '&inverted=1' : ''), async page => {
                const whole = t.total[0], known = i => shares[i] || [], of = (i, self) => self ? share(t.self[i] / whole, known(i)[2], known(i)[3]) : share(t.total[i] / whole, known(i)[0], known(i)[1]);
                await page.locator('main .scroll').focus();
                for (let k = 0; k < 4; k++) {
                    await page.locator('main tbody tr').first().click();
                    await page.keyboard.press('*');
                }
                const rows = await table(page, 'main tbody tr');
                await until('intervals', async () => /±|\(/.test(await page.locator('main tbody tr').nth(1).innerText()));
                const last = new Map();
                for (const r of await table(page, 'main tbody tr')) {
                    const i = +r.node, up = t.parent[i];
                    assert.equal(r.name, t.labels[t.label[i]].name);
                    assert.deepEqual([r.cells[0], r.cells[3], r.cells[4]], [of(i, false), t.self[i] ? of(i, true) : '', count(t.total_samples[i])], `${r.name} of ${i}`);
                    if (shares[i]) {
                        near(r.bars[0].left, 100 * shares[i][0], r.name);
                        near(r.bars[0].width, Math.max(0.5, 100 * (shares[i][1] - shares[i][0])), r.name);
                    }
                    assert.ok(!last.has(up) || last.get(up) >= t.total[i], 'the largest callee comes first');
                    assert.equal(r.few, t.total_samples[i] < 10);
                    last.set(up, t.total[i]);
                }
                assert.ok(rows.length > 5);
                // In the tree of callers no path begins at the root: none is offered as a subtree.
                await page.locator('main tbody tr').nth(1).click();
                assert.equal(await page.getByRole('button', {name: 'Subtree', exact: true}).count(), inverted ? 0 : 1);
            });
        }
    },
    async callers() {
        const f = terminal('report', args[1], '--callers', 'parse').function;
        await withView('#tab=callers&fn=parse', async page => {
            assert.equal(await page.locator('main .tools .note').innerText(), `self ${share(f.self.share, f.self.low, f.self.high)}, total ${share(f.total.share, f.total.low, f.total.high)}`);
            for (const [title, list] of [['Called by', f.callers], ['Calls', f.callees]]) {
                const rows = await table(page, `main table[aria-label="${title}"] tbody tr`), full = Math.max(...list.map(c => c.total.high));
                assert.deepEqual(rows.map(r => [r.cells[0], r.cells[2], r.cells[3]]), list.map(c => [share(c.total.share, c.total.low, c.total.high), share(c.part), c.name]), title);
                rows.forEach((r, i) => within(r.bars[0], list[i].total, full, title));
            }
        });
    },
    // Frames: place, width and words of each; the card; edges that are not certain.
    async flame() {
        const q = {least: 0.0003, group: 'comm'}, [t, {shares}] = ask({...q, ask: 'tree'}, {...q, ask: 'tree_shares'}), whole = t.total[0], name = i => i ? t.labels[t.label[i]].name : 'all';
        await withView('#tab=flame', async page => {
            await fresh(page);
            await page.setViewportSize({width: 1300, height: 900}); // draws once more, with intervals
            await until('dashes', async () => (await drawn(page)).dashes > 0);
            const width = await page.locator('main canvas').evaluate(c => c.clientWidth);
            const children = i => [...t.parent.keys()].filter(k => k && t.parent[k] === i).sort((a, b) => t.total[b] - t.total[a] || a - b);
            const places = [[0, 0, width, 0]];
            const faint = i => i && t.total_samples[i] < 10 && !t.groups.includes(i);
            let unsure = 0, pale = 0;
            for (const [i, left, , depth] of places) {
                let x = left;
                const list = children(i);
                for (const c of list) {
                    const w = t.total[c] / whole * width, next = list[list.indexOf(c) + 1];
                    places.push([c, x, w, depth + 1]);
                    if (next && w > 6 && shares[c] && shares[next] && shares[c][0] < shares[next][1] && shares[next][0] < shares[c][1]) unsure++;
                    x += w;
                }
            }
            await page.waitForTimeout(300);
            await fresh(page);
            await page.locator('main canvas').focus();
            await page.keyboard.press('ArrowDown');
            const {rects, dashes} = await drawn(page), draws = rects.filter(r => r[1] === 0 && r[2] === 0 && r[4] === 19).length || 1;
            assert.ok(unsure > 0 && unsure < places.length - 2, 'some orders are certain, some are not');
            assert.equal(dashes, unsure * draws, 'edges whose order is not certain');
            for (const [i, x, w, depth] of places) {
                if (w < 1.5) continue;
                assert.ok(rects.some(r => Math.abs(r[1] - x) < 0.1 && r[2] === 20 * depth && Math.abs(r[3] - (w - (w > 2 ? 0.7 : 0))) < 0.1 && r[4] === 19 && Math.abs(r[5] - (faint(i) ? 0.55 : 1)) < 0.01), `${name(i)} at ${x}, ${w} wide${faint(i) ? ', pale' : ''}`);
                pale += faint(i);
                if (w < 8) continue;
                const box = await page.locator('main canvas').boundingBox();
                await page.mouse.move(box.x + x + w / 2, box.y + 20 * depth + 10);
                await until('card of ' + name(i), async () => await page.locator('.card h3').count() && await page.locator('.card h3').innerText() === name(i));
                const said = await page.locator('.card dl').evaluate(dl => Object.fromEntries([...dl.querySelectorAll('dt')].map(e => [e.textContent, e.nextSibling.textContent]))), s = shares[i];
                assert.equal(said.total, `${share(t.total[i] / whole, s && s[0], s && s[1])} · ${time(t.total[i])}`);
                assert.equal(said.self, `${share(t.self[i] / whole, s && s[2], s && s[3])} · ${time(t.self[i])}`);
                assert.equal(said.samples, count(t.total_samples[i]) + (t.total_samples[i] < 10 ? ' (too few to rely on)' : ''));
                if (i) assert.equal(said['of its caller'], `${share(t.total[i] / t.total[t.parent[i]])} of ${name(t.parent[i])}`);
            }
            assert.ok(pale > 0, 'some frames have few samples');
        });
        // By time: as long as they took, from when they began.
        const [chart] = ask({ask: 'tree', least: 0.0003, group: 'tid', chart: true});
        await withView('#tab=flame&order=time', async page => {
            const {rects} = await drawn(page), width = await page.locator('main canvas').evaluate(c => c.clientWidth), span = Math.max(...chart.start.map((a, i) => a + chart.extent[i]));
            let n = 0;
            for (let i = 1; i < chart.n; i++) {
                const w = chart.extent[i] / span * width, x = chart.start[i] / span * width;
                if (w < 3) continue;
                n++;
                assert.ok(rects.some(r => Math.abs(r[1] - x) < 0.1 && Math.abs(r[3] - (w - 0.7)) < 0.1 && r[4] === 19), `${i} at ${x}, ${w} wide`);
            }
            assert.ok(n > 10);
        });
    },
    // Two files: each cell of the table, and colours only for what is proven.
    async compare() {
        const [, before, after] = args, d = terminal('diff', before, after);
        await withView('#tab=compare', async page => {
            const grown = await ink(page, 'grown'), shrunk = await ink(page, 'shrunk'), tone = {improved: 'down', regressed: 'up'}[d.verdict];
            assert.equal(await page.locator('.verdict b').innerText(), d.verdict[0].toUpperCase() + d.verdict.slice(1));
            assert.equal(await page.locator('.verdict b').getAttribute('class'), tone || null);
            for (const by of ['total', 'self']) {
                await page.getByRole('button', {name: by[0].toUpperCase() + by.slice(1), exact: true}).click();
                const rows = await table(page, 'main tbody tr');
                for (const r of rows) {
                    const f = d.functions.find(f => r.cells[7].startsWith(f.name)), v = f[by], cost = x => x === null ? null : d.scale === 'seconds' ? time(x * 1e9) : null;
                    assert.equal(r.cells[2], cost(v.before_cost) || share(v.before), f.name);
                    assert.equal(r.cells[3], cost(v.after_cost) || share(v.after), f.name);
                    assert.equal(r.cells[4], (v.difference >= 0 ? '+' : '') + (100 * v.difference).toFixed(1), f.name);
                    assert.equal(r.cells[6], v.proven ? 'proven' : '', f.name);
                    if (v.cost_low === null || v.cost_high === null) assert.equal(r.cells[1], '-');
                    else assert.deepEqual(r.cells[1].split(' to ').map(c => c.startsWith('x') ? +c.slice(1) : 1 + parseFloat(c) / 100).map(c => c.toFixed(1)), [v.cost_low, v.cost_high].map(c => c.toFixed(1)), f.name);
                    const grew = v.cost === null ? v.difference > 0 : v.cost > 1;
                    assert.equal(r.classes.includes('grey'), !v.proven, f.name + ' is grey unless it is proven');
                    assert.equal(/\b(up|down)\b/.exec(r.kinds[0])?.[0], v.proven ? grew ? 'up' : 'down' : undefined, f.name);
                }
                assert.ok(rows.length > 2);
                await page.getByRole('button', {name: 'Proven only'}).click();
                assert.deepEqual((await table(page, 'main tbody tr')).filter(r => r.cells.length > 1).map(r => r.cells[6]), d.functions.filter(f => f[by].proven).map(() => 'proven'));
                await page.getByRole('button', {name: 'Proven only'}).click();
            }
            await page.getByRole('button', {name: 'Flame graph', exact: true}).last().click();
            await fresh(page);
            await page.locator('main canvas').focus();
            await page.keyboard.press('ArrowDown');
            const colours = new Set((await drawn(page)).rects.filter(r => r[4] === 19).map(r => r[0]));
            assert.equal(colours.has(grown), d.paths.some(p => p.total.proven && (p.total.cost === null ? p.total.difference > 0 : p.total.cost > 1)));
            assert.equal(colours.has(shrunk), d.paths.some(p => p.total.proven && (p.total.cost === null ? p.total.difference < 0 : p.total.cost < 1)));
        });
    },
    // Lanes as high as the threads were busy; bands, marks and cards of states.
    async lanes() {
        await withView('#tab=about', async page => {
            const label = 190, plot = await page.locator('.time').evaluate(b => b.clientWidth) - label - 8, bins = Math.ceil(plot / 3);
            const [a] = ask({ask: 'lanes', bins}), ns = (a.to_s - a.from_s) * 1e9 / bins, run = await ink(page, 'run'), hit = await ink(page, 'hit'), runnable = await ink(page, 'runnable');
            await fresh(page);
            await page.setViewportSize({width: 1400, height: 890});
            await page.mouse.move(700, 200);
            await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
            await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
            await fresh(page);
            await page.locator('.time').focus();
            const box = await page.locator('.time canvas').boundingBox();
            // A drag that selects nothing draws it once.
            await page.mouse.move(box.x + 400, box.y + 60);
            await page.mouse.down();
            await page.mouse.up();
            await until('lanes', async () => (await drawn(page)).areas.length >= a.lanes.length);
            const {areas, rects} = await drawn(page), lanes = areas.filter(([c]) => c === run);
            a.lanes.forEach((lane, i) => {
                const floor = Math.max(...lanes[i][1].map(p => p[1])), high = lanes[i][1].reduce((sum, p) => sum + floor - p[1], 0);
                near(high / 24, 2 * lane.bins.reduce((sum, b) => sum + Math.min(1, b / ns), 0), lane.name + ' is as high as it was busy');
            });
            const times = areas.filter(([c]) => c === run).length / a.lanes.length;
            const band = (colour, word) => {
                const shown = rects.filter(r => r[0] === colour && r[4] < 8.001 && r[3] > 0).reduce((sum, r) => sum + r[4] / 8, 0) / times;
                const expected = a.states.reduce((sum, s) => { for (let i = 0; i < bins; i++) { const all = s.running[i] + s.runnable[i] + s.blocked[i] + s.unknown[i]; if (all > 0) sum += s[word][i] / all; } return sum; }, 0);
                assert.ok(Math.abs(shown - expected) <= 0.05 * expected + 1, `${word}: ${shown} of bins, and not ${expected}`);
            };
            if (a.states.length) band(run, 'running'), band(runnable, 'runnable');
            const ticks = rects.filter(r => r[0] === hit && r[3] === 1.5 && r[4] === 4).length / times;
            assert.equal(ticks, a.marks.filter(m => a.lanes.some(l => l.tid === m.tid && l.pid === m.pid) || a.states.some(l => l.tid === m.tid && l.pid === m.pid)).reduce((n, m) => n + m.at.length, 0), 'a tick for each event of a lane');
            let looked = 0, y = 20;
            for (const lane of a.lanes) {
                const s = a.states.find(s => s.tid === lane.tid && s.pid === lane.pid);
                const depth = Math.min(4, a.spans.filter(p => p[0] === lane.tid).reduce((d, p) => Math.max(d, p[3]), 0)), top = y;
                y += 30 + (s ? 10 : 0) + 11 * depth;
                if (!s || y > 150) continue;
                for (let x = 20; x < plot - 20; x += 97) {
                    const i = Math.floor(x / plot * bins), sum = s.running[i] + s.runnable[i] + s.blocked[i];
                    await page.mouse.move(box.x + label + x, box.y + top + 10);
                    await page.waitForSelector('.card');
                    const said = await page.locator('.card dl').evaluate(dl => Object.fromEntries([...dl.querySelectorAll('dt')].map(e => [e.textContent, e.nextSibling.textContent])));
                    for (const k of ['running', 'runnable', 'blocked']) assert.equal((said[k] || '').split(':')[0], sum && s[k][i] > 0 ? `${(100 * s[k][i] / sum).toFixed(0)}%` : '', `${lane.name}, ${k} at ${x}`);
                    assert.equal(said.total, time(lane.total));
                    assert.equal(said.samples, count(lane.samples));
                    looked += sum > 0;
                }
            }
            assert.ok(looked > 3 || !a.states.length);
        });
    },
    // Heap, locks, scopes, waits: each column has what its title says.
    async stories() {
        const [, recording] = args, own = f => f.some(x => !x.kernel) ? f.filter(x => !x.kernel) : f;
        await withView('#tab=heap', async page => {
            const h = terminal('heap', recording), said = Object.fromEntries(await facts(page));
            assert.ok(said.peak.startsWith(bytes(h.peak)) && said['never freed'].startsWith(bytes(h.leaked) + ' in ' + count(h.leaked_blocks) + ' ') && said.allocated.startsWith(bytes(h.allocated) + ' in ' + count(h.allocations) + ' '), JSON.stringify(said));
            const rows = await table(page, 'table[aria-label="Places"] tbody tr'), places = [...h.places].sort((a, b) => b.peak - a.peak || b.allocated - a.allocated);
            assert.deepEqual(rows.slice(0, 20).map(r => [r.cells[0], ...r.cells.slice(2, 6)]), places.slice(0, 20).map(p => [bytes(p.peak), bytes(p.leaked), bytes(p.allocated), count(p.allocations), seen(p.function)]));
            rows.slice(0, 20).forEach((r, i) => near(r.bars[0].part, 100 * places[i].peak_share, places[i].function));
        });
        await withView('#tab=scopes', async page => {
            const s = terminal('scopes', recording), q = v => v ? time(v.ns) : '';
            const rows = await table(page, 'table[aria-label="Scopes by name"] tbody tr');
            assert.deepEqual(rows.map(r => [...r.cells.slice(0, 8), r.cells.at(-1)]), s.flat.map(n => [count(n.calls), time(n.total_ns), time(n.self_ns), time(n.min_ns), q(n.p50), q(n.p90), q(n.p99), time(n.max_ns), seen(n.scope)]));
            assert.ok(rows.length > 0);
        });
        await withView('#tab=waits', async page => {
            const w = terminal('report', recording, '--waits'), part = ns => share(ns / w.wall_ns);
            assert.ok((await page.locator('main p').first().innerText()).startsWith(`Of ${time(w.wall_ns)} wall time of all threads: running ${part(w.running_ns)}, runnable ${part(w.runnable_ns)}, blocked ${part(w.blocked_ns)}`));
            assert.deepEqual((await table(page, 'table[aria-label="By reason"] tbody tr')).map(r => r.cells), w.reasons.map(r => [count(r.waits), time(r.ns), time(r.max_ns), r.reason]));
            const rows = await table(page, 'table[aria-label="By thread"] tbody tr');
            assert.deepEqual(rows.slice(0, 10).map(r => [r.cells[0], ...r.cells.slice(2)]), w.threads.slice(0, 10).map(t => [time(t.wall_ns), time(t.running_ns), time(t.runnable_ns), time(t.blocked_ns), seen(`${t.thread} ${t.tid}`)]));
            rows.slice(0, 10).forEach((r, i) => assert.equal(r.bars[0].said, `running ${time(w.threads[i].running_ns)}, runnable ${time(w.threads[i].runnable_ns)}, blocked ${time(w.threads[i].blocked_ns)}`));
            const bars = await page.locator('table[aria-label="By thread"] .bar').evaluateAll(all => all.map(b => [...b.querySelectorAll('b')].map(p => [parseFloat(p.style.left), parseFloat(p.style.width)])));
            w.threads.slice(0, 10).forEach((t, i) => { let at = 0; [t.running_ns, t.runnable_ns, t.blocked_ns].forEach((ns, k) => { near(bars[i][k][0], at, 'begin'); near(bars[i][k][1], 100 * ns / t.wall_ns, 'width'); at += 100 * ns / t.wall_ns; }); });
            assert.deepEqual((await table(page, 'table[aria-label="Where"] tbody tr')).slice(0, 10).map(r => r.cells), w.stacks.slice(0, 10).map(s => [count(s.waits), time(s.ns), time(s.max_ns), s.reason, seen(own(s.stack).slice(0, 5).map(f => f.function).join(' ← '))]));
        });
    },
    async locks() {
        const [, recording] = args;
        await withView('#tab=locks', async page => {
            const {locks} = terminal('locks', recording), waited = locks.filter(k => k.waits);
            for (const [title, list] of [['Locks that threads waited for', waited.filter(k => /^(mutex|rwlock)/.test(k.kind))], ['Conditions, semaphores, barriers', waited.filter(k => !/^(mutex|rwlock)/.test(k.kind))]])
                assert.deepEqual((await table(page, `table[aria-label="${title}"] tbody tr`)).map(r => r.cells), list.map(k => [time(k.wait_ns), count(k.waits), time(k.wait_ns / k.waits), time(k.longest_ns), k.holds ? time(k.held_ns / k.holds) : '', count(k.threads.length), k.kind, seen(k.lock)]), title);
            for (const k of waited)
                assert.deepEqual((await page.locator('main table').evaluateAll((all, lock) => all.filter(t => t.getAttribute('aria-label') === lock).flatMap(t => [...t.tBodies[0].rows].map(r => [...r.cells].slice(0, 4).map(c => c.textContent))), seen(k.lock))),
                    [...k.waiters.map(p => ['waited', p]), ...(k.holders || []).map(p => [/^(mutex|rwlock)/.test(k.kind) ? 'held' : 'woke', p])].map(([word, p]) => [word, time(p.wait_ns), count(p.waits), time(p.longest_ns)]), k.lock);
            assert.ok(waited.length > 0);
        });
    },
    // What is selected by function: waits have stacks, scopes have none; a pane says what does not apply.
    async stacks() {
        const [, recording] = args, copied = async page => {
            await page.locator('main .scroll').focus();
            await page.keyboard.press('y');
            await page.waitForSelector('.toast');
            return (await page.evaluate(() => window.copied)).split(' ').slice(1).map(w => w.replace(/^'|'$/g, ''));
        };
        const whole = terminal('report', recording, '--waits').waits;
        for (const [key, value] of [['focus', '^locker$'], ['ignore', '^locker$'], ['scope', '^turn$'], ['process', '.']]) {
            const w = terminal('report', recording, '--waits', '--' + key, value);
            assert.equal(w.waits < whole, key !== 'process');
            await withView(`#tab=waits&${new URLSearchParams([[key, value]])}`, async page => {
                assert.deepEqual((await table(page, 'table[aria-label="By reason"] tbody tr')).map(r => r.cells), w.reasons.map(r => [count(r.waits), time(r.ns), time(r.max_ns), r.reason]), key);
                assert.equal(await page.locator('main [role=note]').count(), 0);
                assert.deepEqual((await copied(page)).slice(2), ['--waits', '--' + key, value]);
            });
        }
        for (const [key, value, applies] of [['focus', '^spin$', false], ['scope', '^work$', false], ['process', 'busy', true], ['thread', '.', true]])
            await withView(`#tab=scopes&${new URLSearchParams([[key, value]])}`, async page => {
                const note = await page.locator('main [role=note]').allInnerTexts();
                assert.match(note.join(), applies ? /^$/ : /^Filters by function or scope do not apply to this pane/, key);
                const words = await copied(page), s = terminal(...words.map(w => w === 'busy.kelvin' ? recording : w));
                assert.deepEqual((await table(page, 'table[aria-label="Scopes by name"] tbody tr')).map(r => r.cells[0]), s.flat.map(n => count(n.calls)), key);
                assert.equal(words.includes('--' + key), applies);
            });
    },
    async about() {
        const i = JSON.parse(execFileSync(args[0], ['info', args[1], '--json'], {encoding: 'utf8'})), known = v => v === null || v === undefined ? 'not known' : String(v);
        await withView('#tab=about', async page => {
            const said = await facts(page);
            const of = word => said.filter(([k]) => k === word).map(([, v]) => v);
            assert.deepEqual(of('lost'), i.streams.map(s => known(s.lost)));
            assert.deepEqual(of('kind'), i.streams.map(s => known(s.kind)));
            assert.deepEqual(of('rows'), i.streams.map(s => count(s.rows)));
            assert.deepEqual(of('unfinished stacks'), i.streams.map(s => known(s.unfinished)));
            assert.equal(of('frames without a name')[0], share(i.quality.unnamed_share));
            assert.equal(of('samples without a stack')[0], share(i.quality.empty_share));
        });
    },
    // Source and instructions: self and total in their columns; a line lights what became of it, in its file.
    async source() {
        const [{code}] = ask({ask: 'code', function: 'hash'});
        await withView('#tab=source&fn=hash', async page => {
            await page.waitForSelector('main .listing');
            const lines = code.parts.flatMap(p => p.rows.map(r => [r.self_share || '', r.total_share || '', String(r.line)])), insns = code.blocks.flatMap(b => b.insns.map(i => [i.self_share || '', i.total_share || '', i.pc]));
            assert.deepEqual((await table(page, '[aria-label=Source] tbody tr')).filter(r => r.line).map(r => r.cells.slice(0, 3)), lines);
            assert.deepEqual((await table(page, '[aria-label=Instructions] tbody tr')).filter(r => r.cells.length > 2).map(r => r.cells.slice(0, 3)), insns);
            assert.ok(lines.some(([self, total]) => self !== total), 'some line calls what was inlined');
            const first = page.locator('[aria-label=Source] tr[data-line]').first(), at = await first.evaluate(r => ({...r.dataset}));
            await first.click();
            for (const row of await page.locator('main tr[data-line]').evaluateAll(all => all.map(r => ({...r.dataset, on: r.getAttribute('aria-selected') === 'true'}))))
                assert.equal(row.on, row.line === at.line && row.file === at.file, `${row.file}:${row.line}`);
        });
    },
    // Each crumb in the address, in the question, in the command; taken away one by one.
    async crumbs() {
        const selected = page => page.locator('.crumbs .note').innerText(), crumbs = page => page.locator('.crumb').allInnerTexts();
        const all = [['focus', '^read$'], ['focus', '^main$'], ['ignore', '^rare$'], ['ignore', '^f001$'], ['hide', '^parse$'], ['thread', 'worker-a'], ['thread', 'worker-b'], ['collapse-recursion', '^read$'], ['time', '10%..90%'], ['merge-recursion', '1'], ['value', 'time']];
        const flags = list => list.flatMap(([k, v]) => k === 'merge-recursion' ? ['--' + k] : ['--' + k, v]);
        const samples = list => terminal('report', args[1], ...flags(list)).samples.toLocaleString('en-US') + ' samples';
        await withView('#' + new URLSearchParams([['tab', 'functions'], ...all]), async page => {
            assert.ok((await selected(page)).startsWith(samples(all)), await selected(page));
            const copied = async () => {
                await page.locator('main .scroll').focus();
                await page.keyboard.press('y');
                await page.waitForSelector('.toast:has-text("kelvin report")');
                const words = execFileSync('bash', ['-c', `kelvin() { printf '%s\\0' "$@"; }; ${await page.evaluate(() => window.copied)}`], {encoding: 'utf8'}).split('\0').slice(0, -1);
                return words.slice(words.indexOf('function') + 1);
            };
            assert.deepEqual((await copied()).sort(), flags(all).sort());
            await then(page, () => page.keyboard.press('2'));
            assert.deepEqual([...new URLSearchParams(new URL(page.url()).hash.slice(1))].filter(([k]) => !/^tab$/.test(k)).sort(), all.map(a => [...a]).sort());
            await again(page);
            const shown = all.filter(([k]) => k !== 'value');
            assert.equal((await crumbs(page)).length, shown.length);
            let left = [...all];
            for (const taken of shown) {
                const [kind, value] = taken, words = kind === 'merge-recursion' ? ' merge recursion' : `${kind} ${value.replace(/^\^|\$$/g, '')}`;
                await then(page, () => page.getByRole('button', {name: `Remove ${words}`, exact: true}).click());
                left = left.filter(x => x !== taken);
                assert.equal((await crumbs(page)).length, left.length - 1, `${words} alone is taken away`);
                assert.ok((await selected(page)).startsWith(samples(left)), `without ${words}: ${await selected(page)}`);
            }
            for (const taken of [...shown].reverse()) {
                await then(page, () => page.getByRole('button', {name: 'Undo'}).click());
                left.push(taken);
                assert.equal((await crumbs(page)).length, left.length - 1);
                assert.ok((await selected(page)).startsWith(samples(left)));
            }
            await then(page, () => page.getByRole('button', {name: 'All', exact: true}).click());
            assert.deepEqual(await crumbs(page), []);
        });
        // Recursion that is merged leaves one frame of a function that calls itself.
        for (const [hash, n] of [['', 2], ['&merge-recursion=1', 1]])
            await withView('#tab=tree&search=%5Eread%24' + hash, async page => {
                await until('calls of read', async () => await page.locator('main tr.hit').count() > 0);
                assert.equal(await page.locator('main tr[data-name=read]').count(), n, hash);
            });
        // A search is about what is selected. A point in a name is a point. All takes the second range away as well.
        await withView('#tab=functions&thread=worker-a&time=0..0.5&other=0.5..1&search=%5Eread%24', async page => {
            await page.waitForSelector('.tabs .note:has-text("matched")');
            const [found] = ask({ask: 'search', pattern: '^read$', thread: ['worker-a'], time: '0..0.5'});
            assert.ok((await page.locator('.tabs .note').innerText()).startsWith(share(found.total.share, found.total.low, found.total.high) + ' matched'), await page.locator('.tabs .note').innerText());
            assert.equal((await crumbs(page)).length, 3);
            await again(page);
            assert.equal((await crumbs(page)).length, 3);
            await then(page, () => page.getByRole('button', {name: 'All', exact: true}).click());
            assert.deepEqual(await crumbs(page), []);
            assert.doesNotMatch(page.url(), /other|time=|thread/);
            // A lane is chosen by a click, and let go by a second.
            const box = await page.locator('.time canvas').boundingBox();
            for (const n of [1, 0]) {
                await then(page, () => page.mouse.click(box.x + 40, box.y + 35));
                assert.equal((await crumbs(page)).length, n);
            }
            // While a range is dragged the pane follows.
            const before = await page.locator('main tbody').innerText();
            await page.mouse.move(box.x + 300, box.y + 60);
            await page.mouse.down();
            await page.mouse.move(box.x + 420, box.y + 60);
            await until('the pane to follow', async () => await page.locator('main tbody').innerText() !== before);
            await then(page, () => page.mouse.up());
            assert.match((await crumbs(page))[0], /^time/);
            const [a, b] = /(\d[\d.]*)\.\.(\d[\d.]*)/.exec((await crumbs(page))[0]).slice(1).map(Number), span = ask({ask: 'lanes', bins: 10})[0].span_s, plot = box.width - 198;
            near(a, (300 - 190) / plot * span, 'begin of the range');
            near(b, (420 - 190) / plot * span, 'end of the range');
        });
    },
};

await cases[name]();
