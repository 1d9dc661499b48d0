// The flame graph in a real browser: node flame.mjs CASE FILE. Drawn from this profile:
//
//     main;parse;read_token 420            main;eval;call;parse 200
//     main;parse;read_token;vfs_read_[k] 100      main;Sort 300
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { withPage } from './browser.mjs';

const [, , name, file] = process.argv;
const url = pathToFileURL(file).href;

const frame = (at, title) => at.locator('.kg>g>g').filter({hasText: title}).first();
const visible = page => page.$$eval('.kg>g>g:not(.khide)',
    all => all.map(g => g.querySelector('desc').textContent.replace(/ \(.*/, '')));
const shot = async page => {
    if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/${name}.png`});
};
const search = async (page, text) => {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.waitForFunction(t => decodeURIComponent(location.hash).includes(t), text);
};
const result = page => page.locator('.kresult').innerText();
const width = locator => locator.locator('rect').getAttribute('width').then(Number);

const cases = {
    async zoom(page) {
        const parse = frame(page, 'parse (520');
        const before = await width(parse);
        await parse.click();
        assert.deepEqual(await visible(page), ['all', 'main', 'parse', 'read_token', 'vfs_read']);
        assert.equal(await width(parse), 1180);
        assert.equal(await page.locator('.kdim').count(), 2);
        assert.match(page.url(), /#zoom=2-[0-9a-f]+$/);
        await shot(page);
        await page.getByRole('button', {name: 'Reset zoom'}).click();
        assert.ok(Math.abs(await width(parse) - before) < 0.01);
        assert.equal(await page.locator('.khide').count(), 0);
        assert.doesNotMatch(page.url(), /#/);
    },
    // parse stands for 520 and, under eval, for 200; what is inside parse counts once.
    async search(page) {
        await search(page, 'PARSE|token');
        assert.match(await result(page), /^70\.59% matched · 3 frames$/);
        await page.getByRole('button', {name: 'Aa'}).click();
        assert.match(await result(page), /^50\.98% matched · 1 frame$/);
        await shot(page);
        await frame(page, 'eval (').click();
        assert.match(await result(page), /^50\.98% matched, 0\.00% here/);
        await search(page, '(');
        assert.equal(await result(page), 'not a regular expression');
        await page.keyboard.press('Escape');
        assert.equal(await result(page), '');
        assert.equal(await page.locator('.khit').count(), 0);
    },
    async address(page) {
        await frame(page, 'parse (520').click();
        await search(page, 'read');
        const address = page.url();
        const shown = await visible(page), share = await result(page);
        await page.goto('about:blank');
        await page.goto(address);
        assert.deepEqual(await visible(page), shown);
        assert.equal(await result(page), share);
        assert.equal(await page.$eval('.kfind input', i => i.value), 'read');
        await page.evaluate(() => { location.hash = 'zoom=9-123&search=%E0%A4'; });
        await page.waitForFunction(() => !document.querySelector('.khide'));
    },
    async keyboard(page) {
        const focused = () => page.evaluate(
            () => document.activeElement.querySelector('desc').textContent.replace(/ \(.*/, ''));
        for (let i = 0; i < 9; i++) {
            await page.keyboard.press('Tab');
            if (await page.evaluate(() => !!document.activeElement.closest('.kg'))) break;
        }
        assert.equal(await focused(), 'all');
        const walk = async (key, to) => {
            await page.keyboard.press(key);
            assert.equal(await focused(), to);
            assert.ok((await page.locator('.kstatus').innerText()).startsWith(to + ' ('));
        };
        await walk('ArrowDown', 'main');
        await walk('ArrowDown', 'parse');
        await walk('ArrowLeft', 'eval');
        await walk('ArrowLeft', 'Sort');
        await walk('ArrowRight', 'eval');
        await walk('ArrowRight', 'parse');
        assert.equal(await page.locator('.kg [tabindex]').count(), 1);
        await page.keyboard.press('Enter');
        assert.equal(await width(frame(page, 'parse (520')), 1180);
        await shot(page);
        await walk('ArrowUp', 'main');
        await page.keyboard.press('?');
        assert.equal(await page.locator('.khelp').count(), 1);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('.khelp').count(), 0);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('.khide').count(), 0);
        await page.keyboard.press('Control+f');
        assert.equal(await page.evaluate(() => document.activeElement.localName), 'input');
    },
    async hover(page) {
        await frame(page, 'vfs_read').hover();
        assert.equal(await page.locator('.kstatus').innerText(),
            'vfs_read (100 counts, 9.80%, kernel)');
    },
    // Narrower windows keep the size of the text; labels never leave their frames.
    async narrow(page) {
        for (const size of [1200, 600, 360, 1900]) {
            await page.setViewportSize({width: size, height: 700});
            await page.waitForFunction(w => document.documentElement
                .getAttribute('viewBox').split(' ')[2] === String(w), size);
            const out = await page.$$eval('.kg>g>g:not(.khide)', all => all.filter(g => {
                const t = g.querySelector('text'), r = g.querySelector('rect').getBBox();
                return t && t.textContent && t.getBBox().width > r.width;
            }).length);
            assert.equal(out, 0);
            const edge = await page.$$eval('svg>g text', all =>
                Math.max(...all.map(t => t.getBoundingClientRect().right)));
            assert.ok(edge <= size, `text up to ${edge} of ${size}`);
        }
        await shot(page);
    },
    // The drawing is as wide as the window, whatever --width says.
    async wide(page) {
        for (const size of [1900, 800]) {
            await page.setViewportSize({width: size, height: 700});
            await page.waitForFunction(w => document.querySelector('.kg rect')
                .getBoundingClientRect().width === w - 20, size);
        }
        await shot(page);
    },
    async back(page) {
        const all = await visible(page);
        await frame(page, 'parse (520').click();
        const parse = await visible(page);
        await frame(page, 'vfs_read').click();
        assert.equal(await page.locator('.kdim').count(), 4);
        await page.goBack();
        assert.equal(await page.locator('.kdim').count(), 2);
        assert.deepEqual(await visible(page), parse);
        await page.goBack();
        assert.deepEqual(await visible(page), all);
        await page.goForward();
        assert.deepEqual(await visible(page), parse);
    },
    async views(page) {
        const top = async text => (await frame(page, text).boundingBox()).y;
        const all = await visible(page);
        assert.ok(await top('main (') < await top('parse (520'));
        await page.getByRole('button', {name: 'View'}).click();
        await page.getByLabel('Flames').check();
        assert.ok(await top('main (') > await top('parse (520'));
        await page.getByLabel('Flames').uncheck();
        // read_token and call do nothing but what stands below them: eval > call > parse.
        await page.getByLabel('Fold chains').check();
        assert.deepEqual(await visible(page),
            ['all', 'main', 'Sort', 'eval \u203a call \u203a parse', 'parse \u203a read_token', 'vfs_read']);
        await shot(page);
        await page.getByLabel('Fold chains').uncheck();
        await page.getByLabel('Inverted').check();
        assert.deepEqual((await visible(page)).slice(0, 5),
            ['all', 'Sort', 'parse', 'read_token', 'vfs_read']);
        assert.equal(await frame(page, 'parse (200').count(), 1);
        await search(page, 'parse');
        assert.match(await result(page), /^70\.59% matched/);
        assert.match(page.url(), /view=invert/);
        const address = page.url();
        await page.goto('about:blank');
        await page.goto(address);
        assert.equal((await visible(page))[1], 'Sort');
        await page.keyboard.press('Escape');
        await page.keyboard.press('i');
        assert.deepEqual(await visible(page), all);
    },
    // main;f;f;f 600 and main;f;g;f 400: direct recursion only.
    async recursion(page) {
        await page.keyboard.press('r');
        assert.deepEqual(await visible(page), ['all', 'main', 'f', 'g', 'f']);
        await search(page, '^f$');
        assert.match(await result(page), /^100\.00% matched · 2 frames$/);
    },
    // ARGV: the pattern, and the share that the table gives to what matches.
    async tables(page) {
        const [pattern, share] = process.argv.slice(4);
        await search(page, pattern);
        assert.ok((await result(page)).startsWith(share + ' matched'), await result(page));
        for (const key of ['i', 'c', 'r']) {
            await page.keyboard.press('Escape');
            await page.keyboard.press(key);
            await search(page, pattern);
            assert.ok((await result(page)).startsWith(share + ' matched'), await result(page));
        }
    },
    // Of a recording: the card has total, self, intervals, time, module and line, at the pointer.
    async card(page) {
        const f = frame(page, process.argv[4]);
        const at = await f.boundingBox();
        await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
        const text = await page.locator('.kcard').innerText();
        for (const part of process.argv.slice(5)) assert.match(text, new RegExp(part));
        const card = await page.locator('.kcard').boundingBox();
        assert.ok(Math.abs(card.y - at.y) < 300 && card.x >= 0 && card.x + card.width <= 1200);
        await shot(page);
        await page.mouse.move(600, 5);
        assert.equal(await page.locator('.kcard').isVisible(), false);
    },
    async range(page) {
        await search(page, 'thin');
        assert.match(await result(page), new RegExp(process.argv[4]));
    },
    // The axis follows a zoom: 'a' is on for 300 ms of a second, from 700 ms the second time.
    async chart(page) {
        const ticks = () => page.$$eval('.kaxis text', all => all.map(t => t.textContent));
        assert.deepEqual((await ticks()).slice(0, 3), ['0', '100 ms', '200 ms']);
        await page.locator('.kg>g>g').filter({hasText: 'a ('}).nth(1).click();
        const zoomed = await ticks();
        const ms = t => parseFloat(t) * (t.endsWith(' s') ? 1000 : 1);
        assert.ok(ms(zoomed[0]) <= 760 && zoomed.length >= 5, zoomed.join());
        assert.ok(zoomed.every(t => ms(t) >= 699 && ms(t) <= 1001), zoomed.join());
        assert.deepEqual((await visible(page)).sort(), ['a', 'all', 'app-7/7', 'b', 'main', 'worker-7/8']);
        await shot(page);
    },
    // A difference belongs to its paths: it can be turned upside down, and that is all.
    async difference(page) {
        const all = await visible(page);
        for (const key of ['i', 'c', 'r']) await page.keyboard.press(key);
        assert.deepEqual(await visible(page), all);
        assert.equal(await page.locator('.kpanel label').count(), 1);
        await frame(page, 'parse (').hover();
        assert.match(await page.locator('.kcard').innerText(), /total .* points/);
        await page.evaluate(() => { location.hash = 'view=invert'; });
        await page.keyboard.press('f');
        await page.waitForFunction(() => location.hash.includes('flames'));
        assert.deepEqual(await visible(page), all);
    },
    async dark(page) {
        const fill = () => page.$eval('.kbg', r => getComputedStyle(r).fill);
        const dark = await fill();
        await page.emulateMedia({colorScheme: 'light'});
        assert.notEqual(await fill(), dark);
    },
    // As an image no script runs, and the drawing fills its place all the same.
    async image(page) {
        const size = await page.$eval('img', i => [i.naturalWidth, i.naturalHeight > 100]);
        assert.deepEqual(size, [1200, true]);
        await shot(page);
    },
    async pair(page) {
        const globals = await page.evaluate(() => {
            const clean = document.body.appendChild(document.createElement('iframe'));
            const known = new Set(Object.getOwnPropertyNames(clean.contentWindow));
            clean.remove();
            return Object.getOwnPropertyNames(window).filter(k => !known.has(k) && isNaN(k));
        });
        assert.deepEqual(globals, []);
        const [a, b] = [page.locator('svg').nth(0), page.locator('svg').nth(1)];
        await b.locator('.kfind input').fill('read');
        await page.waitForFunction(() => location.hash.includes('search=read'));
        await a.locator('.kg>g>g').filter({hasText: 'parse (520'}).first().click();
        assert.equal(await a.locator('.khit').count(), 0);
        assert.equal(await a.locator('.khide').count() > 0, true);
        assert.equal(await b.locator('.khide').count(), 0);
        assert.equal(await b.locator('.khit').count() > 0, true);
        assert.match(page.url(), /#k\w+\.search=read&k\w+\.zoom=/);
        await shot(page);
        const address = page.url();
        await page.goto('about:blank');
        await page.goto(address);
        assert.equal(await a.locator('.khide').count() > 0, true);
        assert.equal(await b.locator('.khit').count() > 0, true);
    },
    async deep(page) {
        assert.equal(await page.locator('.kg>g').count(), 10001);
        const flames = process.argv[4] === 'flames';
        assert.equal(await page.evaluate(() => window.scrollY > 1000), flames);
        await page.keyboard.press('/');
        await page.keyboard.type('f9999');
        await page.waitForFunction(() => document.querySelector('.kresult').textContent);
        assert.match(await result(page), /^100\.00% matched · 1 frame$/);
        const inView = await page.$$eval('.kbar,.kstatus', all => all.map(el => {
            const r = el.getBoundingClientRect();
            return r.top >= -1 && r.bottom <= window.innerHeight + 1;
        }));
        assert.deepEqual(inView, [true, true]);
    },
};

await withPage(url, {dark: name === 'dark'}, cases[name]);
