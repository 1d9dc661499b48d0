// What happened, one by one: scopes, marks of the program, waits, locks, page faults and other events; sorted, filtered, and found in
// the timeline.
import { el, button, time, moment, count, oneLine } from './view_text.js';
import { Rows } from './view_rows.js';

const EVENT_ROWS_COPIED = 10000;

export class EventsPane {
    constructor(app) {
        this.app = app;
        this.kind = el('select', {'aria-label': 'Which events', onchange: () => app.change({eventkind: this.kind.value}, {replace: true})});
        this.filter = el('input', {type: 'search', placeholder: 'Filter events (regular expression)', 'aria-label': 'Filter events: by name, thread and details', title: 'Looked for in event, name, thread and details',
            oninput: () => { clearTimeout(this.later); this.later = setTimeout(() => app.change({events: this.filter.value}, {replace: true}), 150); }});
        this.note = el('span.note', {role: 'status'});
        this.apart = el('p.apart', {role: 'note', hidden: true});
        this.table = new Rows('Events', 'Events: arrows choose one and show it in the timeline, Enter selects its time', {ask: (skip, top) => this.more(skip, top), make: r => this.row(r), placed: () => this.mark(),
            chosen: row => this.choose(row), enter: row => this.select(this.of(row))});
        this.element = el('div.pane', null, el('div.tools', null, this.kind, this.filter, this.note, el('span.gap'), button('Copy table', 'As tab-separated text', () => this.copy())), this.apart, this.table.box);
    }
    question(skip, top) {
        const s = this.app.state, {file, time: range, thread, process, where, scope} = this.app.selection();
        return {file, ...(range ? {time: range} : {}), ...(thread ? {thread} : {}), ...(process ? {process} : {}), ...(where ? {where} : {}), ...(scope ? {scope} : {}),
            ask: 'events', by: s.eventkind || null, sort: s.eventsort, pattern: s.events || null, skip, top};
    }
    columns() {
        const s = this.app.state, sorted = (id, text, cell) => el(cell, {'aria-sort': s.eventsort === id ? (id === 'duration' ? 'descending' : 'ascending') : null}, button(text, 'Sort by ' + text, () => this.app.change({eventsort: id}, {replace: true})));
        this.table.titles(sorted('time', 'time', 'th.r'), sorted('duration', 'duration', 'th.r'), sorted('event', 'event', 'th'), sorted('name', 'name', 'th'), sorted('thread', 'thread', 'th.mid'), el('th.wide', null, 'details'));
    }
    async update() {
        const s = this.app.state, key = JSON.stringify(this.question(0, Rows.page));
        if (document.activeElement !== this.filter) this.filter.value = s.events;
        if (key === this.asked) return this.mark();
        const list = await this.app.ask('events', this.question(0, Rows.page));
        if (!list) return;
        this.asked = list.error ? null : key;
        this.columns();
        this.chosen = null;
        if (this.message) this.message.remove();
        this.message = null;
        if (list.error || !list.n) {
            this.table.begin(0, []);
            this.note.textContent = '';
            this.explain(list.error);
            if (list.error) return;
        } else {
            this.table.begin(list.n, list.rows);
            this.note.textContent = `${count(list.n)} event${list.n === 1 ? '' : 's'}` + (list.n > this.table.reachable ? ` · the first ${count(this.table.reachable)} can be scrolled to: filter for the others` : '');
        }
        this.kind.replaceChildren(el('option', {value: ''}, 'all events'), ...list.kinds.map(k => el('option', {value: k.event}, `${k.event} (${count(k.n)})`)));
        if (s.eventkind && !list.kinds.some(k => k.event === s.eventkind)) this.kind.append(el('option', {value: s.eventkind}, s.eventkind + ' (0)'));
        this.kind.value = s.eventkind;
        const idle = ['focus', 'ignore', 'hide', 'collapse-module', 'collapse-recursion'].some(k => s[k].length) || s.subtree || s.merge;
        this.apart.hidden = !idle;
        this.apart.textContent = idle ? 'Of the selection, time, threads, processes, labels and scopes apply to this pane; filters by function do not.' : '';
    }
    explain(error) {
        const s = this.app.state, filtered = s.events || s.eventkind, why = error || (filtered ? 'No event matches the filter' : 'Nothing happened in what is selected');
        this.table.box.append(this.message = el('p.message', {role: 'alert'}, why[0].toUpperCase() + why.slice(1) + '. ', filtered ? button('Clear the filter', 'All events', () => this.app.change({events: '', eventkind: ''})) : button('Select everything again', 'r', () => this.app.reset())));
    }
    async more(skip, top) {
        const list = await this.app.ask('more', this.question(skip, top));
        return list && !list.error ? list : null;
    }
    row(r) {
        const span = (this.app.lanes.all ? this.app.lanes.all.span_s : r.time_s) * 1e9, thread = r.tid >= 0 ? `${r.name} ${r.tid}` : r.name || (r.pid >= 0 ? 'process ' + r.pid : '');
        const row = el('tr', {'data-name': r.what || r.event, 'data-kind': 'event', tabindex: -1, 'aria-selected': 'false', title: [`${r.event} ${r.what}`, r.details, ...r.stack.slice(0, 20).map(f => '  ' + f)].filter(t => t).join('\n'),
            onclick: () => this.choose(row), ondblclick: () => this.select(r)},
            el('td.r', null, moment(r.time_s * 1e9, span)), el('td.r', null, r.duration_s === null ? '' : time(r.duration_s * 1e9)), el('td.s', null, r.event + (r.n > 1 ? ` (${count(r.n)} times)` : '')),
            el('td.n', null, r.what), el('td.m.mid', null, thread), el('td.m.wide', {title: r.details}, r.details || (r.stack.length > 1 ? r.stack.slice(0, 4).join(' ← ') : '')));
        return row;
    }
    of(row) { return this.table.row(+row.dataset.index); }
    mark() { for (const row of this.table.body.children) row.setAttribute('aria-selected', +row.dataset.index === this.chosen); }
    choose(row) {
        const r = this.of(row);
        this.chosen = +row.dataset.index;
        this.mark();
        row.focus({preventScroll: true});
        this.app.choose(null);
        this.app.lanes.jump(r.time_s, r.time_s + (r.duration_s || 0));
    }
    // Its time as the range that all panes follow; of a moment, a little around it.
    select(r) {
        const all = this.app.lanes.all, around = r.duration_s ? 0 : (all ? all.span_s : 1) / 200;
        this.app.change({time: this.app.timeOf([r.time_s - around, r.time_s + (r.duration_s || 0) + around])});
    }
    menuOf(row) {
        const r = this.of(row), thread = r.tid >= 0 ? String(r.tid) : r.name;
        this.choose(row);
        return [[r.duration_s ? 'Select its time' : 'Select the time around it', () => this.select(r), 'Enter', '--time'],
            ['What ran then: flame graph', () => { this.select(r); this.app.change({tab: 'flame'}); }],
            ...(r.event === 'scope' ? [[`All that happened inside ${r.what}`, () => this.app.add('scope', r.what), '', '--scope']] : []),
            ...(thread ? [['Only this thread', () => this.app.toggle('thread', thread), '', '--thread']] : []), null,
            [`Only events of this kind`, () => this.app.change({eventkind: r.event}, {replace: true})],
            ...(r.stack.length ? [['Copy call stack', () => this.app.copy(r.stack.map(oneLine).join('\n'), 'Stack'), 'k']] : []), ['Copy name', () => this.app.copy(oneLine(r.what), 'Name'), 'n'],
            ['Copy row', () => this.app.copy(this.text(r), 'Row')]];
    }
    text(r) { return [r.time_s, r.duration_s, r.event, r.n, r.what, r.name, r.pid, r.tid, r.details].map(t => t === null || t === undefined ? '' : oneLine(String(t))).join('\t'); }
    async copy() {
        const list = await this.more(0, EVENT_ROWS_COPIED);
        if (list) this.app.copy(['seconds\tlasted\tevent\ttimes\tname\tthread\tpid\ttid\tdetails', ...list.rows.map(r => this.text(r))].join('\n'), list.n > list.rows.length ? `The first ${count(list.rows.length)} rows` : 'Table');
    }
}
