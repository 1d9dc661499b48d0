// Elements made without markup, and numbers as people read them.

// el('td.r', {title: 'x'}, 'text', child): attributes are set, never parsed; texts stay texts.
export function el(what, attributes, ...children) {
    const [tag, ...classes] = what.split('.');
    const e = document.createElement(tag);
    if (classes.length) e.className = classes.join(' ');
    for (const [key, value] of Object.entries(attributes || {})) {
        if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
        else if (key.startsWith('aria-') && value !== null && value !== undefined) e.setAttribute(key, seen(String(value)));
        else if (key === 'title' && typeof value === 'string') e.title = seen(value);
        else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value === true ? '' : value);
    }
    e.append(...children.filter(c => c !== null && c !== undefined).map(c => typeof c === 'string' ? seen(c) : c));
    return e;
}

// Names may have characters that cannot be seen or that turn the text around: as in the terminal, '?' stands for each. All text that
// people get goes through here: what el() makes, put() and titles, what is drawn, copied and saved.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]/g;
export const seen = text => text.replace(HIDDEN, '?');
export const put = (e, text) => { e.textContent = seen(text); };
// A name among others, a line for each.
export const oneLine = name => seen(name).replace(/[\t\n]/g, '?');

export function button(text, title, action, more) {
    return el('button', {type: 'button', title, onclick: action, ...more}, text);
}

export const count = n => n === null || n === undefined ? '-' : Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');

// Three digits, as the terminal prints them: more would claim what samples do not know.
const scale = (v, steps) => {
    const [size, unit] = steps.find(([from]) => Math.abs(v) >= from) || steps[steps.length - 1], scaled = v / size;
    return (Math.abs(scaled) < 100 ? +scaled.toPrecision(3) : scaled.toFixed(0)) + ' ' + unit;
};
export const time = ns => scale(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]);
export const bytes = n => scale(n, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]);

// Words of the core, which writes for terminals.
export const micro = text => text && text.replace(/(\d) us\b/g, '$1 µs');

// When something happened: to a ten-thousandth of SPAN, which is the whole.
export function moment(ns, span) {
    const [size, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([from]) => Math.max(ns, span / 100) >= from) || [1, 'ns'];
    return (ns / size).toFixed(Math.max(0, Math.min(6, Math.ceil(Math.log10(size * 1e4 / Math.max(1, span)))))) + ' ' + unit;
}

// A share with its interval as the terminal prints both: '5.0% ±1.4', '1.9% (0.3-11.0)'.
export function share(part, low, high) {
    const known = low !== undefined && low !== null;
    const digits = known && high - low < 0.001 ? 2 : 1;
    const text = (100 * part).toFixed(digits) + '%';
    if (!known) return text;
    const half = (high - low) / 2;
    if (half <= part && half <= 1 - part) return `${text} ±${(100 * half).toFixed(digits)}`;
    return `${text} (${(100 * Math.max(0, low)).toFixed(digits)}-${(100 * Math.min(1, high)).toFixed(digits)})`;
}

// A bar as long as the share, with the interval as a whisker on it. FULL is the share of a full bar.
export function whisker(part, low, high, full) {
    const at = x => Math.max(0, Math.min(1, x / (full || 1))) * 100;
    const bar = el('b'), box = el('div.bar', {role: 'img', 'aria-label': share(part, low, high)}, bar);
    bar.style.width = at(part) + '%';
    if (low !== undefined && low !== null) {
        const line = el('i');
        line.style.left = at(low) + '%';
        line.style.width = Math.max(0.5, at(high) - at(low)) + '%';
        box.append(line);
    }
    return box;
}

// For a shell, quoted where it must be. Hidden characters go by their numbers: in a line that is pasted, a terminal obeys some of them.
export function quoted(word) {
    if (/^[A-Za-z0-9_.,/:=%+@-]+$/.test(word)) return word;
    if (oneLine(word) === word) return "'" + word.replace(/'/g, "'\\''") + "'";
    const number = ch => [...new TextEncoder().encode(ch)].map(b => '\\x' + b.toString(16).padStart(2, '0')).join('');
    return "$'" + word.replace(/[\\']/g, '\\$&').replace(/[\t\n]/g, number).replace(HIDDEN, number) + "'";
}

// An extended regular expression that matches just this name.
export const exactly = name => '^' + name.replace(/[.^$*+?()[\]{}|\\]/g, '\\$&') + '$';

export function toast(text, stay_ms) {
    const t = el('div.toast', {role: 'status'}, text);
    for (const older of document.querySelectorAll('.toast')) older.remove();
    document.getElementById('app').append(t);
    setTimeout(() => t.remove(), stay_ms || 2600);
}

export async function copy(any, what) {
    const text = seen(any);
    try {
        await navigator.clipboard.writeText(text);
        toast(what + ' copied: ' + text.slice(0, 200));
    } catch {
        const area = el('textarea', {'aria-label': what}, text);
        document.body.append(area);
        area.select();
        const done = document.execCommand('copy');
        area.remove();
        toast((done ? what + ' copied: ' : 'Copy this: ') + text.slice(0, 200));
    }
}
