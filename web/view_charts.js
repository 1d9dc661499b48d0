// What the drawings share: sharp canvases, the theme's colours, the card at the pointer.
import { el, seen } from './view_text.js';
import { menuIsOpen } from './view_menu.js';

const dark = matchMedia('(prefers-color-scheme: dark)'), colours = new Map();
let night = dark.matches;
const themed = [], retheme = now => { night = now; colours.clear(); for (const action of themed) action(); };
dark.addEventListener('change', () => retheme(dark.matches));
// Paper is white: drawings are made anew for it, and again for the screen.
const print = on => { document.documentElement.classList.toggle('printing', on); retheme(!on && dark.matches); };
window.addEventListener('beforeprint', () => print(true));
window.addEventListener('afterprint', () => print(false));
export const isDark = () => night;
export const onTheme = action => themed.push(action);

export function colour(name) {
    let value = colours.get(name);
    if (value === undefined) colours.set(name, value = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());
    return value;
}

export const fontOf = (px, weight) => `${weight || 400} ${px}px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif`;

// A context parses its font each time that it is set, and writes it out each time that it is read.
const fonts = new WeakMap();
export function useFont(c, font) {
    if (fonts.get(c) === font) return;
    fonts.set(c, font);
    c.font = font;
}

// A canvas of WIDTH x HEIGHT CSS pixels, cleared; returns its context.
export function paper(canvas, width, height) {
    const dense = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(width * dense)), h = Math.max(1, Math.round(height * dense));
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.height = height + 'px';
        fonts.delete(canvas.getContext('2d'));
    }
    const c = canvas.getContext('2d');
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.clearRect(0, 0, width, height);
    return c;
}

// The first letter of each font takes a browser longest. Nothing is drawn yet: that may wait for what draws to come up.
export function warmUp() {
    const c = el('canvas').getContext('2d');
    for (const font of [fontOf(11), fontOf(12), 'italic ' + fontOf(12), fontOf(12, 600)]) {
        useFont(c, font);
        const advance = advancesOf(c);
        for (let code = 33; code < 127; code++) advance(String.fromCharCode(code));
    }
}

// Widths of characters, by font: to measure each text anew takes longer than to draw it.
const advances = new Map();
function advancesOf(c) {
    const font = fonts.get(c) || c.font;
    let own = advances.get(font);
    if (!own) advances.set(font, own = new Map());
    return ch => {
        let w = own.get(ch);
        if (w === undefined) own.set(ch, w = c.measureText(ch).width);
        return w;
    };
}

// As wide as TEXT is drawn.
export function widthOf(c, text) {
    const advance = advancesOf(c);
    let used = 0;
    for (const ch of text) used += advance(ch);
    return used;
}

// TEXT cut to WIDTH pixels; '' where not even two letters fit.
export function fit(c, text, width) {
    if (width < 14) return '';
    text = seen(text);
    const advance = advancesOf(c), dots = advance('…');
    let at = 0, used = 0, cut = 0;
    for (const ch of text) {
        used += advance(ch);
        if (used > width) return cut < 2 ? '' : text.slice(0, cut) + '…';
        at += ch.length;
        if (used + dots <= width) cut = at;
    }
    return text;
}

// Round steps of 1, 2 and 5 for an axis with about N marks.
export function steps(from, to, n) {
    const rough = (to - from) / Math.max(1, n), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(s => s * power >= rough) * power;
    const marks = [];
    for (let x = Math.ceil(from / step) * step; x <= to && marks.length < 100; x += step) marks.push(x);
    return {step, marks};
}

// A mark of such an axis in seconds, which goes to END.
export function momentText(s, step, end) {
    const [scale, unit] = end > 1 && step >= 1e-4 ? [1, 's'] : step < 1e-6 ? [1e9, 'ns'] : step < 1e-3 ? [1e6, 'µs'] : [1e3, 'ms'];
    return s === 0 ? '0' : +(s * scale).toFixed(4) + ' ' + unit;
}

// The card at the pointer: a title and pairs of words.
let card = null;
export function showCard(x, y, title, facts) {
    hideCard();
    if (menuIsOpen()) return;
    const list = el('dl');
    for (const [name, value] of facts) if (value) list.append(el('dt', null, name), el('dd', null, value));
    card = el('div.card', {role: 'tooltip'}, el('h3', null, title), list);
    document.getElementById('app').append(card);
    const box = card.getBoundingClientRect();
    card.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
    card.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + 'px';
}
export function addToCard(name, value) {
    if (!card) return;
    card.querySelector('dl').append(el('dt', null, name), el('dd.lines', null, value));
    const box = card.getBoundingClientRect();
    if (box.bottom > innerHeight) card.style.top = Math.max(4, innerHeight - box.height - 6) + 'px';
    if (box.right > innerWidth) card.style.left = Math.max(4, innerWidth - box.width - 6) + 'px';
}
export function hideCard() {
    if (card) card.remove();
    card = null;
}
