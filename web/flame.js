// The flame graph's behaviour: zoom, search, views, details, keyboard. Runs once for each drawing,
// and works as a document of its own as well as inside an HTML page. The drawing is complete
// without it. See flame_tree.js.
const XHTML = 'http://www.w3.org/1999/xhtml', SVG = 'http://www.w3.org/2000/svg';
const BAR = 40, STATUS = 27, INSET = 3, NARROW = 3, LEAST = 320;
const alone = document.documentElement === svg;
const margin = +svg.dataset.margin, rowHeight = +svg.dataset.row, headHeight = +svg.dataset.head;
const fullWidth = +svg.getAttribute('width'), drawnHeight = +svg.getAttribute('height');
const head = svg.querySelector('.khead'), foot = svg.querySelector('.kfoot');
const base = readTree();
const footHeight = drawnHeight - headHeight - base.rows.length * rowHeight;
const asDrawn = {flames: !!svg.dataset.flames, invert: false, chains: false, recursion: false};

let tree = base, rows = base.rows, root = base.root, layer = graph;
const frames = new Map(base.nodes.filter(n => n.el).map(n => [n.el, n]));
const state = {zoom: root, query: '', exact: false, width: fullWidth, height: drawnHeight,
    view: {...asDrawn}};

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
            const from = Math.max(f.x, z.x), to = Math.min(f.x + f.w, z.x + z.w);
            if (path.has(f)) show(f, margin, inner, f !== z);
            else if (tree.chart ? to > from : f.depth > z.depth && f.parent.shown)
                show(f, margin + (from - z.x) * scale, (to - from) * scale, false);
            else hide(f);
        }
    reset.disabled = z === root;
    if (tree.chart) drawAxis(z, inner);
}

// The axis of a chart: round times of what is seen, a tick each hundred pixels or so.
const axis = svg.querySelector('.kaxis');
function drawAxis(z, inner) {
    const {span, timed} = tree.chart, ns = span / (root.w || 1);
    const from = (z.x - root.x) * ns, seen = z.w * ns, least = seen * 100 / inner;
    const power = 10 ** Math.floor(Math.log10(least || 1));
    const step = power * [1, 2, 5, 10].find(k => k * power >= least * 0.999);
    axis.textContent = '';
    for (let i = Math.ceil(from / step); i * step <= from + seen && step > 0; i++) {
        const x = margin + (i * step - from) / seen * inner;
        const line = axis.appendChild(document.createElementNS(SVG, 'path'));
        line.setAttribute('d', 'M' + x.toFixed(1) + ' -3V' + rows.length * rowHeight);
        const text = axis.appendChild(document.createElementNS(SVG, 'text'));
        text.textContent = i === 0 ? '0' : timed ? timeText(i * step, step) : grouped(Math.round(i * step));
        text.setAttribute('x', x.toFixed(1));
        text.setAttribute('y', -6);
        if (x + 50 > state.width) text.setAttribute('text-anchor', 'end');
    }
}
// As many digits as tell this tick from the next.
function timeText(ns, step) {
    const [from, name] = TIMES.find(s => ns >= s[0]) || TIMES[3];
    return (ns / from).toFixed(Math.max(0, Math.ceil(-Math.log10(step / from) - 1e-9))) + ' ' + name;
}

// --- views: the same samples as another tree, or the other way up ---

const shades = new Map();
for (const n of base.nodes)
    if (n.el) shades.set(n.kind + '\n' + n.name, n.el.getAttribute('class').replace(/ kn\b/, ''));
