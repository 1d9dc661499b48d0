// An exported file in speedscope itself: node speedscope.mjs FILE. Prints what is shown: the
// name of the chosen profile, then each function with its self and total, as the sandwich view
// lists them.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPage } from './browser.mjs';

const [, , file] = process.argv;
const here = dirname(fileURLToPath(import.meta.url));
const release = join(here, 'node_modules/speedscope/dist/release');
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
    '.json': 'application/json', '.wasm': 'application/wasm'};

const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname);
    try {
        const bytes = await readFile(path === '/profile.json' ? file : join(release, path));
        response.writeHead(200, {'content-type': types[extname(path)] || 'application/octet-stream'});
        response.end(bytes);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
const url = `${origin}/index.html#profileURL=${encodeURIComponent(origin + '/profile.json')}`;

const shot = async (page, name) => {
    if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/${name}.png`});
};

try {
    await withPage(url, {own: origin}, async page => {
        const sandwich = page.getByText('Sandwich');
        await sandwich.waitFor({timeout: 20000});
        await page.waitForTimeout(300); // the canvas is drawn a frame later
        await shot(page, 'speedscope');
        await sandwich.click();
        await page.getByText('Symbol Name').waitFor({timeout: 20000});
        await shot(page, 'speedscope-sandwich');
        console.log(await page.title());
        for (const row of await page.locator('table tr').all()) {
            const cells = await row.locator('td').allInnerTexts();
            if (cells.length) console.log(cells.map(c => c.trim().replace(/\s+/g, ' ')).join(' | '));
        }
    });
} finally {
    server.close();
}
