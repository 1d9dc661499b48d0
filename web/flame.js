// The flame graph's behaviour: zoom, search, details, keyboard. Runs once for each drawing, keeps
// everything to itself, and works as a document of its own as well as inside an HTML page. The
// drawing is complete without it. The bytes "]]>" must not occur here: it is wrapped in CDATA.
(function () {
'use strict';
const script = document.currentScript;
const svg = script && script.closest ? script.closest('svg')
    : document.querySelector('svg[data-kelvin=flame]:not([data-ready])');
if (!svg || svg.dataset.ready) return;
svg.dataset.ready = '1';

const XHTML = 'http://www.w3.org/1999/xhtml', SVG = 'http://www.w3.org/2000/svg';
const BAR = 40, STATUS = 27, INSET = 3, NARROW = 3, LEAST = 320;
const alone = document.documentElement === svg;
const margin = +svg.dataset.margin, inverted = !!svg.dataset.inverted;
const fullWidth = +svg.getAttribute('width'), stillHeight = +svg.getAttribute('height');
const graph = svg.querySelector('.kg'), head = svg.querySelector('.khead');
const foot = svg.querySelector('.kfoot');

// --- the tree, read back from the drawing: a frame's parent is the one it stands on ---

const frames = new Map();
const rows = Array.from(graph.children, (row, depth) => Array.from(row.children, el => {
    const rect = el.querySelector('rect');
    const f = {el, rect, depth, text: el.querySelector('text'), parent: null, first: null,
        x: +rect.getAttribute('x'), w: +rect.getAttribute('width'), hit: false, shown: true};
    f.about = el.firstChild.textContent;
    f.name = f.about.slice(0, f.about.lastIndexOf(' ('));
    frames.set(el, f);
    return f;
}));
const root = rows[0][0];
for (let d = 1; d < rows.length; d++) {
    const below = rows[d - 1];
    let p = 0;
    for (const f of rows[d]) {
        const middle = f.x + f.w / 2;
        while (p + 1 < below.length && below[p].x + below[p].w <= middle) p++;
        f.parent = below[p];
        if (!f.parent.first || f.parent.first.w < f.w) f.parent.first = f;
    }
}

const state = {zoom: root, query: '', exact: false, width: fullWidth, height: stillHeight};

// --- text that fits ---

const pen = document.createElementNS(XHTML, 'canvas').getContext('2d');
const widths = new Map();
function charWidth(c, font) {
    const key = font + c;
    let w = widths.get(key);
    if (w === undefined) {
        pen.font = font;
        widths.set(key, w = pen.measureText(c).width);
    }
    return w;
}
function fontOf(el) {
    const s = getComputedStyle(el);
    return s.fontWeight + ' ' + s.fontSize + ' ' + s.fontFamily;
}
function textWidth(text, font) {
    let sum = 0;
    for (const c of text) sum += charWidth(c, font);
    return sum;
}
function fit(text, room, font) {
    const dots = 2 * charWidth('.', font);
    let used = 0, at = 0, cut = 0;
    for (const c of text) {
        if (used + dots <= room) cut = at;
        used += charWidth(c, font);
        at += c.length;
        if (used > room) return cut > 2 ? text.slice(0, cut) + '..' : '';
    }
    return text;
}
const frameFont = fontOf(graph);

// --- drawing ---

function label(f, x, w) {
    const room = w - 2 * INSET;
    const text = room < 12 ? '' : fit(f.name, room, frameFont);
    if (!text && !f.text) return;
    if (!f.text) {
        f.text = document.createElementNS(SVG, 'text');
        f.text.setAttribute('y', svg.dataset.baseline);
        f.el.appendChild(f.text);
    }
    f.text.textContent = text;
    f.text.setAttribute('x', x + INSET);
}
function show(f, x, w, dim) {
    f.shown = true;
    f.el.classList.remove('khide');
    f.el.classList.toggle('kdim', dim);
    f.el.classList.toggle('kn', w < NARROW);
    f.rect.setAttribute('x', x.toFixed(3));
    f.rect.setAttribute('width', w.toFixed(3));
    label(f, x, w);
}
function hide(f) {
    if (f.shown) f.el.classList.add('khide');
    f.shown = false;
}
function draw() {
    const z = state.zoom, inner = state.width - 2 * margin, scale = inner / (z.w || 1);
    const path = new Set();
    for (let f = z; f; f = f.parent) path.add(f);
    for (const row of rows)
        for (const f of row) {
            if (path.has(f)) show(f, margin, inner, f !== z);
            else if (f.depth > z.depth && f.parent.shown)
                show(f, margin + (f.x - z.x) * scale, f.w * scale, false);
            else hide(f);
        }
    reset.disabled = z === root;
}

// --- the parts that only a script can use ---

function make(parent, tag, props) {
    const el = document.createElementNS(XHTML, tag);
    Object.assign(el, props);
    parent.appendChild(el);
    return el;
}
function box(className) {
    const outer = document.createElementNS(SVG, 'foreignObject');
    svg.appendChild(outer);
    return [outer, make(outer, 'div', {className})];
}
const [barBox, bar] = box('kbar'), [statusBox, status] = box('kstatus');
const find = make(bar, 'div', {className: 'kfind'});
const input = make(find, 'input', {type: 'text', placeholder: 'Search (regex)', spellcheck: false});
input.setAttribute('aria-label', 'Search frames by regular expression');
const exact = make(find, 'button', {type: 'button', textContent: 'Aa', title: 'Match case'});
exact.setAttribute('aria-pressed', 'false');
const result = make(bar, 'span', {className: 'kresult'});
result.setAttribute('role', 'status');
const reset = make(bar, 'button', {type: 'button', textContent: 'Reset zoom', disabled: true});
const helpButton = make(bar, 'button', {type: 'button', textContent: '?', title: 'Help'});
helpButton.setAttribute('aria-label', 'Help');
const IDLE = 'Point at a frame for its numbers, click to zoom, press ? for the keys';

const KEYS = [
    ['click, Enter', 'zoom into a frame'],
    ['Esc', 'clear the search, then reset the zoom'],
    ['/ or Ctrl-F', 'search by regular expression'],
    [inverted ? '\u2193 \u2191' : '\u2191 \u2193', 'to the widest callee, back to the caller'],
    ['\u2190 \u2192', 'to the frame beside'],
    ['?', 'show or hide this'],
];
let helpBox = null;
function toggleHelp(on) {
    if (!helpBox && on) {
        const [outer, panel] = box('khelp');
        helpBox = outer;
        panel.setAttribute('role', 'dialog');
        panel.setAttribute('aria-label', 'Keys');
        const table = make(make(panel, 'table', {}), 'tbody', {});
        for (const [key, what] of KEYS) {
            const row = make(table, 'tr', {});
            make(row, 'td', {textContent: key});
            make(row, 'td', {textContent: what});
        }
        helpBox.addEventListener('click', () => toggleHelp(false));
    } else if (helpBox && !on) {
        helpBox.remove();
        helpBox = null;
    }
    place();
}

function tell(f) {
    status.classList.toggle('kidle', !f);
    if (!f) { status.textContent = IDLE; return; }
    let more = '';
    if (state.zoom !== root && f.depth > state.zoom.depth)
        more = ' \u00b7 ' + (100 * f.w / state.zoom.w).toFixed(2) + '% of ' + state.zoom.name;
    status.textContent = f.about + more;
}

// --- search ---

// The share of what is drawn under matching frames; a match inside a match counts once.
function search() {
    let regex = null, sum = 0, inZoom = 0, hits = 0;
    const z = state.zoom;
    try {
        regex = state.query ? new RegExp(state.query, state.exact ? '' : 'i') : null;
        find.classList.remove('kbad');
    } catch (e) {
        find.classList.add('kbad');
    }
    for (const row of rows)
        for (const f of row) {
            f.hit = !!regex && f !== root && regex.test(f.name);
            f.covered = !!f.parent && (f.parent.hit || f.parent.covered);
            f.el.classList.toggle('khit', f.hit);
            hits += f.hit;
            if (!f.hit || f.covered) continue;
            sum += f.w;
            inZoom += Math.max(0, Math.min(f.x + f.w, z.x + z.w) - Math.max(f.x, z.x));
        }
    result.textContent = '';
    if (find.classList.contains('kbad')) result.textContent = 'not a regular expression';
    if (!regex) return;
    const share = w => w.toFixed(2) + '%';
    make(result, 'b', {textContent: share(100 * sum / (root.w || 1))});
    result.append(' matched' + (z === root ? '' : ', ' + share(100 * inZoom / (z.w || 1)) + ' here')
        + ' \u00b7 ' + hits + (hits === 1 ? ' frame' : ' frames'));
}

// --- zoom and search are kept in the address ---

const keyPrefix = alone ? '' : svg.id + '.';
// A frame's key depends on the names from the root to it only, not on what is drawn beside.
function keyOf(f) {
    const names = [];
    for (; f.parent; f = f.parent) names.push(f.name);
    let h = 2166136261;
    for (const c of names.join('\n')) h = Math.imul(h ^ c.codePointAt(0), 16777619) >>> 0;
    return names.length + '-' + h.toString(16);
}
function foreignParts() {
    const own = ['zoom', 'search', 'case'].map(k => keyPrefix + k + '=');
    return location.hash.slice(1).split('&').filter(p => p && !own.some(k => p.startsWith(k)));
}
function save() {
    const parts = foreignParts();
    const add = (k, v) => parts.push(keyPrefix + k + '=' + encodeURIComponent(v));
    if (state.zoom !== root) add('zoom', keyOf(state.zoom));
    if (state.query) add('search', state.query);
    if (state.query && state.exact) add('case', '1');
    const hash = parts.length ? '#' + parts.join('&') : '';
    if (hash === location.hash) return;
    try {
        history.replaceState(history.state, '', hash || location.pathname + location.search);
    } catch (e) { /* a frame without an address of its own */ }
}
function decode(s) {
    try { return decodeURIComponent(s); } catch (e) { return s; }
}
function restore() {
    const found = {};
    for (const part of location.hash.slice(1).split('&')) {
        const at = part.indexOf('=');
        if (at > 0 && part.startsWith(keyPrefix))
            found[part.slice(keyPrefix.length, at)] = decode(part.slice(at + 1));
    }
    state.query = input.value = found.search || '';
    setExact(found.case === '1');
    const depth = parseInt(found.zoom, 10);
    const row = found.zoom && rows[depth] || [];
    state.zoom = row.find(f => keyOf(f) === found.zoom) || root;
}

// --- actions ---

function setExact(on) {
    state.exact = on;
    exact.setAttribute('aria-pressed', String(on));
}
function zoomTo(f) {
    state.zoom = f;
    draw();
    search();
    save();
    tell(f === root ? null : f);
    walkTo(f, false);
}
let timer = 0;
function searchSoon() {
    clearTimeout(timer);
    state.query = input.value;
    timer = setTimeout(() => { search(); save(); }, 80);
}
function clearSearch() {
    clearTimeout(timer);
    state.query = input.value = '';
    search();
    save();
}
// Only one frame can be reached by Tab: the one where the keyboard is.
let walker = null;
function walkTo(f, focus) {
    if (walker) walker.el.removeAttribute('tabindex');
    walker = f;
    f.el.setAttribute('tabindex', '0');
    f.el.setAttribute('role', 'img');
    if (focus) f.el.focus();
}
function beside(f, step) {
    const row = rows[f.depth];
    for (let i = row.indexOf(f) + step; row[i]; i += step)
        if (row[i].shown && !row[i].el.classList.contains('kn')) return row[i];
    return null;
}
function step(key, f) {
    const up = inverted ? 'ArrowDown' : 'ArrowUp', down = inverted ? 'ArrowUp' : 'ArrowDown';
    const to = key === up ? f.first : key === down ? f.parent
        : key === 'ArrowLeft' ? beside(f, -1) : beside(f, 1);
    if (to) walkTo(to, true);
}
function frameAt(target) {
    const el = target.closest && target.closest('.kg>g>g');
    return el && frames.get(el);
}

// --- places: the bar and the status line stay in view when the drawing is taller than it ---

function setBox(el, x, y, w, h) {
    for (const [k, v] of [['x', x], ['y', y], ['width', w], ['height', h]]) el.setAttribute(k, v);
}
function place() {
    const m = svg.getScreenCTM(), bottom = state.height;
    if (!m || !m.d) return;
    const viewTop = -m.f / m.d, viewEnd = (window.innerHeight - m.f) / m.d;
    const barY = Math.min(Math.max(-BAR, viewTop), bottom - BAR);
    const statusY = Math.max(Math.min(bottom, viewEnd - STATUS), 0);
    setBox(barBox, 0, barY, state.width, BAR);
    setBox(statusBox, 0, statusY, state.width, STATUS);
    if (!helpBox) return;
    const w = Math.min(420, state.width - 20), h = helpBox.firstChild.offsetHeight || 190;
    setBox(helpBox, state.width - w - 10, barY + BAR + 6, w, Math.max(h, 60));
}

// Caption and headings are broken and cut anew for the width at hand.
const headings = Array.from(head.querySelectorAll('text'), el => ({el, full: el.textContent}));
const caption = Array.from(foot.querySelectorAll('.kc'));
const captionParts = caption.map(el => el.textContent).join(' \u00b7 ').split(' \u00b7 ');
const captionY = caption.map(el => +el.getAttribute('y'));
const lineHeight = Math.round(parseFloat(getComputedStyle(graph).fontSize) * 1.5);
function refoot() {
    const font = fontOf(foot), inner = state.width - 2 * margin, lines = [];
    for (const part of captionParts) {
        const longer = lines.length ? lines[lines.length - 1] + ' \u00b7 ' + part : '';
        if (longer && textWidth(longer, font) <= inner) lines[lines.length - 1] = longer;
        else lines.push(part);
    }
    while (caption.length < lines.length) caption.push(foot.appendChild(caption[0].cloneNode(true)));
    caption.forEach((el, i) => {
        el.textContent = lines[i] ? fit(lines[i], inner, font) : '';
        el.setAttribute('y', captionY[0] + i * lineHeight);
    });
    return (lines.length - captionY.length) * lineHeight;
}
function rehead() {
    const inner = state.width - 2 * margin;
    for (const {el, full} of headings) {
        const box = el.parentNode.matches('.kwarn') ? el.previousElementSibling : null;
        el.textContent = fit(full, inner - (box ? 20 : 0), fontOf(el));
        if (box) box.setAttribute('width', Math.ceil(el.getComputedTextLength()) + 20);
    }
}
function resize() {
    const seen = svg.getBoundingClientRect().width;
    const width = Math.max(LEAST, Math.min(fullWidth, Math.round(seen)));
    if (!seen) return;
    const changed = width !== state.width;
    state.width = width;
    rehead();
    state.height = stillHeight + refoot();
    const height = state.height + BAR + STATUS;
    svg.setAttribute('viewBox', '0 ' + -BAR + ' ' + width + ' ' + height);
    svg.style.height = height * seen / width + 'px';
    if (changed) draw();
    place();
}

// --- events ---

function onKey(e) {
    const f = frameAt(e.target), typing = e.target === input;
    if (!alone && !svg.contains(e.target)) return;
    if (e.key === 'Escape') {
        if (helpBox) toggleHelp(false);
        else if (state.query) clearSearch();
        else if (state.zoom !== root) zoomTo(root);
        if (typing && walker) walkTo(walker, true);
    } else if ((e.key === 'f' && (e.ctrlKey || e.metaKey)) || (e.key === '/' && !typing)) {
        input.focus();
        input.select();
    } else if (typing || e.ctrlKey || e.metaKey || e.altKey) {
        return;
    } else if (e.key === '?') {
        toggleHelp(!helpBox);
    } else if (f && (e.key === 'Enter' || e.key === ' ')) {
        zoomTo(f);
        f.el.focus();
    } else if (e.key.startsWith('Arrow') && (f || e.target === svg)) {
        step(e.key, f || walker);
    } else {
        return;
    }
    e.preventDefault();
}
graph.addEventListener('click', e => { const f = frameAt(e.target); if (f) zoomTo(f); });
graph.addEventListener('mouseover', e => { const f = frameAt(e.target); if (f) tell(f); });
graph.addEventListener('mouseleave', () => tell(null));
// Not on the drawing itself: a listener for focus would make it take the focus at a click.
document.addEventListener('focusin', e => { const f = frameAt(e.target); if (f) tell(f); });
document.addEventListener('keydown', onKey);
input.addEventListener('input', searchSoon);
input.addEventListener('keydown', e => { if (e.key === 'Enter') { search(); save(); } });
exact.addEventListener('click', () => { setExact(!state.exact); search(); save(); });
reset.addEventListener('click', () => zoomTo(root));
helpButton.addEventListener('click', () => toggleHelp(!helpBox));
window.addEventListener('scroll', place, {passive: true});
window.addEventListener('resize', resize);
window.addEventListener('hashchange', () => { restore(); draw(); search(); });
if (window.ResizeObserver && !alone) new ResizeObserver(resize).observe(svg.parentNode);

restore();
resize();
if (state.zoom !== root) draw();
if (state.query) search();
tell(null);
walkTo(state.zoom, false);
// What matters most stands at the root.
if (alone && !inverted && window.scrollY === 0) window.scrollTo(0, svg.scrollHeight || 1e9);
})();
