// Traces that Chromium writes of itself while it opens a page: chromium.proto and chromium.json.
import { chromium } from 'playwright-core';
import fs from 'node:fs';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const session = await browser.newBrowserCDPSession();
for (const format of ['proto', 'json']) {
    await session.send('Tracing.start', { transferMode: 'ReturnAsStream', streamFormat: format,
        traceConfig: { includedCategories: ['toplevel', 'v8', 'blink', 'devtools.timeline', 'cc'] } });
    const page = await browser.newPage();
    await page.goto('data:text/html,<script>for (let i = 0; i < 1e6; i++);</script>x');
    await page.close();
    const complete = new Promise(resolve => session.once('Tracing.tracingComplete', resolve));
    await session.send('Tracing.end');
    const { stream } = await complete;
    const parts = [];
    for (let eof = false; !eof;) {
        const part = await session.send('IO.read', { handle: stream });
        parts.push(Buffer.from(part.data, part.base64Encoded ? 'base64' : 'utf8'));
        eof = part.eof;
    }
    fs.writeFileSync('chromium.' + format, Buffer.concat(parts));
}
await browser.close();
