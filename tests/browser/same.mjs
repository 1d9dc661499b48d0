// node same.mjs A.json B.json: fails where the two differ, in the last digit of a number too. The terminal ends advice with what to type,
// where a page has no command line: there one may begin with the other.
import { readFileSync } from 'node:fs';

const differ = (a, b, at) => {
    if (at.endsWith('.advice') && `${b}`.startsWith(`${a}`)) return null;
    if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return a === b ? null : `${at}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        const found = differ(a[key], b[key], `${at}.${key}`);
        if (found) return found;
    }
    return null;
};

const [a, b] = process.argv.slice(2).map(f => JSON.parse(readFileSync(f, 'utf8')));
const found = a === null ? 'nothing to compare' : differ(a, b, '');
if (found) {
    console.error(found);
    process.exit(1);
}
