// The call tree and its inverse as tables that unfold; callers and callees of a function.
import { el, button, share, whisker, count, put } from './view_text.js';

// Deep calls are moved less and less to the right: their names need the room.
const indent = (depth, step) => step * (depth < 16 ? depth : depth < 60 ? 16 + (depth - 16) / 5 : 25);

const REVEALED = 40; // calls that a search unfolds

export class TreePane {
    static early = true;
    constructor(app) {
        this.app = app;
        this.rows = el('tbody');
        this.invert = button('Callers first', 'Start at the functions that ran (t)', () => app.change({inverted: !app.state.inverted}));
        this.box = el('div.scroll', {tabindex: 0, onkeydown: e => this.key(e)},
            el('table.tree', {role: 'treegrid', 'aria-label': 'Call tree'}, el('thead', null, el('tr', null, el('th.r', null, 'total'), el('th.mid'), this.amount = el('th.r.mid'), el('th.r', null, 'self'), el('th.r.mid', null, 'samples'), el('th', null, 'function'), el('th.mid', null, 'module'))), this.rows));
        this.element = el('div.pane', null, el('div.tools', null, this.invert, button('Unfold the hottest path', 'The largest callee of each', () => this.hottest()),
            el('span.note', null, 'Right and left arrow unfold and fold; * unfolds all below.')), this.box);
    }
    async update() {
        const s = this.app.state;
        this.invert.setAttribute('aria-pressed', s.inverted);
        const question = {...this.app.selection(), ask: 'tree', packed: true, least: 0.0005, inverted: s.inverted, group: 'none'};
        const key = JSON.stringify(question);
        if (key === this.asked) return this.seek();
        const tree = await this.app.ask('calltree', question);
        if (!tree) return;
        this.asked = tree.error ? null : key;
        this.app.problem(this.element, tree.error || null);
        if (tree.error) return;
        this.tree = tree;
        this.shares = null;
        this.children = Array.from({length: tree.n}, () => []);
        for (let i = 1; i < tree.n; i++) this.children[tree.parent[i]].push(i);
        for (const list of this.children) list.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
        this.amount.textContent = this.app.about && this.app.about.noun === 'time' ? 'time' : 'value';
        this.fold();
        this.hottest();
        this.sought = '';
        await this.seek();
        const shares = await this.app.ask('calltree_shares', {...question, ask: 'tree_shares'});
        if (!shares || shares.error || this.asked !== key) return;
        this.shares = shares.shares;
        for (const row of this.rows.children) this.fill(row);
    }
    fold() { this.rows.replaceChildren(...this.children[0].map(i => this.row(i, 0))); }
    // What is searched for is marked, and unfolded where it has the most.
    async seek() {
        const text = this.app.state.search;
        await this.app.matchAll(this.tree.labels.filter(l => l).map(l => l.name));
        if (text !== this.app.state.search) return;
        this.match = this.app.matcher();
        if (text !== this.sought && this.match) this.reveal();
        this.sought = text;
        for (const row of this.rows.children) row.classList.toggle('hit', !!this.match && this.match(row.dataset.name));
    }
    reveal() {
        const t = this.tree, hit = t.labels.map(l => !!l && this.match(l.name)), found = [], above = new Set();
        for (let i = 1; i < t.n; i++) if (hit[t.label[i]]) found.push(i);
        if (!found.length) return;
        for (const i of found.sort((a, b) => t.total[b] - t.total[a]).slice(0, REVEALED)) for (let up = t.parent[i]; up > 0 && !above.has(up); up = t.parent[up]) above.add(up);
        this.fold();
        for (let row = this.rows.firstElementChild; row; row = row.nextElementSibling) if (above.has(+row.dataset.node)) this.toggle(row, true);
        const first = [...this.rows.children].find(row => row.classList.contains('hit'));
        if (first) this.box.scrollTop += first.getBoundingClientRect().top - this.box.getBoundingClientRect().top - this.box.clientHeight / 3;
    }
    row(i, depth) {
        const t = this.tree, l = t.labels[t.label[i]], inner = this.children[i].length;
        const fold = el('span.fold', {onclick: e => { e.stopPropagation(); this.toggle(row); }}, inner ? '▸' : '');
        const row = el('tr', {role: 'row', 'data-node': i, 'data-depth': depth, 'data-name': l.name, 'aria-level': depth + 1, 'aria-expanded': inner ? 'false' : null, tabindex: -1, title: l.name + (l.file ? '\n' + l.file + (l.line ? ':' + l.line : '') : ''),
            onclick: () => this.choose(row), ondblclick: () => this.toggle(row)},
            el('td.r'), el('td.w.mid'), el('td.r.mid', null, this.app.amount(t.total[i])), el('td.r'), el('td.r.mid', null, t.total_samples ? count(t.total_samples[i]) : '-'),
            el('td.n', null, fold, depth > 60 ? `(${depth}) ` : '', l.name), el('td.m.mid', null, l.module));
        fold.style.marginLeft = indent(depth, this.box.clientWidth < 700 ? 5 : 14) + 'px';
        if (this.match && this.match(l.name)) row.classList.add('hit');
        this.fill(row);
        return row;
    }
    fill(row) {
        const t = this.tree, i = +row.dataset.node, whole = t.total[0] || 1, s = this.shares && this.shares[i];
        row.cells[0].textContent = share(t.total[i] / whole, s && s[0], s && s[1]);
        row.cells[1].replaceChildren(whisker(t.total[i] / whole, s && s[0], s && s[1], 1));
        row.cells[3].textContent = t.self[i] ? share(t.self[i] / whole, s && s[2], s && s[3]) : '';
        if (t.total_samples && t.total_samples[i] < 10) row.classList.add('few');
    }
    toggle(row, on) {
        const i = +row.dataset.node, depth = +row.dataset.depth, open = row.getAttribute('aria-expanded') === 'true';
        if (!this.children[i].length || on === open) return;
        row.setAttribute('aria-expanded', !open);
        row.querySelector('.fold').textContent = open ? '▸' : '▾';
        if (open) {
            while (row.nextElementSibling && +row.nextElementSibling.dataset.depth > depth) row.nextElementSibling.remove();
        } else {
            row.after(...this.children[i].map(c => this.row(c, depth + 1)));
        }
    }
    hottest() {
        let row = this.rows.firstElementChild;
        for (let k = 0; row && k < 200; k++) {
            this.toggle(row, true);
            const next = row.nextElementSibling;
            if (!next || +next.dataset.depth <= +row.dataset.depth || this.tree.total[+next.dataset.node] < 0.5 * this.tree.total[+row.dataset.node]) break;
            row = next;
        }
    }
    choose(row) {
        for (const r of this.rows.querySelectorAll('[aria-selected=true]')) r.setAttribute('aria-selected', false);
        row.setAttribute('aria-selected', true);
        row.focus({preventScroll: true});
        row.scrollIntoView({block: 'nearest'});
        this.app.choose(row.dataset.name, this.whereIs(row));
    }
    whereIs(row) {
        const t = this.tree, path = [];
        for (let i = +row.dataset.node; i > 0; i = t.parent[i]) path.unshift(t.labels[t.label[i]].name);
        return {module: t.labels[t.label[+row.dataset.node]].module, path: this.app.state.inverted ? null : path};
    }
    key(e) {
        const now = document.activeElement.closest && document.activeElement.closest('tr[data-node]');
        const row = now || this.rows.firstElementChild;
        if (!row) return;
        const open = row.getAttribute('aria-expanded') === 'true';
        const act = {
            ArrowDown: () => this.choose(now ? row.nextElementSibling || row : row),
            ArrowUp: () => this.choose(row.previousElementSibling || row),
            ArrowRight: () => open ? this.choose(row.nextElementSibling || row) : this.toggle(row, true),
            ArrowLeft: () => {
                if (open) { this.toggle(row, false); return; }
                let up = row.previousElementSibling;
                while (up && +up.dataset.depth >= +row.dataset.depth) up = up.previousElementSibling;
                if (up) this.choose(up);
            },
            '*': () => this.unfold(row),
        }[e.key];
        if (!act) return;
        e.preventDefault();
        e.stopPropagation();
        act();
    }
    unfold(row) {
        const depth = +row.dataset.depth;
        let n = 0;
        for (let r = row; r && n < 2000; r = r.nextElementSibling, n++) {
            if (r !== row && +r.dataset.depth <= depth) break;
            this.toggle(r, true);
        }
    }
}

