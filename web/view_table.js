// Functions, modules, threads or lines with self and total, each with its interval.
import { el, button, whisker, count, micro, oneLine } from './view_text.js';
import { Rows } from './view_rows.js';

// Each row with the words that belong to it.
const joined = list => ({...list, rows: list.rows.map((row, i) => ({...row, words: list.words[i]}))});

const DEFAULT_BYS = ['function', 'module', 'file', 'line', 'thread'], COPIED = 10000; // rows

export class TablePane {
    constructor(app) {
        this.app = app;
        this.by = el('select', {'aria-label': 'Group by', onchange: () => app.change({by: this.by.value})},
            ...[['function', 'by function'], ['module', 'by module'], ['file', 'by source file'], ['line', 'by source line'], ['thread', 'by thread'], ['process', 'by process'], ...(app.about.panes.scopes ? [['scope', 'by scope']] : [])].map(([v, t]) => el('option', {value: v}, t)));
        this.filter = el('input', {type: 'search', placeholder: 'Filter names (regular expression)', 'aria-label': 'Filter names',
            oninput: () => { clearTimeout(this.later); this.later = setTimeout(() => app.change({filter: this.filter.value}, {replace: true}), 150); }});
        this.note = el('span.note', {role: 'status'});
        this.table = new Rows('Functions', 'Functions: arrows choose a row, Enter shows its callers', {ask: (skip, top) => this.more(skip, top), make: r => this.row(r), placed: () => this.mark(),
            chosen: row => this.choose(row), enter: row => app.state.by === 'function' && app.change({tab: 'callers', fn: row.dataset.name})});
        this.head = this.table.head;
        this.rows = this.table.body;
        this.box = this.table.box;
        this.element = el('div.pane', null,
            el('div.tools', null, this.by, this.filter, this.note, el('span.gap'), button('Copy table', 'As tab-separated text', () => this.copy())), this.box);
    }
    columns() {
        const s = this.app.state, noun = this.app.about.noun === 'time' ? 'time' : 'value';
        const sorter = (id, text, title) => button(text, 'Sort by ' + title, () => this.app.change({sort: id}));
        const sorted = (id, cell, text) => el(cell, {'aria-sort': s.sort === id ? (id === 'name' ? 'ascending' : 'descending') : null}, sorter(id, text, id));
        this.table.titles(sorted('self', 'th.r', 'self'), el('th.mid'), el('th.r.wide', null, sorter('self', noun, 'self ' + noun)),
            sorted('total', 'th.r', 'total'), el('th.wide'), el('th.r.wide', null, sorter('total', noun, 'total ' + noun)),
            sorted('samples', 'th.r.mid', 'samples'), sorted('name', 'th', s.by),
            el('th.mid', null, s.by === 'function' ? 'module' : ''), el('th.wide', null, s.by === 'function' ? 'file' : ''));
    }
    question(skip, top) {
        const s = this.app.state;
        return {...this.app.selection(), ask: 'list', by: s.by, sort: s.sort, pattern: s.filter || null, skip, top: top || Rows.page};
    }
    async update() {
        const s = this.app.state;
        if (![...this.by.options].some(o => o.value === s.by)) this.by.append(el('option', {value: s.by}, 'by ' + s.by)); // a label
        this.by.value = s.by;
        if (document.activeElement !== this.filter) this.filter.value = s.filter;
        const key = JSON.stringify(this.question(0));
        if (key === this.asked) { this.mark(); return; }
        this.asked = key;
        const list = await this.app.ask('list', this.question(0));
        if (!list) return;
        this.columns();
        this.explain(list);
        if (list.error) {
            this.note.textContent = '';
            this.table.begin(0, []);
            this.asked = null;
            return;
        }
        this.full = Math.max(1e-9, ...list.rows.map(r => r.total.high || r.total.share));
        this.counted = list.counted;
        this.few = list.few;
        this.table.begin(list.n, joined(list).rows);
        this.note.textContent = `${count(list.n)} ${s.by}${list.n === 1 ? '' : 's'}` + (list.counted ? ` · grey: fewer than ${list.few} samples` : ' · the input does not count samples: no intervals') + (list.n > this.table.reachable ? ` · the first ${count(this.table.reachable)} can be scrolled to: filter for the others` : '');
    }
    // Where there are no rows: why, and the way back.
    explain(list) {
        const s = this.app.state, plain = DEFAULT_BYS.includes(s.by);
        if (this.message) this.message.remove();
        this.message = null;
        if (list.n) return;
        const why = list.error || (s.filter ? `No ${s.by} matches the filter '${s.filter}'` : 'Nothing is selected');
        const back = !plain && list.error ? ['Group by function', {by: 'function'}] : s.filter ? ['Clear the filter', {filter: ''}] : ['Select everything again', null];
        this.box.append(this.message = el('p.message', {role: 'alert'}, why[0].toUpperCase() + why.slice(1) + '. ', button(back[0], back[0], () => back[1] ? this.app.change(back[1]) : this.app.reset())));
    }
    row(r) {
        const s = this.app.state, w = r.words, few = this.counted && r.total_samples < this.few, none = r.self.share === 0;
        const row = el('tr', {'data-name': r.name, 'data-kind': s.by, 'data-module': w.module || null, tabindex: -1, 'aria-selected': 'false', title: few ? `${r.name}\nfewer than ${this.few} samples: don't read anything into its place` : r.name,
            onclick: () => this.choose(row), ondblclick: () => s.by === 'function' && this.app.change({tab: 'callers', fn: r.name})},
            el('td.r', null, none ? '' : w.self), el('td.w.mid', null, none ? null : whisker(r.self.share, r.self.low, r.self.high, this.full)),
            el('td.r.wide', null, none ? '' : micro(w.self_time)), el('td.r', null, w.total),
            el('td.w.wide', null, whisker(r.total.share, r.total.low, r.total.high, this.full)), el('td.r.wide', null, micro(w.total_time)),
            el('td.r.mid', {title: 'samples of its own'}, none ? '' : count(r.self_samples)), el('td.n', null, r.name),
            el('td.m.mid', {title: (r.modules || []).join('\n')}, s.by === 'function' ? w.module || (r.kernel ? '[kernel]' : '') : ''),
            el('td.m.wide', {title: w.file}, s.by === 'function' && w.file ? w.file.split('/').pop() + (w.line ? ':' + w.line : '') : ''));
        if (few) row.classList.add('few');
        return row;
    }
    found() { this.mark(); }
    async more(skip, top) {
        const list = await this.app.ask('more', this.question(skip, top));
        return list && !list.error ? joined(list) : null;
    }
    mark() {
        const match = this.app.matcher();
        for (const row of this.rows.children) {
            row.setAttribute('aria-selected', row.dataset.name === this.app.chosen);
            row.classList.toggle('hit', !!match && this.app.state.by === 'function' && match(row.dataset.name));
        }
    }
    choose(row) {
        this.app.choose(this.app.state.by === 'function' ? row.dataset.name : null, {module: row.dataset.module || null});
        this.mark();
        row.focus({preventScroll: true});
    }
    async copy() {
        const list = await this.more(0, COPIED);
        if (!list) return;
        const text = ({words: w, ...r}) => [w.self, w.self_time, w.total, w.total_time, r.self_samples, r.name, w.module, w.file].map(t => t === null || t === undefined ? '' : oneLine(String(t))).join('\t');
        this.app.copy(['self\tself amount\ttotal\ttotal amount\tsamples\tname\tmodule\tfile', ...list.rows.map(text)].join('\n'), list.n > list.rows.length ? `The first ${count(list.rows.length)} rows` : 'Table');
    }
}