function shadeOf(f) {
    const like = f.like || f;
    return shades.get(like.kind + '\n' + like.name) || shades.get('\n' + base.root.name);
}
function makeFrame(f) {
    f.el = document.createElementNS(SVG, 'g');
    f.el.setAttribute('class', shadeOf(f));
    f.about = f.about || f.name + ' (' + numbersOf(f) + (f.kind ? ', ' + f.kind : '') + ')';
    f.el.appendChild(document.createElementNS(SVG, 'desc')).textContent = f.about;
    f.rect = f.el.appendChild(document.createElementNS(SVG, 'rect'));
    f.rect.setAttribute('height', rowHeight - 1);
    f.shown = true;
    frames.set(f.el, f);
    return f.el;
}
function numbersOf(f) {
    const weighed = tree.counted && tree.unit.kind !== 'count';
    return (weighed ? plural(f.count, 'samples') : valueText(tree.unit, f.total)) + ', '
        + percent(f.total, root.total) + (weighed ? ', ' + valueText(tree.unit, f.total) : '');
}
function makeLayer() {
    const g = document.createElementNS(SVG, 'g');
    g.setAttribute('class', 'kg');
    for (const row of rows) {
        const el = g.appendChild(document.createElementNS(SVG, 'g'));
        for (const f of row) el.appendChild(makeFrame(f));
    }
    return g;
}
function setView(view) {
    const flip = view.flames !== state.view.flames;
    const other = ['invert', 'chains', 'recursion'].some(k => view[k] !== state.view[k]);
    state.view = view;
    if (other) {
        tree = deriveTree(base, view);
        rows = tree.rows;
        root = state.zoom = tree.root;
        const next = tree === base ? graph : makeLayer();
        layer.replaceWith(next);
        layer = next;
    }
    if (other || flip) placeRows();
    for (const [key, b] of viewBoxes) b.checked = view[key];
    viewButton.classList.toggle('kon', Object.keys(asDrawn).some(k => view[k] !== asDrawn[k]));
}
function placeRows() {
    const up = state.view.flames, top = headHeight + (up ? (rows.length - 1) * rowHeight : 0);
    layer.setAttribute('transform', 'translate(0 ' + top + ')');
    Array.from(layer.children).forEach((row, i) =>
        row.setAttribute('transform', 'translate(0 ' + (up ? -1 : 1) * i * rowHeight + ')'));
    foot.setAttribute('transform', 'translate(0 ' + (headHeight + rows.length * rowHeight) + ')');
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
const viewButton = make(bar, 'button', {type: 'button', textContent: 'View'});
viewButton.setAttribute('aria-haspopup', 'true');
const reset = make(bar, 'button', {type: 'button', textContent: 'Reset zoom', disabled: true});
const helpButton = make(bar, 'button', {type: 'button', textContent: '?', title: 'Help'});
helpButton.setAttribute('aria-label', 'Help');
const IDLE = 'Point at a frame for its numbers, click to zoom, press ? for the keys';

const VIEWS = [
    ['flames', 'f', 'Flames: the root at the bottom'],
    ['invert', 'i', 'Inverted: from what ran to its callers'],
    ['chains', 'c', 'Fold chains: frames that only call the next one'],
    ['recursion', 'r', 'Merge recursion: direct calls of itself'],
// What a difference shows belongs to its paths; other trees of it would need other numbers.
].filter(v => !base.chart && (base.unit || v[0] === 'flames'));
viewButton.hidden = !!base.chart;
const viewBoxes = new Map();
const [viewBox, viewPanel] = box('kpanel');
viewPanel.setAttribute('role', 'group');
viewPanel.setAttribute('aria-label', 'View');
for (const [key, letter, what] of VIEWS) {
    const line = make(viewPanel, 'label', {});
    const check = make(line, 'input', {type: 'checkbox'});
    check.setAttribute('aria-label', what);
    make(line, 'span', {textContent: what});
    make(line, 'kbd', {textContent: letter});
    viewBoxes.set(key, check);
    check.addEventListener('change', () => toggleView(key));
}
let viewOpen = false;
function toggleView(key) {
    setView({...state.view, [key]: !state.view[key]});
    resize();
    draw();
    search();
    save(true);
    tell(null);
    walkTo(state.zoom, false);
    if (alone && key === 'flames') scrollToRoot();
}
function openView(on) {
    viewOpen = on;
    viewButton.setAttribute('aria-expanded', String(on));
    place();
}

const KEYS = [
    ['click, Enter', 'zoom into a frame'],
    ['Esc', 'clear the search, then reset the zoom'],
    ['/ or Ctrl-F', 'search by regular expression'],
    ['Back', 'undo a zoom or a change of view'],
    ['\u2191 \u2193', 'to the caller, to the widest callee'],
    ['\u2190 \u2192', 'to the frame beside'],
    ...VIEWS.map(v => [v[1], v[2].toLowerCase()]),
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

// --- details: in the status line, and in a card at the pointer ---

function tell(f) {
    status.classList.toggle('kidle', !f);
    if (!f) { status.textContent = IDLE; return; }
    let more = '';
    if (state.zoom !== root && f.depth > state.zoom.depth)
        more = ' \u00b7 ' + percent(f.total, state.zoom.total) + ' of ' + state.zoom.name;
    status.textContent = f.about + more;
}
// Half of a 95% interval, with as many digits as the tables give it; both ends of a lopsided one.
function half(low, high, share) {
    const digits = high - low < 100 ? 2 : 1, wide = (high - low) / 2;
    return wide <= share && wide <= 1e5 - share ? ' \u00b1' + (wide / 1000).toFixed(digits)
        : ' (' + (low / 1000).toFixed(digits) + '-' + (high / 1000).toFixed(digits) + ')';
}
function addLine(table, what, f, total) {
    const value = total ? f.total : f.self, count = total ? f.count : f.selfCount;
    const row = make(table, 'tr', {});
    make(row, 'th', {textContent: what});
    make(row, 'td', {textContent: percent(value, root.total)
        + (f.sure ? half(f.sure[total ? 0 : 2], f.sure[total ? 1 : 3],
            root.total ? 1e5 * value / root.total : 0) : '')});
    if (tree.timed) make(row, 'td', {textContent: scaled(total ? f.time : f.selfTime, TIMES)});
    make(row, 'td', {textContent: valueText(tree.unit, value)});
    if (tree.counted && tree.unit.kind !== 'count') make(row, 'td', {textContent: plural(count, 'samples')});
}
const [cardBox, card] = box('kcard');
cardBox.setAttribute('class', 'kcardbox');
let cardOf = null;
function fillCard(f) {
    cardOf = f;
    card.textContent = '';
    make(card, 'b', {textContent: f.names && f.names.length > 1
        ? f.names.slice(0, 12).join(' \u203a ') + (f.names.length > 12 ? ' \u203a \u2026' : '') : f.name});
    if (!tree.unit) {
        for (const part of f.about.slice(f.name.length + 2, -1).split('; '))
            make(card, 'div', {textContent: part});
        return;
    }
    const table = make(make(card, 'table', {}), 'tbody', {});
    addLine(table, 'total', f, true);
    if (f.self !== null) addLine(table, 'self', f, false);
    if (state.zoom !== root && f.depth > state.zoom.depth) {
        const row = make(table, 'tr', {});
        make(row, 'th', {textContent: 'here'});
        make(row, 'td', {textContent: percent(f.total, state.zoom.total)});
    }
    if (tree.chart && tree.chart.timed) {
        const ns = tree.chart.span / (root.w || 1), row = make(table, 'tr', {});
        make(row, 'th', {textContent: 'from'});
        make(row, 'td', {textContent: f.x > root.x ? timeText((f.x - root.x) * ns, tree.chart.span / 1e4) : '0'});
        make(row, 'td', {textContent: 'for ' + scaled(f.w * ns, TIMES)});
    }
    const where = [f.group ? 'thread' : '', f.kind, ...(f.place || '').split('\t')].filter(Boolean);
    if (where.length) make(card, 'div', {textContent: where.join(' \u00b7 ')});
}
// Beside the pointer, on the side where there is room.
function showCard(f, e) {
    if (f !== cardOf) fillCard(f);
    const m = svg.getScreenCTM();
    if (!m || !m.a) return;
    const w = Math.min(420, state.width - 8);
    setBox(cardBox, 0, 0, w, 10);
    cardBox.style.display = 'block';
    const h = card.offsetHeight, cw = card.offsetWidth;
    const px = (e.clientX - m.e) / m.a, py = (e.clientY - m.f) / m.d;
    const end = (window.innerHeight - m.f) / m.d - STATUS;
    const x = px + 14 + cw > state.width ? Math.max(4, px - 14 - cw) : px + 14;
    const y = py + 18 + h > end ? py - 12 - h : py + 18;
    setBox(cardBox, x, y, w, h);
}
function hideCard() {
    cardOf = null;
    cardBox.style.display = 'none';
}

// --- search ---

// The share under matching frames; a match inside a match counts once. Frames that are too narrow to
// be drawn count too, so that this is the total of a function as the tables have it. Where
// there were too many of them to be kept, a range says what is known.
function search() {
    let regex = null;
    const z = state.zoom;
    try {
        regex = state.query ? new RegExp(state.query, state.exact ? '' : 'i') : null;
        find.classList.remove('kbad');
    } catch (e) {
        find.classList.add('kbad');
    }
    const all = {sum: 0, missing: 0}, here = {sum: 0, missing: 0};
    for (const f of tree.nodes) {
        const up = f.parent;
        f.hit = !!regex && f !== root && !f.group && (f.names || [f.name]).some(n => regex.test(n));
        f.covered = !!up && (up.hit || up.covered);
        f.inZoom = f === z || (!!up && up.inZoom);
        if (f.el) f.el.classList.toggle('khit', f.hit);
        if (!regex || f.covered) continue;
        const sum = f.hit ? f.total : 0, missing = f.hit || f.self === null ? 0 : missingOf(f);
        for (const s of f.inZoom ? [all, here] : [all]) { s.sum += sum; s.missing += missing; }
    }
    if (z.covered) here.sum = z.total;
    result.textContent = '';
    if (find.classList.contains('kbad')) result.textContent = 'not a regular expression';
    if (!regex) return;
    const hits = tree.nodes.reduce((n, f) => n + f.hit, 0);
    const share = (s, whole) => s.missing > 0
        ? percent(s.sum, whole) + ' to ' + percent(s.sum + s.missing, whole) : percent(s.sum, whole);
    make(result, 'b', {textContent: share(all, root.total)});
    result.append(' matched' + (z === root ? '' : ', ' + share(here, z.total) + ' here')
        + ' \u00b7 ' + hits + (hits === 1 ? ' frame' : ' frames'));
}
// What was spent below a frame in frames that are neither drawn nor kept.
function missingOf(f) {
    return Math.max(0, f.total - f.self - f.kids.reduce((sum, k) => sum + k.total, 0));
}

// --- zoom, view and search are kept in the address; Back undoes a zoom ---

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
    const own = ['zoom', 'view', 'search', 'case'].map(k => keyPrefix + k + '=');
    return location.hash.slice(1).split('&').filter(p => p && !own.some(k => p.startsWith(k)));
}
function save(step) {
    const parts = foreignParts();
    const add = (k, v) => parts.push(keyPrefix + k + '=' + encodeURIComponent(v));
    if (state.zoom !== root) add('zoom', keyOf(state.zoom));
    const view = Object.keys(asDrawn).filter(k => state.view[k] !== asDrawn[k]);
    if (view.length) add('view', view.join(' '));
    if (state.query) add('search', state.query);
    if (state.query && state.exact) add('case', '1');
    const hash = parts.length ? '#' + parts.join('&') : '';
    if (hash === location.hash) return;
    try {
        const change = step ? 'pushState' : 'replaceState';
        history[change](history.state, '', hash || location.pathname + location.search);
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
    const other = (found.view || '').split(' '), view = {};
    for (const k of Object.keys(asDrawn)) view[k] = asDrawn[k] !== (other.includes(k) && viewBoxes.has(k));
    setView(view);
    const depth = parseInt(found.zoom, 10);
    state.zoom = found.zoom && rows.flat().find(f => f.depth === depth && keyOf(f) === found.zoom) || root;
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
    save(true);
    hideCard();
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
    f.el.setAttribute('aria-label', f.about);
    if (focus) f.el.focus();
}
function beside(f, step) {
    const row = rows[f.row];
    for (let i = row.indexOf(f) + step; row[i]; i += step)
        if (row[i].shown && !row[i].el.classList.contains('kn')) return row[i];
    return null;
}
function widest(f) {
    return f.kids.reduce((best, k) => k.el && (!best || k.w > best.w) ? k : best, null);
}
function step(key, f) {
    const up = state.view.flames ? 'ArrowUp' : 'ArrowDown';
    const down = state.view.flames ? 'ArrowDown' : 'ArrowUp';
    const to = key === up ? widest(f) : key === down ? f.parent
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
// What of the window's height is left by boxes that scroll.
function seenRange() {
    let top = 0, end = window.innerHeight;
    for (let el = alone ? null : svg.parentElement; el && el !== document.body; el = el.parentElement) {
        if (getComputedStyle(el).overflowY === 'visible') continue;
        const r = el.getBoundingClientRect();
        top = Math.max(top, r.top);
        end = Math.min(end, r.bottom);
    }
    return [top, end];
}
function place() {
    const m = svg.getScreenCTM(), bottom = state.height;
    if (!m || !m.d) return;
    const [top, end] = seenRange(), viewTop = (top - m.f) / m.d, viewEnd = (end - m.f) / m.d;
    const barY = Math.min(Math.max(-BAR, viewTop), bottom - BAR);
    const statusY = Math.max(Math.min(bottom, viewEnd - STATUS), 0);
    setBox(barBox, 0, barY, state.width, BAR);
    setBox(statusBox, 0, statusY, state.width, STATUS);
    viewBox.style.display = viewOpen ? 'block' : 'none';
    if (viewOpen) {
        const w = Math.min(400, state.width - 20);
        setBox(viewBox, state.width - w - 10, barY + BAR + 4, w, viewPanel.offsetHeight || 130);
    }
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
// Alone in its window the drawing is as wide as that; on a page, as the place it is put in.
function widthSeen() {
    if (alone) return document.documentElement.clientWidth || window.innerWidth;
    return svg.parentNode.clientWidth
        - parseFloat(getComputedStyle(svg.parentNode).paddingLeft || 0)
        - parseFloat(getComputedStyle(svg.parentNode).paddingRight || 0);
}
function resize() {
    const seen = widthSeen(), width = Math.max(LEAST, Math.floor(seen));
    if (!(seen > 0)) return;
    const changed = width !== state.width;
    state.width = width;
    rehead();
    state.height = headHeight + rows.length * rowHeight + footHeight + refoot();
    const height = state.height + BAR + STATUS;
    svg.setAttribute('viewBox', '0 ' + -BAR + ' ' + width + ' ' + height);
    svg.style.width = seen + 'px';
    svg.style.maxWidth = 'none';
    svg.style.height = height * seen / width + 'px';
    if (changed) draw();
    place();
}

// --- events ---

function fromAddress() {
    restore();
    resize();
    draw();
    search();
    tell(null);
    hideCard();
    walkTo(state.zoom, false);
}
function onKey(e) {
    const f = frameAt(e.target), typing = e.target === input;
    if (!alone && !svg.contains(e.target)) return;
    if (e.key === 'Escape') {
        if (helpBox) toggleHelp(false);
        else if (viewOpen) openView(false);
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
    } else if (VIEWS.some(v => v[1] === e.key)) {
        toggleView(VIEWS.find(v => v[1] === e.key)[0]);
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
svg.addEventListener('click', e => { const f = frameAt(e.target); if (f) zoomTo(f); });
svg.addEventListener('mousemove', e => {
    const f = frameAt(e.target);
    if (f) { tell(f); showCard(f, e); } else if (cardOf) { tell(null); hideCard(); }
});
svg.addEventListener('mouseleave', () => { tell(null); hideCard(); });
// Not on the drawing itself: a listener for focus would make it take the focus at a click.
document.addEventListener('focusin', e => { const f = frameAt(e.target); if (f) tell(f); });
document.addEventListener('keydown', onKey);
input.addEventListener('input', searchSoon);
input.addEventListener('keydown', e => { if (e.key === 'Enter') { search(); save(); } });
exact.addEventListener('click', () => { setExact(!state.exact); search(); save(); });
reset.addEventListener('click', () => zoomTo(root));
viewButton.addEventListener('click', () => openView(!viewOpen));
helpButton.addEventListener('click', () => toggleHelp(!helpBox));
window.addEventListener('scroll', () => { hideCard(); place(); }, {passive: true, capture: true});
window.addEventListener('resize', resize);
window.addEventListener('popstate', fromAddress);
window.addEventListener('hashchange', fromAddress);
if (window.ResizeObserver && !alone) new ResizeObserver(resize).observe(svg.parentNode);

restore();
resize();
draw();
if (state.query) search();
tell(null);
walkTo(state.zoom, false);
// What matters most stands at the root.
function scrollToRoot() {
    window.scrollTo(0, state.view.flames ? svg.scrollHeight || 1e9 : 0);
}
if (alone && state.view.flames && window.scrollY === 0) scrollToRoot();
