// Elements made without markup, and numbers as people read them.

// el('td.r', {title: 'x'}, 'text', child): attributes are set, never parsed; texts stay texts.
export function el(what, attributes, ...children) {
    const [tag, ...classes] = what.split('.');
    const e = document.createElement(tag);
    if (classes.length) e.className = classes.join(' ');
    for (const [key, value] of Object.entries(attributes || {})) {
        if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
        else if (key.startsWith('aria-') && value !== null && value !== undefined) e.setAttribute(key, String(value));
        else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value === true ? '' : value);
    }
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
}

export function button(text, title, action, more) {
    return el('button', {type: 'button', title, onclick: action, ...more}, text);
}

export const count = n => n === null || n === undefined ? '-' : Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');

const scale = (v, steps) => {
    for (const [size, unit, digits] of steps)
        if (Math.abs(v) >= size) return (v / size).toFixed(digits) + ' ' + unit;
    const last = steps[steps.length - 1];
    return (v / last[0]).toFixed(0) + ' ' + last[1];
};
export const time = ns => scale(ns, [[1e9, 's', 2], [1e6, 'ms', 2], [1e3, 'µs', 1], [1, 'ns', 0]]);
export const bytes = n => scale(n, [[2 ** 30, 'GiB', 2], [2 ** 20, 'MiB', 1], [2 ** 10, 'KiB', 1], [1, 'B', 0]]);

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

// For a shell, quoted where it must be.
export const quoted = word => /^[A-Za-z0-9_.,/:=%+@-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";

// An extended regular expression that matches just this name.
export const exactly = name => '^' + name.replace(/[.^$*+?()[\]{}|\\]/g, '\\$&') + '$';

export function toast(text, stay_ms) {
    const t = el('div.toast', {role: 'status'}, text);
    document.getElementById('app').append(t);
    setTimeout(() => t.remove(), stay_ms || 2600);
}

export async function copy(text, what) {
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
