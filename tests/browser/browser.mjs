// What the browser tests share: Debian's Chromium, headless, that talks to nobody.
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// Run TEST with a page of the given size; fails when the page throws or asks for anything else
// than its own file, or what OWN (an address on loopback) serves.
export async function withPage(url, {width = 1200, height = 800, dark = false, own}, test) {
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS});
    try {
        const context = await browser.newContext(
            {viewport: {width, height}, colorScheme: dark ? 'dark' : 'light'});
        const page = await context.newPage();
        const faults = [];
        page.on('pageerror', e => faults.push('error in the page: ' + e.message));
        page.on('request', r => {
            if (!/^(file|data|blob):/.test(r.url()) && !(own && r.url().startsWith(own + '/')))
                faults.push('request to ' + r.url());
        });
        await page.goto(url);
        await test(page);
        if (faults.length) throw new Error(faults.join('\n'));
    } finally {
        await browser.close();
    }
}
