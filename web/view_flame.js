// Flame graph, icicle, callers first, left-heavy, by name, or by time: a call tree on a canvas.
import { el, button, share, moment, count, exactly, seen, put } from './view_text.js';
import { openMenu } from './view_menu.js';
import { colour, paper, fit, widthOf, fontOf, useFont, steps, momentText, isDark, showCard, hideCard, onTheme } from './view_charts.js';

const ROW = 20, FEW = 10, ALPHAS = [1, 0.55, 0.45];

// The children of all nodes side by side: those of i are list[first[i]] to list[first[i + 1]] without it.
function childrenOf(tree) {
    const n = tree.n, parent = tree.parent, first = new Uint32Array(n + 1), list = new Uint32Array(n);
    for (let i = 1; i < n; i++) first[parent[i] + 1]++;
    for (let i = 0; i < n; i++) first[i + 1] += first[i];
    const next = first.slice();
    for (let i = 1; i < n; i++) list[next[parent[i]]++] = i;
    return {first, list};
}

// Most nodes have a few children: these are put in order without a call.
function sortPart(list, from, to, before) {
    if (to - from > 24) {
        list.subarray(from, to).sort(before);
        return;
    }
    for (let k = from + 1; k < to; k++) {
        const own = list[k];
        let at = k;
        for (; at > from && before(list[at - 1], own) > 0; at--) list[at] = list[at - 1];
        list[at] = own;
    }
}

// By time, threads run beside each other: each has rows of its own below those of the one before. Returns the last row.
function stackThreads(tree, threads, depth) {
    const top = new Uint32Array(tree.n), lowest = new Uint32Array(tree.n), shift = new Uint32Array(tree.n);
    for (let i = 1; i < tree.n; i++) {
        top[i] = tree.parent[i] === 0 ? i : top[tree.parent[i]];
        lowest[top[i]] = Math.max(lowest[top[i]], depth[i]);
    }
    let rows = 0;
    for (const thread of threads) {
        shift[thread] = rows;
        rows += lowest[thread];
    }
    for (let i = 1; i < tree.n; i++) depth[i] += shift[top[i]];
    return rows;
}