export class CallersPane {
    constructor(app) {
        this.app = app;
        this.input = el('input', {type: 'search', placeholder: 'Function, or /regular expression/', 'aria-label': 'Function',
            onchange: () => this.input.value && app.change({fn: this.input.value})});
        this.note = el('span.note', {role: 'status'});
        this.callers = el('tbody');
        this.callees = el('tbody');
        const side = (title, rows) => el('section', null, el('h2', null, title), el('div.scroll', null, el('table', {'aria-label': title},
            el('thead', null, el('tr', null, el('th.r', null, 'total'), el('th.mid'), el('th.r', null, 'part'), el('th', null, 'function'))), rows)));
        this.element = el('div.pane', null, el('div.tools', null, this.input, this.note), el('div.split', null, side('Called by', this.callers), side('Calls', this.callees)));
    }
    async update() {
        const fn = this.app.state.fn || this.app.chosen || await this.first();
        if (!fn) return;
        const pattern = /^\/(.*)\/$/.exec(fn);
        this.input.value = fn;
        const answer = await this.app.ask('calls', {...this.app.selection(), ask: 'calls', ...(pattern ? {pattern: pattern[1]} : {function: fn}), top: 200});
        if (!answer) return;
        this.callers.replaceChildren();
        this.callees.replaceChildren();
        if (answer.error) {
            put(this.note, answer.error);
            return;
        }
        const f = answer.function;
        this.note.textContent = `self ${share(f.self.share, f.self.low, f.self.high)}, total ${share(f.total.share, f.total.low, f.total.high)}`;
        this.fill(this.callers, f.callers);
        this.fill(this.callees, f.callees);
    }
    async first() {
        const list = await this.app.ask('first', {...this.app.selection(), ask: 'list', by: 'function', sort: 'self', top: 1});
        return list && !list.error && list.rows.length ? list.rows[0].name : null;
    }
    fill(rows, list) {
        const full = Math.max(1e-9, ...list.map(c => c.total.high || c.total.share));
        for (const c of list) {
            const go = () => { if (!c.name.startsWith('(')) this.app.change({fn: c.name}); };
            rows.append(el('tr', {title: c.name, 'data-name': c.name, tabindex: 0, onclick: go, onkeydown: e => { if (e.key === 'Enter') go(); }},
                el('td.r', null, share(c.total.share, c.total.low, c.total.high)), el('td.w.mid', null, whisker(c.total.share, c.total.low, c.total.high, full)),
                el('td.r', null, share(c.part)), el('td.n', null, c.name)));
        }
    }
}
