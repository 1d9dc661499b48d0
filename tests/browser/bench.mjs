// The benchmark page in Chromium. Usage: node bench.mjs FILE.html
//
// Every benchmark has its shape, nothing sticks out of a narrow window, no label lies outside
// its drawing, and the page turns dark.
import { pathToFileURL } from 'node:url';
import { withPage } from './browser.mjs';

const url = pathToFileURL(process.argv[2]).href;

function must(holds, what) {
    if (!holds) throw new Error(what);
}

async function look(page, width) {
    const seen = await page.evaluate(() => {
        const outside = [...document.querySelectorAll('.kb svg text')].filter(t => {
            const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
            return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
        });
        const drawn = document.body.cloneNode(true);
        drawn.querySelectorAll('script').forEach(script => script.remove());
        return {
            wide: document.documentElement.scrollWidth,
            shapes: document.querySelectorAll('.kb svg path.n').length,
            drawings: [...document.querySelectorAll('.kb svg')].map(s => s.getBoundingClientRect().width),
            outside: outside.map(t => t.textContent),
            bad: drawn.innerHTML.match(/\b(NaN|nan|inf)\b/),
            back: getComputedStyle(document.body).backgroundColor,
        };
    });
    must(seen.wide <= width, `the page is ${seen.wide} wide in a window of ${width}`);
    must(seen.shapes >= 2, 'no shapes');
    must(seen.drawings.every(w => w > 250), `drawings of ${seen.drawings}`);
    must(seen.outside.length === 0, `labels outside: ${seen.outside}`);
    must(!seen.bad, `${seen.bad} on the page`);
    return seen.back;
}

let light, dark;
for (const width of [1280, 390])
    await withPage(url, {width}, async page => { light = await look(page, width); });
await withPage(url, {dark: true}, async page => { dark = await look(page, 1200); });
must(light !== dark, 'light and dark are alike');
