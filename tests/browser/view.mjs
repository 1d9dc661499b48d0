// The page of `kelvin view` in a real browser: node view.mjs CASE ADDRESS [ARG...]. With SHOTS=FOLDER pictures are kept.
// The page's policy forbids to evaluate texts, so nothing here waits with functions: only with selectors.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const [, , name, url, ...args] = process.argv;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const own = url.startsWith('file:') ? null : new URL(url).origin;

// Run TEST with a page; fails when the console says anything, the page throws, or asks for what is not its own.
async function withPage(options, test) {
    const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS});
    try {
        const context = await browser.newContext({viewport: {width: options.width || 1280, height: options.height || 800}, colorScheme: options.dark ? 'dark' : 'light',
            javaScriptEnabled: options.scripts !== false, permissions: []});
        if (options.init) await context.addInitScript(options.init);
        const page = await context.newPage(), faults = [];
        page.on('console', m => faults.push(`console: ${m.text()}`));
        page.on('pageerror', e => faults.push(`error: ${e.message}`));
        page.on('request', r => { if (!/^(file|data|blob):/.test(r.url()) && !(own && r.url().startsWith(own + '/'))) faults.push(`request: ${r.url()}`); });
        await page.goto(url + (options.hash || ''));
        if (options.scripts !== false && !options.dead) await settled(page, 1);
        await test(page);
        if (faults.length) throw new Error(faults.join('\n'));
    } finally {
        await browser.close();
    }
}

