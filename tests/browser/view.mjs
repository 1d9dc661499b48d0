// The page of `kelvin view` in a real browser: node view.mjs CASE ADDRESS [ARG...]. With SHOTS=FOLDER pictures are kept.
// The page's policy forbids to evaluate texts, so nothing here waits with functions: only with selectors.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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
                assert.ok((await rows(page).first().locator('td.n').boundingBox()).width > 150, 'there is room for names');
                for (const by of ['module', 'line', 'thread', 'function']) await then(page, () => page.getByLabel('Group by').selectOption(by));
                await then(page, () => page.getByRole('button', {name: 'total', exact: true}).click());
                assert.equal((await cells(page, 0))[7], 'main');
                await tab(page, 'Flame graph');
                // What can be done with a frame is all in sight, and so is the name.
                await page.locator('main canvas').focus();
                for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown');
                const right = await page.locator('.chosen > *').evaluateAll(all => Math.max(...all.map(e => e.getBoundingClientRect().right)));
                assert.ok(right <= (options.width || 1280), `the last button ends at ${right}`);
                assert.ok((await page.locator('.chosen code').boundingBox()).width > 20, 'the name is in sight');
                assert.ok((await page.locator('.tabs').boundingBox()).height < 50, 'tabs and search stand in one row');
                await shot(page, look + '-chosen');
                await page.keyboard.press('Home');
                for (const order of ['By name', 'By time', 'Left-heavy', 'Callers first', 'Root below']) {
                    await then(page, () => page.getByRole('button', {name: order}).click());
                    await shot(page, look + '-' + order.replace(' ', '-'));
                    if (order !== 'By time') continue;
                    // Each thread has rows of its own: below the five of the first (its name, four frames) is the second.
                    const chart = await page.locator('main canvas').boundingBox();
                    for (const [row, name] of [[1, 'worker-a'], [2, 'main'], [6, 'worker-b'], [7, 'main']]) {
                        await page.mouse.move(chart.x + 15, chart.y + 20 * row + 10);
                        await page.waitForSelector('.card');
                        assert.ok((await page.locator('.card h3').innerText()).includes(name), `row ${row}: ${await page.locator('.card h3').innerText()}`);
                    }
                    await page.mouse.move(5, 5);
                }
            });
    },
    // What can be done with a frame, row or lane: by right click and by keyboard, with the words of the command line.
    async menu() {
        for (const options of [{}, {dark: true, width: 800}])
            await withPage(options, async page => {
                const look = options.dark ? 'dark' : 'light', menu = page.getByRole('menu'), item = text => menu.getByRole('menuitem', {name: text});
                const frame = await page.locator('main canvas').boundingBox();
                await page.mouse.click(frame.x + 40, frame.y + 70, {button: 'right'});
                await menu.waitFor();
                await shot(page, look + '-frame');
                const name = await menu.locator('h3').innerText(), box = await menu.boundingBox();
                assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= (options.width || 1280) && box.y + box.height <= 800, 'all of the menu is in sight');
                const flags = await menu.locator('code').allInnerTexts();
                for (const flag of ['--focus', '--subtree', '--ignore', '--hide', '--collapse-recursion', '--callers']) assert.ok(flags.includes(flag), `${flag} of ${flags}`);
                assert.equal(await crumbs(page).then(c => c.length), 0, 'a right click alone changes nothing');
                // Arrows walk, Escape ends it and changes nothing.
                await page.keyboard.press('ArrowDown');
                assert.match(await page.evaluate(() => document.activeElement.textContent), /Focus/);
                await page.keyboard.press('End');
                await page.keyboard.press('Home');
                assert.match(await page.evaluate(() => document.activeElement.textContent), /Zoom/);
                await page.keyboard.press('Escape');
                assert.equal(await menu.count(), 0);
                // By keyboard, of the frame that is chosen.
                await page.locator('main canvas').focus();
                await page.keyboard.press('Shift+F10');
                assert.equal(await menu.locator('h3').innerText(), name);
                await then(page, () => item(/^Ignore/).click());
                assert.deepEqual(await crumbs(page), ['ignore' + name]);
                await then(page, () => page.keyboard.press('z'));
                // A letter does what stands beside it.
                await page.mouse.click(frame.x + 40, frame.y + 70, {button: 'right'});
                await then(page, () => page.keyboard.press('h'));
                assert.deepEqual(await crumbs(page), ['hide' + name]);
                await then(page, () => page.keyboard.press('z'));
                // Rows of tables and trees.
                await tab(page, 'Functions');
                const row = await rows(page).nth(1).locator('td.n').innerText();
                await rows(page).nth(1).click({button: 'right'});
                assert.equal(await menu.locator('h3').innerText(), row);
                assert.equal(await item(/^Subtree/).count(), 0, 'a function in a list has no path');
                await shot(page, look + '-row');
                await then(page, () => item(/^Callers and callees/).click());
                assert.match(page.url(), /tab=callers/);
                await rows(page).first().focus();
                await page.keyboard.press('ContextMenu');
                await menu.waitFor();
                await page.mouse.click(5, 400);
                assert.equal(await menu.count(), 0, 'a click beside it ends it');
                await tab(page, 'Call tree');
                await rows(page).nth(1).click({button: 'right'});
                const inner = await menu.locator('h3').innerText();
                await then(page, () => item(/^Subtree/).click());
                assert.ok((await crumbs(page))[0].endsWith(inner));
                await then(page, () => page.keyboard.press('z'));
                await tab(page, 'Functions');
                await then(page, () => page.getByLabel('Group by').selectOption('thread'));
                await rows(page).first().click({button: 'right'});
                await then(page, () => item(/^Only this thread/).click());
                assert.match((await crumbs(page))[0], /^threadworker/);
                await then(page, () => page.keyboard.press('r'));
                // A lane, and the range of time.
                await then(page, () => drag(page, 0.25, 0.5));
                const lane = await page.locator('.time canvas').boundingBox();
                await page.mouse.click(lane.x + 400, lane.y + 40, {button: 'right'});
                await shot(page, look + '-lane');
                assert.deepEqual((await menu.locator('code').allInnerTexts()).slice(0, 1), ['--thread']);
                await then(page, () => item('Clear the range').click());
                assert.deepEqual(await crumbs(page), []);
                await page.locator('.time').focus();
                await page.keyboard.press('Shift+F10');
                await then(page, () => item(/^Select the visible time/).click());
                assert.match((await crumbs(page))[0], /^time0\.\.(1\.9|2)/);
            });
    },
    // Threads of a process stand together below its name, which selects it.
    async processes() {
        await withPage({}, async page => {
            const lanes = page.locator('.time canvas'), box = await lanes.boundingBox(), all = await selected(page);
            await page.mouse.move(box.x + 30, box.y + 28);
            assert.match(await page.locator('.card').innerText(), /busy[^]*process\s+10[^]*threads\s+2/);
            await shot(page, 'heads');
            await then(page, () => page.mouse.click(box.x + 30, box.y + 28));
            assert.deepEqual(await crumbs(page), ['process10']);
            assert.notEqual(await selected(page), all);
            await then(page, () => page.keyboard.press('z'));
            assert.equal(await selected(page), all);
        });
    },
    // Scopes, marks, waits and locks one by one: sorted, filtered, shown in the timeline, taken as a range.
    async events() {
        for (const options of [{}, {dark: true, width: 800}])
            await withPage({...options, hash: '#tab=events'}, async page => {
                const look = options.dark ? 'dark' : 'light', note = () => page.locator('main .note').first().innerText(), sum = async () => +(/^([\d,]+) event/.exec(await note())[1].replace(/,/g, ''));
                const all = await sum(), kinds = await page.getByLabel('Which events').locator('option').allInnerTexts();
                assert.ok(all > 20 && kinds.some(k => k.startsWith('scope (')) && kinds.some(k => k.startsWith('mark (')), kinds.join());
                assert.equal(kinds.slice(1).reduce((n, k) => n + +/\((\d[\d,]*)\)$/.exec(k)[1].replace(/,/g, ''), 0), all, 'kinds add up');
                await shot(page, look);
                const seconds = text => { const [v, unit] = text.replace('µ', 'u').split(' '); return v * {s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9}[unit]; };
                const column = async n => (await page.locator(`main tbody tr td:nth-child(${n})`).allInnerTexts()).filter(t => t).map(seconds);
                const times = await column(1);
                assert.deepEqual(times, [...times].sort((a, b) => a - b), 'in the order of time');
                await then(page, () => page.getByRole('button', {name: 'duration', exact: true}).click());
                const lasted = await column(2);
                assert.deepEqual(lasted, [...lasted].sort((a, b) => b - a), 'longest first');
                await then(page, () => page.getByLabel('Which events').selectOption('scope'));
                assert.equal(new Set(await page.locator('main tbody tr td:nth-child(3)').allInnerTexts()).size, 1);
                const before = await count(page);
                await page.getByLabel('Filter events').fill(args[0]);
                await settled(page, before + 1);
                for (const text of await page.locator('main tbody tr td:nth-child(4)').allInnerTexts()) assert.match(text, new RegExp(args[0]));
                // The chosen one is marked in the timeline, by keyboard too; Enter takes its time.
                const picture = () => page.locator('.time canvas').evaluate(c => c.toDataURL()), plain = await picture();
                await page.locator('main .scroll').focus();
                await page.keyboard.press('ArrowDown');
                await page.waitForTimeout(300);
                assert.notEqual(await picture(), plain, 'the timeline shows which');
                await shot(page, look + '-chosen');
                await then(page, () => page.keyboard.press('Enter'));
                assert.match((await crumbs(page))[0], /^time[\d.]+\.\.[\d.]+$/);
                assert.ok(await sum() >= 1, 'an event is within its own time');
                await then(page, () => page.keyboard.press('r'));
                await page.locator('main tbody tr').first().click({button: 'right'});
                await shot(page, look + '-menu');
                await then(page, () => page.getByRole('menuitem', {name: /^All that happened inside/}).click());
                assert.match((await crumbs(page))[0], /^scope/);
                await then(page, () => page.keyboard.press('r'));
                await then(page, () => page.getByLabel('Filter events').fill('no such thing'));
                await then(page, () => page.getByRole('button', {name: 'Clear the filter'}).click());
                assert.equal(await sum(), all);
            });
    },
    // Of very many functions only what is in sight has elements; keys and the wheel reach all.
    async many() {
        await withPage({hash: '#tab=functions'}, async page => {
            const n = +args[0], box = page.locator('main .scroll'), made = () => rows(page).count(), name = k => `function_${String(k).padStart(7, '0')}`;
            assert.ok((await page.locator('main .note').first().innerText()).startsWith(Number(n + 1).toLocaleString('en')));
            assert.ok(await made() <= 150, `${await made()} rows`);
            await then(page, () => page.getByRole('button', {name: 'function', exact: true}).click());
            assert.equal(await rows(page).first().locator('td.n').innerText(), name(0));
            await box.focus();
            await page.keyboard.press('End');
            await page.locator('main tbody tr[data-name="main"][aria-selected=true]').waitFor();
            assert.equal(await page.evaluate(() => document.activeElement.dataset.name), 'main');
            assert.ok(await made() <= 150);
            await shot(page, 'end');
            await page.keyboard.press('ArrowUp');
            await page.locator(`main tbody tr[data-name="${name(n - 1)}"][aria-selected=true]`).waitFor();
            await box.evaluate(b => { b.scrollTop = b.scrollHeight / 2; });
            const at = Math.round(n / 2);
            await page.locator(`main tbody tr[data-name="${name(at)}"]`).waitFor();
            const seen = await page.locator(`main tbody tr[data-name="${name(at)}"]`).boundingBox(), head = await page.locator('main th').first().boundingBox(), view = await box.boundingBox();
            assert.ok(seen.y >= head.y + head.height - 30 && seen.y < view.y + view.height, 'rows stand where they are scrolled to');
            assert.ok(Math.abs(head.y - view.y) < 2, 'the head stays in sight');
            await shot(page, 'middle');
            await page.keyboard.press('Home');
            await page.locator(`main tbody tr[data-name="${name(0)}"]`).waitFor();
            await page.keyboard.press('PageDown');
            await page.waitForTimeout(200);
            assert.ok(+await page.evaluate(() => document.activeElement.dataset.index) > 5);
        });
    },
    async selection() {
        await withPage({}, async page => {
            assert.equal(await selected(page), '2,000 samples · 4 s');
            await then(page, () => drag(page, 0.25, 0.5));
            const [range] = await crumbs(page);
            assert.match(range, /^time0\.[45]\d*\.\.(0\.99|1|1\.0)\d*$/);
            const part = await selected(page);
            assert.match(part, /^(49\d|50\d) samples · (99\d ms|1(\.0\d)? s)$/);
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
            assert.equal(await selected(page), '2,000 samples · 4 s');
            // A thread by its lane, a search with its share, a second range to compare.
            const box = await page.locator('.time canvas').boundingBox();
            await then(page, () => page.mouse.click(box.x + 40, box.y + 35));
            assert.equal(await selected(page), '1,000 samples · 2 s');
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
            await then(page, () => page.keyboard.press(']'));
            assert.equal(await page.getByRole('tab', {name: 'Functions'}).getAttribute('aria-selected'), 'true');
            await then(page, () => page.keyboard.press('['));
            assert.equal(await page.getByRole('tab', {name: 'Flame graph'}).getAttribute('aria-selected'), 'true');
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
    // Each title that sorts does so by click, Enter and Space, says so, and keeps the focus.
    async sorting() {
        await withPage({hash: '#tab=functions&sort=name', width: 1600}, async page => {
            const cells = n => page.locator('main tbody tr').evaluateAll((all, n) => all.map(r => r.children[n].textContent), n);
            const number = text => text ? parseFloat(text.replace(/,/g, '')) * (/ms/.test(text) ? 1e-3 : 1) : 0;
            const columns = [['Sort by self', 0, 0], ['Sort by self time', 2, 0], ['Sort by total', 3, 3], ['Sort by total time', 5, 3], ['Sort by samples', 6, 6], ['Sort by name', 7, 7]];
            assert.equal(await page.locator('main th button').count(), columns.length);
            const names = await cells(7);
            assert.ok(names.length > 3);
            for (const how of ['click', 'Enter', 'Space'])
                for (const [title, values, marked] of [...columns, columns[0]]) {
                    const other = page.locator(`main th button[title="${/total/.test(title) ? 'Sort by name' : 'Sort by total'}"]`), own = page.locator(`main th button[title="${title}"]`);
                    await then(page, () => other.click());
                    await then(page, async () => { if (how === 'click') await own.click(); else { await own.focus(); await page.keyboard.press(how); } });
                    const now = await cells(values), say = `${title} by ${how}: ${now}`;
                    if (values === 7) assert.deepEqual(now, [...names].sort(), say);
                    else assert.deepEqual(now.map(number), now.map(number).sort((a, b) => b - a), say);
                    assert.deepEqual([...await cells(7)].sort(), [...names].sort(), 'the same rows');
                    assert.deepEqual(await page.locator('main th').evaluateAll(all => all.map((t, i) => [i, t.getAttribute('aria-sort')]).filter(([, sort]) => sort)), [[marked, values === 7 ? 'ascending' : 'descending']], say);
                    assert.equal(await page.evaluate(() => document.activeElement.title), title, 'it keeps the focus');
                }
        });
    },
    // The same in a report, for every column of every table but trees: twice turns the order round.
    async reportsort() {
        await withPage({dead: true}, async page => {
            const tables = page.locator('table:not(.t)');
            // A cell without a number, in the midst.
            await tables.evaluateAll(all => { for (const t of all) if (t.rows.length > 2 && t.rows[2].cells[0].className.startsWith('r')) t.rows[2].cells[0].textContent = '-'; });
            let numbers = 0, words = 0;
            for (let t = 0; t < await tables.count(); t++) {
                const table = tables.nth(t), titles = table.locator('th'), cells = n => table.locator('tr').evaluateAll((all, n) => all.slice(1).map(r => r.cells[n].textContent.trim()), n);
                const rows = async () => (await table.locator('tr').allInnerTexts()).slice(1).sort();
                const all = await rows();
                for (let c = 0; c < await titles.count(); c++)
                    for (const how of ['click', 'Enter', 'Space']) {
                        const numeric = await titles.nth(c).getAttribute('class') === 'r', sort = () => how === 'click' ? titles.nth(c).click() : page.keyboard.press(how);
                        await titles.nth((c + 1) % await titles.count()).click();
                        await titles.nth(c).focus();
                        for (const order of numeric ? ['descending', 'ascending', 'descending'] : ['ascending', 'descending', 'ascending']) {
                            await sort();
                            const now = await cells(c), say = `table ${t}, column ${c}, ${how}, ${order}: ${now}`, sign = order === 'ascending' ? 1 : -1;
                            assert.equal(await titles.nth(c).getAttribute('aria-sort'), order, say);
                            assert.equal(await table.locator('th[aria-sort]').count(), 1);
                            assert.deepEqual(await rows(), all, 'the same rows');
                            if (!numeric) {
                                assert.deepEqual(now, [...now].sort((a, b) => sign * a.localeCompare(b)), say);
                                words += new Set(now).size > 1;
                                continue;
                            }
                            const scale = {ms: 1e-3, us: 1e-6, ns: 1e-9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3};
                            const values = now.map(x => parseFloat(x.replace(/,/g, '')) * (scale[/^[^ ]+ ([a-zA-Z]+)/.exec(x)?.[1]] || 1)), known = values.filter(v => !isNaN(v));
                            assert.deepEqual(known, [...known].sort((a, b) => sign * (a - b)), say);
                            assert.deepEqual(values.slice(known.length).filter(v => !isNaN(v)), [], `what is not known comes last: ${say}`);
                            numbers += new Set(known).size > 1;
                        }
                    }
            }
            assert.ok(numbers > 0 && words > 0, `${numbers} orders of numbers and ${words} of words were seen`);
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
    // The hottest function whose code is here opens by itself; nothing leaves its place in a narrow window.
    async sourcefirst() {
        for (const width of [1280, 800, 400])
            await withPage({width, hash: '#tab=source'}, async page => {
                await page.waitForSelector('main .listing');
                assert.match(await page.locator('main input[type=search]').inputValue(), /^(hash|mix|main)$/);
                await shot(page, String(width));
                const head = await page.locator('.head').boundingBox(), status = await page.locator('.status').boundingBox(), code = await page.getByRole('region', {name: 'Instructions'}).boundingBox();
                if (width >= 800) assert.equal(head.y, 0, 'the head of the page is in sight');
                assert.ok(code.y + code.height <= status.y + 1, 'the code ends above the status line');
                const hot = await page.getByRole('region', {name: 'Source'}).locator('tr[data-heat]').first().boundingBox();
                assert.ok(hot.y > head.y, 'the hottest line is in sight');
            });
    },
    // As narrow as a telephone: each table still has room for its names, and the words around them.
    async telephone() {
        for (const [text, at] of [['Functions', 'main td.n'], ['Call tree', 'main td.n'], ['Callers', 'main td.n']])
            await withPage({width: 400}, async page => {
                await tab(page, text);
                const boxes = await page.locator(at).evaluateAll(all => all.slice(0, 3).map(c => c.getBoundingClientRect().toJSON()));
                for (const box of boxes) assert.ok(box.width > 80 && box.right <= 400, `${text}: ${JSON.stringify(box)}`);
                await shot(page, text.replace(' ', '-'));
            });
    },
    // What is searched for is marked in the tables, and unfolded in the call tree.
    async found() {
        await withPage({hash: '#tab=tree'}, async page => {
            await page.getByLabel('Search functions').fill('^(write|read)$');
            await page.waitForSelector('main tr.hit');
            const hits = await page.locator('main tr.hit').evaluateAll(all => all.map(r => r.dataset.name));
            assert.ok(hits.includes('write') && hits.includes('read'), hits.join());
            assert.ok(await page.locator('main tr:not(.hit)').count() > 1);
            await tab(page, 'Functions');
            assert.deepEqual((await page.locator('main tr.hit').evaluateAll(all => all.map(r => r.dataset.name))).sort(), ['read', 'write']);
            await page.getByLabel('Search functions').fill('');
            await page.waitForSelector('main tbody:not(:has(tr.hit))');
            // By the rules of the terminal, which has such sets.
            await page.getByLabel('Search functions').fill('^[[:lower:]]{5}$');
            await page.waitForSelector('main tr.hit');
            assert.deepEqual((await page.locator('main tr.hit').evaluateAll(all => all.map(r => r.dataset.name))).sort(), ['parse', 'write']);
        });
        await withPage({hash: '#search=%5E%5B%5B:lower:%5D%5D%7B5%7D%24'}, async page => {
            const box = await page.locator('main canvas').boundingBox();
            const svg = await page.locator('main canvas').screenshot();
            await then(page, () => page.keyboard.press('Escape'));
            assert.ok(!svg.equals(await page.locator('main canvas').screenshot()), 'what is found stands out');
            assert.ok(box.width > 300);
        });
    },
    // A link cannot keep the page busy: the core takes such patterns in its stride, or says why not.
    async evil() {
        for (const [pattern, said] of [['(a+)+$', /^0\.0%.* matched · 0 functions/], ['(a|aa)+$', /0 functions/], ['(a*)(a*)\\1\\2b', /refers back to a group/], ['('.repeat(100), /more than 50 deep/], ['(a{1,200}){1,200}b', /is too large/]])
            for (const where of pattern === '(a+)+$' ? ['flame', 'functions', 'tree'] : ['flame'])
                await withPage({hash: `#tab=${where}&search=${encodeURIComponent(pattern)}`}, async page => {
                    await page.waitForSelector('.tabs .note:not(:empty)');
                    assert.match(await page.locator('.tabs .note').innerText(), said, pattern);
                    assert.match(await selected(page), /^3 counts/);
                });
    },
    // A table without rows says why, and how to get them back.
    async nothing() {
        for (const [hash, said, back] of [['#tab=functions&by=nosuch', /nosuch/, 'Group by function'], ['#tab=functions&filter=nosuch', /^No function matches the filter 'nosuch'\./, 'Clear the filter'],
            ['#tab=functions&by=module&filter=(', /not a regular expression/, 'Clear the filter'], ['#tab=functions&by=nosuch&filter=nosuch', /nosuch/, 'Group by function']])
            for (const dark of [false, true])
                await withPage({hash, dark}, async page => {
                    const message = page.locator('main .message');
                    assert.match(await message.innerText(), said);
                    assert.equal(await rows(page).count(), 0);
                    await shot(page, hash.replace(/\W/g, '-') + (dark ? '-dark' : ''));
                    await then(page, () => page.getByRole('button', {name: back}).click());
                    if (hash.includes('by=nosuch&filter')) await then(page, () => page.getByRole('button', {name: 'Clear the filter'}).click());
                    assert.ok(await rows(page).count() > 0);
                    assert.equal(await message.count(), 0);
                });
    },
    // A chart by time counts as the timeline does, also of a range.
    async clock() {
        await withPage({hash: '#order=time&time=50%25..80%25'}, async page => {
            const chart = await page.locator('main canvas').boundingBox();
            await page.mouse.move(chart.x + 5, chart.y + 50);
            await page.waitForSelector('.card');
            const at = /time\n([\d.]+) (m?s) to/.exec(await page.locator('.card').innerText());
            const ms = at[1] * (at[2] === 's' ? 1000 : 1);
            assert.ok(ms > 990 && ms < 1100, `the first sample is at ${ms} ms`);
        });
    },
    // Lanes get more room by mouse and by keyboard.
    async grip() {
        await withPage({height: 500}, async page => {
            const high = async () => (await page.locator('.time').boundingBox()).height, first = await high();
            const grip = await page.getByRole('separator').boundingBox();
            await page.mouse.move(grip.x + 300, grip.y + 2);
            await page.mouse.down();
            await page.mouse.move(grip.x + 300, grip.y - 18);
            await page.mouse.up();
            const less = await high();
            assert.ok(less < first, `${first} to ${less}`);
            await page.getByRole('separator').focus();
            await page.keyboard.press('ArrowDown');
            assert.ok(await high() > less);
        });
    },
    // Waits too many to be timed each: no moment of the band is what happened then, and the card says so.
    async summed() {
        await withPage({}, async page => {
            assert.match(await page.locator('.legend.states').innerText(), /dotted: average over the thread/);
            const box = await page.locator('.time canvas').boundingBox();
            await page.mouse.move(box.x + 600, box.y + 40);
            await page.waitForSelector('.card');
            assert.match(await page.locator('.card').innerText(), /on average\s+over the life of the thread/);
            await shot(page, 'band');
        });
    },
    async verdict() {
        await withPage({hash: '#tab=compare'}, async page => assert.ok((await page.locator('.verdict').innerText()).endsWith(args[0]), await page.locator('.verdict').innerText()));
    },
    // Colours follow the cost, which is what is proven: a share that grows while its cost falls has not grown.
    async costs() {
        await withPage({hash: '#tab=compare'}, async page => {
            for (const [name, tone] of [['parse', 'down'], ['emit', 'down'], ['extra', 'up']]) {
                const row = rows(page).filter({has: page.locator('td.n', {hasText: new RegExp(`^${name}$`)})});
                assert.equal(await row.locator('td.' + tone).count(), 1, `${name}: ${await row.innerText()}`);
                assert.equal(await row.locator(tone === 'up' ? 'td.down' : 'td.up').count(), 0, name);
            }
        });
    },
    // What a page without the arguments knows about them: ARG is differ, same or unknown.
    async arguments() {
        await withPage({hash: '#tab=compare'}, async page => {
            for (const each of ['function', 'line']) {
                if (each !== 'function') await then(page, () => page.getByLabel('Compare by').selectOption(each));
                const said = await page.locator('main').innerText();
                if (args[0] === 'same') assert.doesNotMatch(said, /Careful/);
                else assert.match(said, {differ: /Careful: the arguments differ\. The sides may/, unknown: /Careful: the arguments are left out here, so whether they differ is not known\./}[args[0]]);
            }
        });
    },
    // Waits for locks and for signals are not one sum; a condition is not held.
    async locks() {
        await withPage({hash: '#tab=locks'}, async page => {
            const said = await page.locator('main').innerText();
            assert.match(said, /99 waits for 1 lock: [\d.]+ [mµ]?s in total/);
            assert.match(said, /3 waits for 1 condition, semaphore or barrier: [\d.]+ [mµ]?s in total, all threads together\. Threads may just have been idle\./);
            assert.match(said, /held\s+[\d.]+ m?s[\s\S]*convoy_leave/);
            assert.match(said, /convoy_start \(barrier\)[\s\S]*woke/);
            assert.doesNotMatch(said, /\[\{|undefined|NaN/);
            await shot(page, 'both');
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
        // As narrow as a telephone: nothing out of reach, nothing over something else.
        await withPage({width: 400}, async page => {
            await shot(page, 'narrow');
            for (const text of ['Copy command', '?']) {
                const box = await page.getByRole('button', {name: text, exact: true}).boundingBox();
                assert.ok(box.x + box.width <= 400, text);
            }
            const legend = await page.locator('main .legend').boundingBox(), status = await page.locator('.status').boundingBox();
            assert.ok(legend.y + legend.height <= status.y, 'the legend is not over the status line');
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
            // The picture that is kept has shares with their intervals on the frames that have room for them.
            const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: 'Save SVG'}).click()]);
            assert.match(readFileSync(await file.path(), 'utf8'), /text-anchor="end"[^>]*>\d+\.\d% ±\d+\.\d<\/text>/);
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
                const low = await page.locator('.legend.states').boundingBox(), tabs = await page.locator('.tabs').boundingBox();
                assert.ok(low.y + low.height <= tabs.y + 1, 'the legend is in sight, however many lanes there are');
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
    // Characters that cannot be seen, turn text around or that a terminal obeys: none of them reaches people, and none the clipboard.
    async hidden() {
        const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]/;
        const init = () => {
            window.drawn = [];
            const draw = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.drawn.push(text); return draw.call(this, text, ...at); };
            Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}});
        };
        const texts = page => page.evaluate(() => {
            const list = [document.title, ...window.drawn], walk = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const n = walk.currentNode;
                list.push(...n.nodeType === 3 ? [n.data] : [...n.attributes].filter(a => /^(title|aria-)/.test(a.name)).map(a => a.value));
            }
            return list;
        });
        await withPage({init}, async page => {
            const look = async where => { for (const text of await texts(page)) assert.doesNotMatch(text, hidden, where); };
            const copied = async button => {
                await page.getByRole('button', {name: button, exact: true}).click();
                await page.waitForSelector('.toast');
                return page.evaluate(() => window.copied);
            };
            for (const text of await page.getByRole('tab').allInnerTexts()) {
                await tab(page, text);
                await look(text);
            }
            await tab(page, 'Functions');
            await rows(page).first().click();
            const name = await rows(page).first().getAttribute('data-name');
            assert.match(name, hidden);
            for (const button of ['Copy name', 'Copy table']) assert.doesNotMatch(await copied(button), hidden, button);
            assert.doesNotMatch(await copied('Copy name'), /\n/);
            await then(page, () => page.keyboard.press('f'));
            await look('focus');
            // A shell makes of the line the very name, and nothing happens on the way.
            const line = await copied('Copy command'), words = execFileSync('bash', ['-c', `kelvin() { printf '%s\\0' "$@"; }; ${line}`], {encoding: 'utf8'}).split('\0');
            assert.doesNotMatch(line, hidden);
            assert.doesNotMatch(line, /\n/);
            assert.equal(words[words.indexOf('--focus') + 1].replace(/\\(.)/g, '$1'), `^${name}$`);
            assert.ok(words[1].startsWith('./-'), words[1]);
            await tab(page, 'Flame graph');
            const svg = await copied('Copy SVG');
            assert.doesNotMatch(svg, hidden);
            await page.locator('main canvas').focus();
            for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
            await look('chosen');
            assert.doesNotMatch(await copied('Copy stack'), hidden);
        });
    },
    // Everything that a program names, on every pane: nothing of it becomes an element.
    async hostileprogram() {
        await withPage({}, async page => {
            const tabs = await page.getByRole('tab').allInnerTexts(), fields = new Set();
            for (const text of tabs) {
                await tab(page, text);
                const said = await page.locator('#app').innerText();
                for (const m of said.matchAll(/onerror=[^>]*> ?(scope|count|gauge|event|lock)?/g)) fields.add(m[1] || 'other');
                assert.equal(await page.locator('#app img, #app script').count(), 0, text);
                if (text === 'Scopes') {
                    await then(page, () => rows(page).first().click());
                    assert.match((await crumbs(page))[0], /onerror/);
                    await then(page, () => page.keyboard.press('r'));
                }
            }
            assert.ok(fields.has('scope') && fields.has('lock'), [...fields].join());
            const box = await page.locator('.time canvas').boundingBox();
            for (let y = 25; y < box.height - 5; y += 12)
                for (const x of [60, 300, 600]) {
                    await page.mouse.move(box.x + x, box.y + y);
                    await page.waitForTimeout(15);
                }
            assert.equal(await page.locator('#app img, #app script').count(), 0);
            await shot(page, 'all');
            assert.doesNotMatch(await page.title(), /^pwned/);
        });
    },
    // What does not follow the selection says so.
    async follows() {
        await withPage({hash: '#tab=heap&time=20%25..60%25'}, async page => {
            assert.match(await page.locator('main').innerText(), /live\s+\S+ \w+ at the start of the range/);
            assert.equal(await page.locator('.apart').count(), 0);
            await page.keyboard.press('y');
            assert.match(await page.locator('.toast').innerText(), /kelvin heap story\.kelvin --time 20%\.\.60%$/);
            await tab(page, 'Locks');
            assert.match(await page.locator('.apart').innerText(), /The selection does not apply to this pane/);
            await page.keyboard.press('y');
            assert.equal(await page.locator('.toast').count(), 1, 'one message at a time');
            await tab(page, 'Heap');
            const box = await page.locator('.time canvas').boundingBox();
            await then(page, () => page.mouse.click(box.x + 40, box.y + 35));
            assert.match(await page.locator('.apart').innerText(), /only the time range applies/);
            await shot(page, 'heap');
            await then(page, () => page.keyboard.press('r'));
            assert.equal(await page.locator('.apart').count(), 0);
            await tab(page, 'About');
            assert.doesNotMatch(await page.locator('main').innerText(), /samples\s+not known/);
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
            // 2 GB: said at once, before anything is read.
            await page.locator('#app').evaluate(app => {
                const data = new DataTransfer(), part = new Blob([new Uint8Array(8 << 20)]);
                data.items.add(new File(Array(256).fill(part), 'huge.kelvin'));
                app.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            });
            await page.waitForSelector('.toast:has-text("huge.kelvin has 2 GiB: a page holds recordings of up to 512 MiB")');
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
    // Waits have stacks of their own: a function may be in those alone.
    async waitslink() {
        await withPage({hash: '#tab=waits&focus=^read$'}, async page => {
            assert.equal(await page.locator('.toast').count(), 0);
            assert.deepEqual(await crumbs(page), ['focusread']);
            assert.match(await selected(page), /^[\d,]+ waits/);
            assert.match(await page.locator('main').innerText(), /read ←|read\n/);
            await tab(page, 'Functions');
            assert.match(await page.locator('main').innerText(), /^Nothing was recorded with all of: focus \^read\$/);
        });
        await withPage({hash: '#tab=waits&focus=^nosuch$'}, async page => assert.match(await page.locator('.toast').innerText(), /nosuch.* All of it is shown\.$/));
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
