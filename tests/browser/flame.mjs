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
    all => all.map(g => g.querySelector('title').textContent.replace(/ \(.*/, '')));
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
            () => document.activeElement.querySelector('title').textContent.replace(/ \(.*/, ''));
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
        await walk('ArrowUp', 'main');
        await walk('ArrowUp', 'parse');
        await walk('ArrowLeft', 'eval');
        await walk('ArrowLeft', 'Sort');
        await walk('ArrowRight', 'eval');
        await walk('ArrowRight', 'parse');
        assert.equal(await page.locator('.kg [tabindex]').count(), 1);
        await page.keyboard.press('Enter');
        assert.equal(await width(frame(page, 'parse (520')), 1180);
        await shot(page);
        await walk('ArrowDown', 'main');
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
        for (const size of [1200, 600, 360, 1200]) {
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
        await b.locator('input').fill('read');
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
        assert.equal(await page.evaluate(() => window.scrollY > 1000), true);
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