// Parents come before their children; x and width as shares of the root, or of the time.
export function layout(tree, order) {
    const n = tree.n, total = tree.total, {first, list} = childrenOf(tree);
    const x = new Float64Array(n), w = new Float64Array(n), depth = new Uint32Array(n);
    const chart = !!tree.start;
    const whole = chart ? tree.span : Math.max(1, total[0]);
    const name = i => tree.labels[tree.label[i]].name;
    const before = order === 'heavy' ? (a, b) => total[b] - total[a] || a - b : (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a - b;
    let deepest = 0;
    w[0] = 1;
    for (let i = 0; i < n; i++) {
        const from = first[i], to = first[i + 1], down = depth[i] + 1;
        if (to - from > 1 && !chart) sortPart(list, from, to, before);
        if (to > from && down > deepest) deepest = down;
        let at = x[i];
        for (let k = from; k < to; k++) {
            const child = list[k];
            depth[child] = down;
            if (chart) {
                x[child] = tree.start[child] / whole;
                w[child] = (tree.extent ? tree.extent[child] : total[child]) / whole;
            } else {
                x[child] = at;
                at += w[child] = total[child] / whole;
            }
        }
    }
    if (chart) deepest = stackThreads(tree, list.subarray(first[0], first[1]), depth);
    return {first, list, x, w, depth, deepest, children: i => list.subarray(first[i], first[i + 1])};
}

// What the app gives: palette, state, value texts. PAINT(i) may give a colour of its own.
export class Flame {
    constructor(app, options) {
        this.app = app;
        this.options = options || {};
        this.canvas = el('canvas', {tabindex: 0, role: 'application',
            'aria-label': 'Flame graph. Arrows walk, Enter zooms, Escape zooms out.'});
        this.live = el('div.hide', {'aria-live': 'polite'});
        this.box = el('div.scroll', null, this.canvas, this.live);
        this.zoom = 0;
        this.chosen = -1;
        this.hover = -1;
        this.canvas.addEventListener('pointermove', e => this.move(e));
        this.canvas.addEventListener('pointerleave', () => this.point(-1));
        this.canvas.addEventListener('click', e => this.click(e));
        this.canvas.addEventListener('contextmenu', e => this.menu(e));
        this.canvas.addEventListener('keydown', e => this.key(e));
        this.box.addEventListener('scroll', () => { hideCard(); this.draw(); });
        new ResizeObserver(() => this.draw()).observe(this.box);
        onTheme(() => this.draw());
    }
    show(tree, order, flames) {
        this.tree = tree;
        this.flames = flames;
        this.place = layout(tree, order);
        this.groups = new Set(tree.groups);
        this.shares = null;
        this.unsure = null;
        this.lit = null;
        this.chosen = -1;
        this.hover = -1;
        this.zoom = this.nodeOf(this.app.state.zoom || []);
        this.draw();
        if (flames) this.box.scrollTop = this.box.scrollHeight;
    }
    name(i) { return i === 0 ? this.options.root || 'all' : this.tree.labels[this.tree.label[i]].name; }
    pathOf(i) {
        const names = [];
        for (; i > 0; i = this.tree.parent[i]) names.push(this.name(i));
        return names.reverse();
    }
    // The same without threads and processes that stand above the frames.
    framesTo(i) {
        const names = [];
        for (; i > 0; i = this.tree.parent[i]) if (!this.groups.has(i)) names.push(this.name(i));
        return names.reverse();
    }
    // Outline the frames of one stack, innermost first; null ends it.
    lightStack(stack, thread) {
        this.lit = new Set();
        if (stack && this.tree && !this.tree.start) {
            const names = this.app.state.inverted ? stack : [...stack].reverse();
            const tops = [...this.place.children(0)].flatMap(c => !this.groups.has(c) ? [c] : this.name(c) === thread ? [...this.place.children(c)] : []);
            for (const top of tops) this.lightFrom(top, names);
        }
        this.draw();
    }
    lightFrom(at, names) {
        for (let k = 0; k < names.length && at !== undefined && this.name(at) === names[k]; k++) {
            this.lit.add(at);
            at = this.place.children(at).find(c => this.name(c) === names[k + 1]);
        }
    }
    nodeOf(names) {
        let at = 0;
        for (const name of names) {
            const next = this.place.children(at).find(c => this.name(c) === name);
            if (next === undefined) break;
            at = next;
        }
        return at;
    }
    shade(i) {
        if (i === 0 || this.groups.has(i)) return colour('line');
        if (this.options.paint) return this.options.paint(i);
        const l = this.tree.labels[this.tree.label[i]];
        return this.app.palette.families[l.family][l.step][isDark() ? 1 : 0];
    }
    rowY(depth) { return this.flames ? this.height - (depth + 1) * ROW : depth * ROW; }
    // Only what is in sight is drawn: of a stack 100,000 deep, a screen.
    draw() {
        if (!this.tree) return;
        const width = this.box.clientWidth, p = this.place;
        this.height = Math.max(this.box.clientHeight - 2, (p.deepest + 1) * ROW + 4);
        const tall = Math.min(this.height, this.box.clientHeight), top = this.box.scrollTop;
        this.canvas.style.width = width + 'px';
        this.canvas.style.position = 'sticky';
        this.canvas.style.top = '0';
        this.canvas.style.marginBottom = Math.max(0, this.height - tall) + 'px';
        const c = paper(this.canvas, width, tall);
        useFont(c, fontOf(12));
        c.textBaseline = 'middle';
        const zx = p.x[this.zoom], zw = p.w[this.zoom] || 1;
        const match = this.app.matcher();
        this.width = width;
        this.drawn = []; // four numbers each: node, left, top, width
        const stack = [0], paint = ALPHAS.map(() => new Map()), drawn = this.drawn, scale = width / zw, from = zx * scale, shallow = p.depth[this.zoom];
        const column = new Int32Array(p.deepest + 1).fill(-1); // the last pixel that a row painted for a frame narrower than one
        while (stack.length) {
            const i = stack.pop();
            let left = p.x[i] * scale - from, w = p.w[i] * scale;
            if (left + w <= 0 || left >= width || w < 0.35) continue;
            for (let k = p.first[i]; k < p.first[i + 1]; k++) stack.push(p.list[k]);
            const y = this.rowY(p.depth[i]) - top;
            if (y + ROW < 0 || y > tall) continue;
            if (left < 0) { w += left; left = 0; }
            w = Math.min(w, width - left);
            drawn.push(i, left, y, w);
            if (w < 1 && column[p.depth[i]] === (left | 0)) continue;
            if (w < 1) column[p.depth[i]] = left | 0;
            const hit = match && i > 0 && match(this.name(i)), own = paint[this.alphaOf(i, (p.depth[i] < shallow && !this.tree.start) || (match && !hit))];
            const shade = hit ? colour('hit') : this.shade(i), same = own.get(shade);
            if (same) same.push(drawn.length - 4);
            else own.set(shade, [drawn.length - 4]);
        }
        this.drawFrames(c, paint);
        for (let k = 0; k < drawn.length; k += 4) if (drawn[k + 3] > 6 || this.lit || drawn[k] === this.chosen || drawn[k] === this.hover) this.drawOver(c, drawn[k], drawn[k + 1], drawn[k + 2], drawn[k + 3], match);
        c.globalAlpha = 1;
        if (this.tree.start && this.tree.extent) this.drawTimes(c, (this.from() + zx * this.tree.span) / 1e9, (this.from() + (zx + zw) * this.tree.span) / 1e9, this.rowY(0) - top);
    }
    // By time: when the first sample that is selected was taken, as the timeline counts.
    from() { return (this.tree.from_s || 0) * 1e9; }
    // By time the root is the axis.
    drawTimes(c, from, to, y) {
        const {step, marks} = steps(from, to, this.width / 110);
        useFont(c, fontOf(11));
        c.fillStyle = colour('fg');
        for (const s of marks) {
            const x = Math.round((s - from) / (to - from) * this.width);
            if (x < 40 || x > this.width - 50) continue;
            c.fillRect(x, y + 2, 1, ROW - 5);
            c.fillText(momentText(s, step, to), x + 4, y + ROW / 2 - 0.5);
        }
    }
    // Which of ALPHAS.
    alphaOf(i, pale) {
        const samples = this.tree.total_samples;
        return pale ? 2 : samples && samples[i] < FEW && i > 0 && !this.groups.has(i) ? 1 : 0;
    }
    // Those of one colour together: a canvas reads each colour that it is given.
    drawFrames(c, paint) {
        const d = this.drawn;
        paint.forEach((own, alpha) => {
            c.globalAlpha = ALPHAS[alpha];
            for (const [shade, list] of own) {
                c.fillStyle = shade;
                for (const k of list) c.fillRect(d[k + 1], d[k + 2], Math.max(0.4, d[k + 3] - (d[k + 3] > 2 ? 0.7 : 0)), ROW - 1);
            }
        });
    }
    // Name, uncertain edge, and what is lit, chosen or pointed at.
    drawOver(c, i, left, y, w, match) {
        const t = this.tree, hit = w > 22 && match && i > 0 && match(this.name(i));
        c.globalAlpha = this.place.depth[i] < this.place.depth[this.zoom] && !t.start ? 0.7 : 1;
        if (w > 22) {
            c.fillStyle = hit ? colour('bg') : i > 0 && !this.groups.has(i) && !this.options.paint ? this.app.palette.text[isDark() ? 1 : 0] : colour('fg');
            const kind = i > 0 && t.labels[t.label[i]].kind;
            useFont(c, (kind === 3 ? 'italic ' : '') + fontOf(12, i === this.chosen ? 600 : 400));
            c.fillText(fit(c, this.name(i), w - 9), left + 5, y + ROW / 2 - 0.5);
            this.drawShare(c, i, left, y, w);
        }
        // Not known to be larger than the next: a dashed edge between the two.
        if (this.unsure && this.unsure.has(i) && w > 6) {
            c.strokeStyle = colour('fg');
            c.setLineDash([2, 3]);
            c.lineWidth = 1;
            c.beginPath();
            c.moveTo(left + w - 0.5, y + 1);
            c.lineTo(left + w - 0.5, y + ROW - 2);
            c.stroke();
            c.setLineDash([]);
        }
        if (this.lit && this.lit.has(i)) {
            c.fillStyle = colour('hit');
            c.fillRect(left, y + ROW - 4, Math.max(1, w - 0.7), 3);
        }
        if (i === this.chosen || i === this.hover) {
            c.strokeStyle = colour('fg');
            c.lineWidth = i === this.chosen ? 2 : 1;
            c.strokeRect(left + 0.75, y + 0.75, Math.max(1, w - 2), ROW - 2.5);
        }
    }
    // Its share with the interval at the right end, where there is room beside the name; '' where there is none.
    shareOn(c, i, w) {
        if (i === 0 || w < 120 || this.options.facts || this.tree.start) return '';
        const s = this.shares && this.shares[i], text = share(this.tree.total[i] / (this.tree.total[0] || 1), s && s[0], s && s[1]);
        return w - 9 - widthOf(c, seen(this.name(i))) > widthOf(c, text) + 18 ? text : '';
    }
    drawShare(c, i, left, y, w) {
        const text = this.shareOn(c, i, w);
        if (!text) return;
        const pale = c.globalAlpha;
        c.globalAlpha = 0.72 * pale;
        c.fillText(text, left + w - 6 - widthOf(c, text), y + ROW / 2 - 0.5);
        c.globalAlpha = pale;
    }
    // Intervals come later than the picture. Siblings whose intervals overlap have no certain order.
    setShares(shares) {
        this.shares = shares;
        this.unsure = new Set();
        if (shares && !this.tree.start)
            for (let i = 0, {first, list} = this.place; i < this.tree.n; i++)
                for (let k = first[i]; k + 1 < first[i + 1]; k++) {
                    const a = shares[list[k]], b = shares[list[k + 1]];
                    if (a && b && a[0] < b[1] && b[0] < a[1]) this.unsure.add(list[k]);
                }
        this.draw();
    }
    find(e) {
        const box = this.canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
        const d = this.drawn || [];
        for (let k = 0; k < d.length; k += 4) if (x >= d[k + 1] && x < d[k + 1] + d[k + 3] && y >= d[k + 2] && y < d[k + 2] + ROW) return d[k];
        return -1;
    }
    facts(i) {
        if (this.options.facts) return this.options.facts(i);
        const t = this.tree, whole = t.total[0] || 1, s = this.shares && this.shares[i], l = i > 0 ? t.labels[t.label[i]] : {};
        const parent = i > 0 ? t.parent[i] : 0, up = t.total[parent] || 1;
        const samples = t.total_samples && t.total_samples[i];
        return [
            ['total', `${share(t.total[i] / whole, s && s[0], s && s[1])} · ${this.app.amount(t.total[i])}`],
            ['self', `${share(t.self[i] / whole, s && s[2], s && s[3])} · ${this.app.amount(t.self[i])}`],
            ['samples', t.total_samples ? count(samples) + (samples < FEW && i > 0 ? ' (too few to rely on)' : '') : ''],
            ['of its caller', i > 0 && !t.start ? share(t.total[i] / up) + ' of ' + this.name(parent) : ''],
            ['time', t.start && t.extent ? `${moment(this.from() + t.start[i], t.span)} to ${moment(this.from() + t.start[i] + t.extent[i], t.span)}` : ''],
            ['module', l.module], ['file', l.file ? l.file + (l.line ? ':' + l.line : '') : ''],
            ['kind', ['', 'kernel', 'compiled at run time', 'inlined', 'of the waking thread'][l.kind || 0]],
        ];
    }
    point(i, e) {
        if (i !== this.hover) {
            this.hover = i;
            this.draw();
            clearTimeout(this.later);
            this.later = setTimeout(() => this.app.light(i > 0 && !this.groups.has(i) ? exactly(this.name(i)) : null), 140);
        }
        if (i < 0) hideCard();
        else if (e) showCard(e.clientX, e.clientY, this.name(i), this.facts(i));
    }
    move(e) { this.point(this.find(e), e); }
    click(e) {
        const i = this.find(e);
        if (i < 0) return;
        this.choose(i);
        this.zoomTo(i);
    }
    choose(i) {
        this.chosen = i;
        const own = i > 0 && !this.groups.has(i), whole = own && this.tree.labels[this.tree.label[i]];
        this.app.choose(own ? this.name(i) : null, own && !this.options.paint ? {module: whole.module, path: this.tree.start || this.app.state.inverted ? null : this.framesTo(i)} : null);
        put(this.live, this.name(i) + ', ' + this.facts(i).slice(0, 3).map(f => f.join(' ')).join(', '));
        const y = this.rowY(this.place.depth[i]), box = this.box;
        if (y < box.scrollTop) box.scrollTop = y;
        else if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
        this.draw();
    }
    // What can be done with the frame; it is chosen, and not zoomed to.
    menu(e) {
        const i = this.find(e);
        if (i <= 0 || this.options.paint) return;
        e.preventDefault();
        hideCard();
        this.choose(i);
        const zoom = ['Zoom to it', () => this.zoomTo(i), 'Enter'], name = this.name(i);
        openMenu(e.clientX, e.clientY, name, this.groups.has(i) ? [zoom, null, ...this.app.rowActions('thread', name)] : [zoom, null, ...this.app.actions(name, this.app.chosenAt)]);
    }
    // Where the chosen frame is seen.
    placeOf() {
        const box = this.canvas.getBoundingClientRect(), d = this.drawn || [];
        for (let k = 0; k < d.length; k += 4) if (d[k] === this.chosen) return [box.left + Math.max(0, d[k + 1]) + 12, box.top + d[k + 2] + ROW];
        return [box.left + 20, box.top + 20];
    }
    zoomTo(i) {
        hideCard();
        this.zoom = i;
        this.draw();
        this.app.change({zoom: this.pathOf(i)}, {quiet: true});
    }
    key(e) {
        if (e.ctrlKey || e.metaKey || e.altKey || !this.tree) return;
        const at = this.chosen < 0 ? this.zoom : this.chosen, p = this.place;
        const siblings = at > 0 ? p.children(this.tree.parent[at]) : [0], k = siblings.indexOf(at);
        const up = () => { if (at > 0) this.choose(this.tree.parent[at]); };
        const down = () => { const list = p.children(at); if (list.length) this.choose(list.reduce((a, b) => p.w[b] > p.w[a] ? b : a)); };
        const act = {
            ArrowUp: this.flames ? down : up,
            ArrowDown: this.flames ? up : down,
            ArrowLeft: () => { if (k > 0) this.choose(siblings[k - 1]); },
            ArrowRight: () => { if (k + 1 < siblings.length) this.choose(siblings[k + 1]); },
            Enter: () => this.zoomTo(at),
            Escape: () => this.zoomTo(0),
            Home: () => this.choose(0),
        }[e.key];
        if (!act) return;
        e.preventDefault();
        e.stopPropagation();
        act();
    }
    // What is seen, as a drawing for other programs.
    svg() {
        const esc = s => seen(s).replace(/[<>&"]/g, ch => ({'<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;'})[ch]);
        const c = this.canvas.getContext('2d'), parts = [];
        for (let k = 0; k < this.drawn.length; k += 4) {
            const [i, left, y, w] = this.drawn.slice(k, k + 4);
            parts.push(`<g><title>${esc(this.name(i) + ' ' + this.facts(i).slice(0, 3).map(f => f.join(' ')).join(', '))}</title>` +
                `<rect x="${left.toFixed(1)}" y="${y}" width="${Math.max(0.4, w - 0.7).toFixed(1)}" height="${ROW - 1}" fill="${this.shade(i)}"/>` +
                (w > 22 ? `<text x="${(left + 5).toFixed(1)}" y="${y + 14}">${esc(fit(c, this.name(i), w - 9))}</text>` : '') +
                (this.shareOn(c, i, w) ? `<text x="${(left + w - 6).toFixed(1)}" y="${y + 14}" text-anchor="end" opacity="0.72">${esc(this.shareOn(c, i, w))}</text>` : '') + '</g>');
        }
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.box.clientHeight}" font-family="sans-serif" font-size="12" fill="${colour('fg')}"><rect width="100%" height="100%" fill="${colour('bg')}"/>${parts.join('')}</svg>`;
    }
}

export class FlamePane {
    static early = true; // asks without an answer to 'about'
    constructor(app) {
        this.app = app;
        this.flame = new Flame(app);
        this.orders = [['heavy', 'Left-heavy', 'Largest first'], ['name', 'By name', 'Sorted as in kelvin flame'], ['time', 'By time', 'A flame chart: each thread, in time order']];
        this.buttons = {};
        this.tools = el('div.tools');
        for (const [id, text, title] of this.orders)
            this.tools.append(this.buttons[id] = button(text, title, () => app.change({order: id, zoom: []})));
        this.tools.append(
            this.buttons.invert = button('Callers first', 'Start at the functions that ran (t)', () => app.change({inverted: !app.state.inverted, zoom: []})),
            this.buttons.flames = button('Root below', 'Flames instead of icicles', () => app.change({flames: !app.state.flames})),
            this.buttons.out = button('Zoom out', 'Escape', () => this.flame.zoomTo(0)),
            el('span.gap'), this.legend = el('span.legend'),
            button('Copy SVG', 'Copy the visible part as SVG text', () => app.copy(this.flame.svg(), 'SVG'), {class: 'wide'}), button('Save SVG', 'Save the visible part as a file', () => app.save('flame.svg', this.flame.svg(), 'image/svg+xml')));
        this.element = el('div.pane', null, this.tools, this.flame.box);
    }
    found() { this.flame.draw(); }
    async update() {
        const s = this.app.state, chart = s.order === 'time';
        for (const [id] of this.orders) this.buttons[id].setAttribute('aria-pressed', s.order === id);
        this.buttons.invert.setAttribute('aria-pressed', s.inverted);
        this.buttons.invert.disabled = chart;
        this.buttons.flames.setAttribute('aria-pressed', s.flames);
        this.buttons.out.disabled = !s.zoom.length;
        const question = {...this.app.selection(), ask: 'tree', packed: true, least: 0.0003, group: chart ? 'tid' : s.inverted ? 'none' : 'comm', inverted: s.inverted && !chart, chart};
        const key = JSON.stringify([question, s.order, s.flames]);
        if (key === this.asked) {
            this.flame.zoom = this.flame.nodeOf(s.zoom);
            this.flame.draw();
            return;
        }
        const tree = await this.app.ask('tree', question);
        if (!tree) return;
        if (tree.error) {
            this.app.problem(this.element, tree.error);
            this.asked = null;
            return;
        }
        this.app.problem(this.element, null);
        this.asked = key;
        if (chart) tree.span = tree.start.reduce((end, a, i) => Math.max(end, a + (tree.extent ? tree.extent[i] : tree.total[i])), 1);
        this.flame.show(tree, s.order, s.flames);
        this.showLegend(tree);
        performance.mark('flame');
        this.unsized = chart ? null : {...question, ask: 'tree_shares'};
    }
    // Intervals come behind the picture, and not for each of the ranges that the pointer passes.
    async finish() {
        const question = this.unsized, key = this.asked;
        if (!question) return;
        await new Promise(done => setTimeout(done, 60));
        if (this.unsized !== question) return;
        this.unsized = null;
        const shares = await this.app.ask('shares', question);
        if (shares && !shares.error && this.asked === key) this.flame.setShares(shares.shares);
    }
    showLegend(tree) {
        const families = new Set(tree.labels.filter(l => l).map(l => l.family)), p = this.app.palette;
        this.legend.replaceChildren();
        p.legend.forEach((word, f) => {
            if (!word || !families.has(f) || families.size < 2) return;
            const box = el('b');
            box.style.background = p.families[f][8][isDark() ? 1 : 0];
            this.legend.append(el('span.wide', null, box, word));
        });
    }
}