const patience = 60000;
const count = async page => +await page.locator('#app').getAttribute('data-settled') || 0;
async function settled(page, n) {
    const end = Date.now() + patience;
    while (await count(page) < n) {
        if (Date.now() > end) throw new Error('the page does not settle: ' + await page.locator('body').innerText());
        await page.waitForTimeout(20);
    }
}
// Do something that changes what is shown, and wait until it is shown.
async function then(page, action) {
    const before = await count(page);
    await action();
    await settled(page, before + 1);
}
const shot = async (page, what) => { if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/view-${name}-${what}.png`}); };
const tab = (page, text) => then(page, () => page.getByRole('tab', {name: text, exact: true}).click());
const crumbs = page => page.locator('.crumb').evaluateAll(all => all.map(c => c.textContent.replace('×', '')));
const selected = page => page.locator('.crumbs .note').innerText();
const drag = async (page, from, to, shift) => {
    const box = await page.locator('.time canvas').boundingBox();
    const x = part => box.x + 190 + part * (box.width - 198);
    if (shift) await page.keyboard.down('Shift');
    await page.mouse.move(x(from), box.y + 40);
    await page.mouse.down();
    await page.mouse.move(x((from + to) / 2), box.y + 40);
    await page.mouse.move(x(to), box.y + 40);
    await page.mouse.up();
    if (shift) await page.keyboard.up('Shift');
};
const rows = page => page.locator('main tbody tr');
const cells = (page, n) => rows(page).nth(n).locator('td').evaluateAll(all => all.map(c => c.textContent));

const cases = {
    async panes() {
        for (const options of [{}, {dark: true}, {width: 800}])
            await withPage(options, async page => {
                const look = (options.dark ? 'dark' : 'light') + (options.width || 1280);
                assert.equal(await page.title(), 'timed.json - Kelvin');
                for (const text of ['Flame graph', 'Functions', 'Call tree', 'Callers', 'Insights', 'About']) {
                    if (text !== 'Flame graph') await tab(page, text);
                    assert.equal(await page.getByRole('tab', {name: text, exact: true}).getAttribute('aria-selected'), 'true');
                    await page.waitForTimeout(100);
                    await shot(page, look + '-' + text.replace(' ', '-'));
                    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width || 1280), 'no sideways scrolling');
                }
                assert.match(await page.locator('main').innerText(), /How this was obtained/);
                await tab(page, 'Functions');
                const first = await cells(page, 0);
                assert.match(first[0], /^\d+\.\d% ±\d+\.\d$/);
                assert.equal(await page.locator('main .bar i').count() > 4, true, 'whiskers');
                for (const by of ['module', 'line', 'thread', 'function']) await then(page, () => page.getByLabel('Group by').selectOption(by));
                await then(page, () => page.getByRole('button', {name: 'total', exact: true}).click());
                assert.equal((await cells(page, 0))[7], 'main');
                await tab(page, 'Flame graph');
                for (const order of ['By name', 'By time', 'Left-heavy', 'Callers first', 'Root below']) {
                    await then(page, () => page.getByRole('button', {name: order}).click());
                    await shot(page, look + '-' + order.replace(' ', '-'));
                }
            });
    },
    async selection() {
        await withPage({}, async page => {
            assert.equal(await selected(page), '2,000 samples · 4.00 s');
            await then(page, () => drag(page, 0.25, 0.5));
            const [range] = await crumbs(page);
            assert.match(range, /^time0\.[45]\d*\.\.(0\.99|1|1\.0)\d*$/);
            const part = await selected(page);
            assert.match(part, /^(49\d|50\d) samples · (99\d\.\d+ ms|1\.0\d s)$/);
            const address = page.url();
            assert.match(address, /#time=/);
            await tab(page, 'Functions');
            await then(page, () => rows(page).first().click().then(() => page.keyboard.press('f')));
            assert.equal((await crumbs(page)).length, 2);
            assert.ok((await crumbs(page))[1].startsWith('focus'));
            await shot(page, 'focused');
            const link = page.url(), now = await selected(page);
            await then(page, () => page.goBack());
            assert.equal((await crumbs(page)).length, 1);
            await then(page, () => page.goForward());
            assert.equal(await selected(page), now);
            await page.goto('about:blank');
            await page.goto(link);
            await settled(page, 1);
            assert.equal(await selected(page), now, 'a link shows the same');
            await then(page, () => page.locator('.crumb button').first().click());
            assert.equal((await crumbs(page)).length, 1);
            await then(page, () => page.getByRole('button', {name: 'All', exact: true}).click());
            assert.equal(await selected(page), '2,000 samples · 4.00 s');
            // A thread by its lane, a search with its share, a second range to compare.
            const box = await page.locator('.time canvas').boundingBox();
            await then(page, () => page.mouse.click(box.x + 40, box.y + 35));
            assert.equal(await selected(page), '1,000 samples · 2.00 s');
            await then(page, () => page.keyboard.press('r'));
            await page.keyboard.press('/');
            await then(page, () => page.keyboard.type('^read$', {delay: 1}));
            await page.waitForSelector('.tabs .note:has-text("matched")');
            assert.match(await page.locator('.tabs .note').innerText(), /^\d+\.\d% ±\d\.\d matched · 1 function$/);
            await page.keyboard.press('Escape');
            await then(page, () => drag(page, 0.1, 0.3));
            await then(page, () => drag(page, 0.6, 0.8, true));
            assert.equal((await crumbs(page)).length, 2);
            assert.match(await page.locator('.verdict').innerText(), /^(Improved|Regressed|Unchanged|Inconclusive): /);
            await shot(page, 'ranges');
            // Pointing at a frame shows its card and lights up its samples.
            await then(page, () => page.keyboard.press('r'));
            await tab(page, 'Flame graph');
            const flame = await page.locator('main canvas').boundingBox();
            await page.mouse.move(flame.x + 100, flame.y + 50);
            await page.waitForSelector('.card');
            assert.match(await page.locator('.card').innerText(), /total\n100\.0%|total\n\d+\.\d% [±(]/);
            await page.waitForTimeout(400);
            await shot(page, 'card');
            await then(page, () => page.mouse.click(flame.x + 100, flame.y + 70));
            assert.match(page.url(), /zoom=/);
        });
    },
    async keyboard() {
        await withPage({}, async page => {
            await page.keyboard.press('?');
            await page.waitForSelector('[role=dialog]');
            await shot(page, 'keys');
            await page.keyboard.press('Escape');
            assert.equal(await page.locator('[role=dialog]').count(), 0);
            for (const key of ['2', '3', '4', '5', '6', '1']) await then(page, () => page.keyboard.press(key));
            await page.keyboard.press('ArrowDown');
            await page.keyboard.press('ArrowDown');
            await page.waitForSelector('.chosen code');
            await page.locator('main canvas').focus();
            await page.keyboard.press('ArrowDown');
            const chosen = await page.locator('.chosen code').innerText();
            assert.ok(chosen.length > 2);
            await then(page, () => page.keyboard.press('Enter'));
            assert.match(page.url(), /zoom=/);
            await then(page, () => page.keyboard.press('Escape'));
            await then(page, () => page.keyboard.press('i'));
            assert.ok((await crumbs(page))[0].startsWith('ignore'));
            await then(page, () => page.keyboard.press('Backspace'));
            assert.equal((await crumbs(page)).length, 0);
            await then(page, () => page.keyboard.press('h'));
            assert.ok((await crumbs(page))[0].startsWith('hide'));
            await then(page, () => page.keyboard.press('m'));
            assert.equal((await crumbs(page)).length, 2);
            await then(page, () => page.keyboard.press('r'));
            await then(page, () => page.keyboard.press('t'));
            assert.equal(await page.getByRole('button', {name: 'Callers first'}).getAttribute('aria-pressed'), 'true');
            await then(page, () => page.keyboard.press('t'));
            await page.locator('.time').focus();
            await then(page, () => page.keyboard.press('Shift+ArrowRight'));
            assert.ok((await crumbs(page))[0].startsWith('time'));
            await page.keyboard.press('+');
            await page.waitForTimeout(300);
            await tab(page, 'Call tree');
            await page.locator('main .scroll').focus();
            await page.keyboard.press('ArrowDown');
            await page.keyboard.press('ArrowLeft');
            await page.keyboard.press('*');
            assert.ok(await rows(page).count() > 2);
            await tab(page, 'Functions');
            await page.locator('main .scroll').focus();
            await page.keyboard.press('ArrowDown');
            await page.keyboard.press('ArrowDown');
            assert.equal(await page.locator('main tr[aria-selected=true]').count(), 1);
            await then(page, () => page.keyboard.press('Enter'));
            assert.equal(await page.getByRole('tab', {name: 'Callers'}).getAttribute('aria-selected'), 'true');
        });
    },
    // The terminal is asked what the page offers, and must have the same share for the first function.
    async command() {
        await withPage({hash: '#tab=functions&time=0.5..1.5&thread=worker-a&hide=%5Emain%24'}, async page => {
            await page.keyboard.press('y');
            await page.waitForSelector('.toast');
            const line = (await page.locator('.toast').innerText()).replace(/^.*?: /, '');
            assert.match(line, /^kelvin report timed\.json --by function --time 0\.5\.\.1\.5 --thread worker-a --hide '\^main\$'$/);
            const words = line.split(' ').slice(1).map(w => w.replace(/^'|'$/g, ''));
            const report = JSON.parse(execFileSync(args[0], [...words, '--format', 'json'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
            const text = execFileSync(args[0], words, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']});
            const first = await cells(page, 0);
            assert.equal(first[7], report.functions[0].name);
            assert.ok(text.includes(first[0]), `the terminal prints ${first[0]}`);
            await page.waitForSelector('.toast', {state: 'detached'});
            await tab(page, 'Callers');
            await page.keyboard.press('y');
            assert.match(await page.locator('.toast').innerText(), / --callers \w+ --time /);
            await page.waitForSelector('.toast', {state: 'detached'});
            await then(page, async () => { await page.getByLabel('Function', {exact: true}).fill('/read|write/'); await page.keyboard.press('Enter'); });
            await page.getByRole('button', {name: 'Copy command'}).click();
            assert.match(await page.locator('.toast').innerText(), /^No command/);
        });
    },
    async transforms() {
        await withPage({width: 1600}, async page => {
            const command = async () => {
                await page.keyboard.press('y');
                await page.waitForSelector('.toast');
                const line = (await page.locator('.toast').innerText()).replace(/^.*?: /, '');
                await page.waitForSelector('.toast', {state: 'detached'});
                return line;
            };
            const whole = await selected(page);
            await tab(page, 'Call tree');
            const row = name => page.locator(`main tr[data-name="${name}"]`).first();
            await row('parse').click();
            await then(page, () => page.keyboard.press('s'));
            assert.deepEqual(await crumbs(page), ['subtreemain › parse']);
            assert.match(page.url(), /subtree=main%3Bparse/);
            const part = await selected(page);
            assert.notEqual(part, whole);
            assert.equal((await rows(page).first().locator('td').allTextContents())[0].startsWith('100.0%'), true);
            const line = await command();
            assert.match(line, /--subtree 'main;parse'$/);
            const report = JSON.parse(execFileSync(args[0], ['report', 'timed.json', '--subtree', 'main;parse', '--format', 'json'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
            assert.ok(part.startsWith(String(report.samples.toLocaleString('en-US'))), `${part}: ${report.samples} samples in the terminal`);
            // Deeper: the path goes on from the root.
            await row('read').click();
            await then(page, () => page.keyboard.press('s'));
            assert.deepEqual(await crumbs(page), ['subtreemain › parse › read']);
            await then(page, () => page.keyboard.press('z'));
            assert.deepEqual(await crumbs(page), ['subtreemain › parse']);
            await then(page, () => page.getByRole('button', {name: 'Undo'}).click());
            assert.equal(await selected(page), whole);
            await then(page, () => page.getByRole('button', {name: 'Redo'}).click());
            assert.equal(await selected(page), part);
            await then(page, () => page.keyboard.press('r'));
            // Recursion, by keyboard in the flame graph; the stack is copied.
            await tab(page, 'Flame graph');
            await page.locator('main canvas').focus();
            for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
            assert.equal(await page.locator('.chosen code').innerText(), 'read');
            await page.keyboard.press('k');
            assert.match(await page.locator('.toast').innerText(), /^(Stack copied|Copy this): read\s+(read\s+)?parse\s+main/);
            await page.waitForSelector('.toast', {state: 'detached'});
            await then(page, () => page.keyboard.press('e'));
            assert.deepEqual(await crumbs(page), ['collapse-recursionread']);
            assert.match(await command(), /--collapse-recursion '\^read\$'/);
            await shot(page, 'collapsed');
            await then(page, () => page.keyboard.press('r'));
            await tab(page, 'Functions');
            for (const by of ['file', 'line', 'process']) {
                await then(page, () => page.getByLabel('Group by').selectOption(by));
                assert.ok(await rows(page).count() > 0, by);
                assert.match(await command(), new RegExp(`--by ${by}`));
            }
            // Pointing at a lane lights the frames of its sample and shows its stack.
            await tab(page, 'Flame graph');
            const box = await page.locator('.time canvas').boundingBox();
            await page.mouse.move(box.x + 400, box.y + 35);
            await page.waitForSelector('.card dd.lines');
            assert.match(await page.locator('.card dd.lines').innerText(), /main$/);
            await shot(page, 'moment');
        });
    },
    async source() {
        await withPage({}, async page => {
            await tab(page, 'Functions');
            await rows(page).first().click();
            await then(page, () => page.keyboard.press('d'));
            assert.equal(await page.getByRole('tab', {name: 'Source'}).getAttribute('aria-selected'), 'true');
            await page.waitForSelector('main .listing');
            assert.match(await page.getByRole('region', {name: 'Source'}).innerText(), /h = mix\(h, p\[i\]\); \/\* <\/script><img/);
            assert.equal(await page.locator('#app img').count(), 0);
            const hot = page.getByRole('region', {name: 'Source'}).locator('tr[data-heat]').first();
            await hot.click();
            assert.ok(await page.getByRole('region', {name: 'Instructions'}).locator('tr[aria-selected=true]').count() > 0, 'the instructions of the line');
            await page.keyboard.press('y');
            assert.match(await page.locator('.toast').innerText(), /kelvin annotate hot\.kelvin (hash|mix|main)/);
            const before = await page.locator('main .note').first().innerText();
            await then(page, () => drag(page, 0.2, 0.5));
            assert.notEqual(await page.locator('main .note').first().innerText(), before);
            await shot(page, 'source');
            await then(page, () => page.locator('main input[type=search]').fill('nosuch').then(() => page.keyboard.press('Enter')));
            assert.match(await page.locator('main .note').first().innerText(), /'nosuch' is not in this page/);
        });
    },
    // The program is gone, its source came along.
    async packed() {
        await withPage({hash: '#tab=source&fn=hash'}, async page => {
            await page.waitForSelector('main .listing');
            assert.match(await page.getByRole('region', {name: 'Source'}).innerText(), /h = mix\(h, p\[i\]\)/);
            assert.ok(await page.getByRole('region', {name: 'Source'}).locator('tr[data-heat]').count() > 0);
            assert.match(await page.getByRole('region', {name: 'Instructions'}).innerText(), /The program was not there when this page was made/);
            await shot(page, 'source');
        });
    },
    async compare() {
        await withPage({}, async page => {
            assert.match(await page.locator('.verdict').innerText(), /^(Improved|Regressed|Unchanged|Inconclusive): /);
            assert.ok(await rows(page).count() > 3);
            await shot(page, 'table');
            await page.locator('main').getByRole('button', {name: 'Flame graph'}).click();
            await page.waitForTimeout(100);
            await shot(page, 'flame');
            await then(page, () => page.getByLabel('Which file').selectOption('1'));
            await tab(page, 'Functions');
            assert.match(await page.locator('main').innerText(), /parse2/);
        });
    },
    // Names for a screen reader, paper, and what is copied.
    async names() {
        await withPage({dark: true, width: 1280}, async page => {
            await page.getByRole('application', {name: /^Flame graph/}).focus();
            for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown');
            assert.match(await page.locator('[aria-live=polite]').first().innerText(), /^\w+, total \d+\.\d%.*, self .*, samples /, 'the chosen frame is said');
            assert.ok(await page.getByRole('group', {name: /^Timeline/}).isVisible());
            assert.ok(await page.getByRole('navigation', {name: 'Selection'}).isVisible());
            await page.getByRole('button', {name: 'Copy SVG'}).click();
            await page.waitForSelector('.toast:has-text("<svg xmlns")');
            const night = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
            const paper = await page.evaluate(() => { window.dispatchEvent(new Event('beforeprint')); const c = getComputedStyle(document.body).backgroundColor; window.dispatchEvent(new Event('afterprint')); return c; });
            assert.equal(paper, 'rgb(255, 255, 255)');
            assert.notEqual(night, paper);
            assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), night);
            await tab(page, 'Functions');
            assert.ok(await page.getByRole('grid', {name: 'Functions'}).isVisible());
            assert.match(await page.getByRole('img').first().getAttribute('aria-label'), /^\d+\.\d%/, 'bars are said');
            await page.getByRole('button', {name: 'Copy table'}).click();
            await page.waitForSelector('.toast:has-text("self amount")');
            await tab(page, 'Call tree');
            assert.ok(await page.getByRole('treegrid', {name: 'Call tree'}).isVisible());
            assert.ok(await page.getByRole('row', {expanded: true}).count() > 0);
            const folds = await page.locator('main .fold').evaluateAll(all => all.slice(0, 2).map(f => f.getBoundingClientRect().left));
            assert.ok(folds[1] > folds[0] + 5, `a callee is indented: ${folds}`);
            await page.emulateMedia({media: 'print'});
            assert.equal(await page.locator('main .tools').first().isVisible(), false);
            assert.equal(await page.getByRole('tablist').isVisible(), false);
            assert.ok(await rows(page).first().isVisible());
            assert.ok((await page.pdf()).length > 5000);
            await page.emulateMedia({media: null});
            await page.getByRole('button', {name: 'Copy link'}).click();
            await page.waitForSelector('.toast:has-text("#tab=tree")');
        });
    },
    // Running, runnable, blocked by what; events as marks. The card says which.
    async bands() {
        for (const options of [{}, {dark: true}])
            await withPage(options, async page => {
                const legend = await page.locator('.legend.states').innerText();
                assert.match(legend, /running[\s\S]*runnable[\s\S]*blocked by/);
                assert.match(legend, /page-faults/);
                const box = await page.locator('.time canvas').boundingBox(), seen = new Set();
                for (let lane = 0; lane < 3; lane++)
                    for (let i = 0; i < 8; i++) {
                        await page.mouse.move(box.x + 230 + i * 120, box.y + 35 + lane * 40);
                        await page.waitForTimeout(20);
                        if (await page.locator('.card').count()) for (const m of (await page.locator('.card').innerText()).matchAll(/running|runnable|blocked/g)) seen.add(m[0]);
                    }
                assert.ok(seen.has('blocked') && (seen.has('running') || seen.has('runnable')), [...seen].join());
                await shot(page, options.dark ? 'dark' : 'light');
            });
    },
    // By scope or by heap place: the command that is copied shows the same.
    async compareby() {
        const [each, kelvin, ...files] = args;
        await withPage({hash: '#tab=compare'}, async page => {
            await then(page, () => page.getByLabel('Compare by').selectOption('line'));
            assert.equal(await page.locator('main th').last().innerText(), 'line');
            await then(page, () => page.getByLabel('Compare by').selectOption(each));
            assert.match(page.url(), new RegExp('each=' + each));
            assert.equal(await page.locator('main th').last().innerText(), each);
            assert.ok(await rows(page).count() > 1);
            assert.ok(await page.locator('main tr.grey').count() > 0, 'what is not proven is grey');
            await shot(page, each);
            await page.keyboard.press('y');
            const words = (await page.locator('.toast').innerText()).replace(/^.*?: /, '').split(' ').slice(1).map(w => ({BEFORE: files[0], AFTER: files[1]}[w] || w));
            const found = JSON.parse(execFileSync(kelvin, [...words, '--format', 'json'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
            const names = (found.scopes || found.functions).map(f => f.scope || f.name);
            assert.ok(names.includes((await cells(page, 0)).at(-1)), `${words.join(' ')}: ${names}`);
            await page.getByRole('button', {name: 'Copy table'}).click();
            await page.waitForSelector('.toast:has-text("before")');
        });
    },
    async refused() {
        await withPage({hash: '#tab=compare'}, async page => {
            assert.match(await page.locator('main').innerText(), /These profiles are not alike[\s\S]*the sampling rate differs/);
            assert.equal(await rows(page).count(), 0);
            await shot(page, 'reason');
            await page.getByRole('button', {name: 'Compare anyway'}).click();
            await page.waitForSelector('.verdict');
            assert.match(await page.locator('main').innerText(), /Compared anyway, although: the sampling rate differs/);
        });
    },
    async hostile() {
        await withPage({}, async page => {
            for (const text of ['Functions', 'Call tree', 'Callers', 'Insights', 'About', 'Flame graph']) {
                await tab(page, text);
                assert.equal(await page.locator('#app img').count(), 0, text);
                if (text === 'Functions') {
                    await then(page, () => rows(page).first().click().then(() => page.keyboard.press('f')));
                    assert.match((await crumbs(page))[0], /onerror/);
                    await then(page, () => page.keyboard.press('r'));
                }
            }
            const flame = await page.locator('main canvas').boundingBox();
            await page.mouse.move(flame.x + 100, flame.y + 50);
            await page.waitForSelector('.card');
            assert.equal(await page.locator('#app img, #app script').count(), 0);
            await shot(page, 'card');
            assert.ok((await page.title()) !== 'pwned');
        });
    },
    async odd() {
        const file = args[0];
        await withPage({}, async page => {
            const warned = await page.locator('.warnings').innerText().catch(() => '');
            if (file === 'one.folded') assert.match(await page.locator('.status').innerText(), /1 sample|not recorded/);
            if (file === 'cut.kelvin') assert.match(warned, /cut/);
            if (/folded$/.test(file)) assert.equal(await page.locator('.time').isVisible(), false, 'no times, no timeline');
            for (const text of ['Functions', 'Call tree', 'Callers', 'Insights', 'About', 'Flame graph']) await tab(page, text);
            await shot(page, file);
            for (const order of ['By time', 'Callers first', 'Root below']) {
                const b = page.getByRole('button', {name: order});
                if (await b.isEnabled()) await then(page, () => b.click());
            }
        });
    },
    async drop() {
        const { readFileSync } = await import('node:fs');
        await withPage({}, async page => {
            const dropped = async (bytes, file) => page.locator('#app').evaluate((app, [text, called]) => {
                const raw = atob(text), list = new Uint8Array(raw.length);
                for (let i = 0; i < raw.length; i++) list[i] = raw.charCodeAt(i);
                const data = new DataTransfer();
                data.items.add(new File([list], called));
                app.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            }, [bytes.toString('base64'), file]);
            await then(page, () => dropped(readFileSync(args[0]), 'clang.kelvin'));
            await tab(page, 'Functions');
            assert.match(await page.locator('main').innerText(), /clang|llvm/);
            await dropped(Buffer.from('no recording at all'), 'x.kelvin');
            await page.waitForSelector('.toast:has-text("x.kelvin: ")');
            await dropped(Buffer.from('main;parse 12\nmain;read 3\n'), 'x.folded');
            await page.waitForSelector(`.toast:has-text("'kelvin view FILE' opens other formats")`);
            await tab(page, 'Call tree');
            assert.match(await page.locator('main').innerText(), /clang|llvm/);
        });
    },
    // A link that asks for what is not there says so, and the page goes on.
    async link() {
        for (const [hash, said] of [['#value=nosuch', /nosuch/], ['#event=nosuch', /nosuch/], ['#thread=nosuch', /nosuch|thread/], ['#time=5..abc', /abc/], ['#focus=(', /\(/], ['#subtree=x;y', /x/], ['#tab=functions&scope=nosuch', /scope/]])
            await withPage({hash}, async page => {
                const text = await page.locator('.toast').first().innerText();
                assert.match(text, /^The link asks for what this recording does not have: .* All of it is shown\.$/, hash);
                assert.match(text, said);
                assert.equal((await crumbs(page)).length, 0);
                await tab(page, 'Functions');
                assert.ok(await rows(page).count() > 0);
            });
        for (const hash of ['#tab=nosuch&order=nosuch&sort=nosuch', '#zoom=nosuch&file=7&by=function&nosuch=1', '#search=(', '#tab=functions&by=nosuch', '#tab=callers&fn=nosuch', '#fn=/(/&tab=callers'])
            await withPage({hash}, async page => {
                await tab(page, 'About');
                await tab(page, 'Flame graph');
                assert.match(await selected(page), /^2,000 samples/, hash);
            });
    },
    // Ten tabs of one server, all at once; each has a selection of its own.
    async tabs() {
        await withPage({}, async first => {
            const pages = await Promise.all(Array.from({length: 9}, () => first.context().newPage())), faults = [];
            for (const p of pages) p.on('console', m => faults.push(m.text())).on('pageerror', e => faults.push(e.message));
            await Promise.all(pages.map((p, i) => p.goto(`${url}#tab=functions&time=${i * 10}%25..${i * 10 + 10}%25`)));
            for (const p of pages) {
                await settled(p, 1);
                assert.match(await selected(p), /^200 samples|^20\d samples|^19\d samples/);
            }
            assert.match(await selected(first), /^2,000 samples/);
            assert.deepEqual(faults, []);
        });
    },
    // The report has the page in it; without scripts nothing of it is seen.
    async explore() {
        await withPage({dead: true}, async page => {
            assert.match(await page.locator('body').innerText(), /Functions: self/);
            const opened = page.context().waitForEvent('page');
            await page.getByRole('button', {name: 'Explore this recording'}).click();
            const view = await opened, faults = [];
            view.on('console', m => faults.push(m.text()));
            view.on('pageerror', e => faults.push(e.message));
            await settled(view, 1);
            assert.deepEqual(await crumbs(view), ['focusread']);
            await then(view, () => drag(view, 0.2, 0.6));
            assert.match((await crumbs(view))[0], /^time/);
            await then(view, () => view.keyboard.press('z'));
            assert.deepEqual(await crumbs(view), ['focusread'], 'undone to what the report selects');
            await then(view, () => view.keyboard.press('r'));
            assert.deepEqual(await crumbs(view), []);
            await then(view, () => view.keyboard.press('z'));
            assert.deepEqual(await crumbs(view), ['focusread']);
            await tab(view, 'Functions');
            assert.ok(await rows(view).count() > 0);
            assert.equal(await view.getByRole('button', {name: 'Copy link'}).count(), 0, 'this address ends with the tab');
            await shot(view, 'view');
            assert.deepEqual(faults, []);
        });
        await withPage({scripts: false}, async page => {
            assert.match(await page.locator('body').innerText(), /Functions: self/);
            assert.equal(await page.getByRole('button').count(), 0);
            await shot(page, 'no-script');
        });
    },
    async still() {
        await withPage({scripts: false}, async page => {
            if (own) await page.getByRole('link', {name: /still picture/}).click();
            assert.match(await page.locator('body').innerText(), /Functions: self/);
            assert.ok(await page.locator('svg').first().isVisible());
            await shot(page, 'no-script');
        });
        await withPage({dead: true, init: () => { delete globalThis.WebAssembly; }}, async page => {
            await page.waitForSelector('[role=alert]');
            assert.match(await page.locator('[role=alert]').innerText(), /WebAssembly is switched off/);
            if (own) await page.getByRole('link', {name: /Still picture/}).click();
            await page.waitForSelector('svg');
            assert.match(await page.locator('body').innerText(), /Functions: self/);
        });
    },
};

await cases[name]();
