// The page: one selection that every pane follows, kept in the address.
import { el, button, share, time, bytes, count, quoted, exactly, copy, toast, seen, put, oneLine } from './view_text.js';
import { Link } from './view_core.js';
import { onTheme, warmUp } from './view_charts.js';
import { openMenu } from './view_menu.js';
import { Lanes } from './view_lanes.js';
import { FlamePane } from './view_flame.js';
import { TablePane } from './view_table.js';
import { TreePane, CallersPane } from './view_trees.js';
import { SourcePane } from './view_source.js';
import { InsightsPane, HeapPane, LocksPane, ScopesPane, WaitsPane } from './view_stories.js';
import { EventsPane } from './view_events.js';
import { ComparePane } from './view_compare.js';
import { AboutPane, showKeys } from './view_about.js';

const LARGEST = 2 ** 29; // of a file that is dropped: more cannot be unpacked in the memory of a page
const NAMES = 50000; // that are searched at a time
const LISTS = ['thread', 'process', 'where', 'scope', 'focus', 'ignore', 'hide', 'collapse-module', 'collapse-recursion'];
const TEXTS = ['tab', 'event', 'value', 'time', 'other', 'subtree', 'order', 'by', 'sort', 'filter', 'fn', 'search', 'each', 'events', 'eventkind', 'eventsort'];
const DEFAULTS = {tab: '', event: null, value: null, time: null, other: null, subtree: null, merge: false, order: 'heavy', inverted: false, flames: false, zoom: [], by: 'function', sort: 'self', filter: '', fn: '', search: '', each: 'function', events: '', eventkind: '', eventsort: 'time', file: 0};

const TABS = [
    ['compare', 'Compare', ComparePane, a => a.files > 1 || a.state.other],
    ['flame', 'Flame graph', FlamePane, () => true],
    ['functions', 'Functions', TablePane, () => true],
    ['tree', 'Call tree', TreePane, () => true],
    ['callers', 'Callers', CallersPane, () => true],
    ['source', 'Source', SourcePane, a => a.hasCode()],
    ['insights', 'Insights', InsightsPane, () => true],
    ['heap', 'Heap', HeapPane, a => a.has('heap')],
    ['locks', 'Locks', LocksPane, a => a.has('locks')],
    ['scopes', 'Scopes', ScopesPane, a => a.has('scopes')],
    ['waits', 'Waits', WaitsPane, a => a.has('waits')],
    ['events', 'Events', EventsPane, a => a.has('events')],
    ['about', 'About', AboutPane, () => true],
];

// --- the address ---

function read(hash) {
    const s = {...DEFAULTS, zoom: []}, p = new URLSearchParams(hash);
    for (const key of LISTS) s[key] = p.getAll(key);
    for (const key of TEXTS) if (p.has(key)) s[key] = p.get(key);
    s.merge = p.has('merge-recursion');
    s.inverted = p.has('inverted');
    s.flames = p.has('flames');
    s.file = p.get('file') === '1' ? 1 : 0;
    s.zoom = p.getAll('zoom');
    return s;
}

function write(s) {
    const p = new URLSearchParams();
    for (const key of TEXTS) if (s[key] && s[key] !== DEFAULTS[key]) p.set(key, s[key]);
    for (const key of LISTS) for (const v of s[key]) p.append(key, v);
    for (const [key, on] of [['merge-recursion', s.merge], ['inverted', s.inverted], ['flames', s.flames]]) if (on) p.set(key, '1');
    if (s.file) p.set('file', '1');
    for (const name of s.zoom) p.append('zoom', name);
    return p.toString();
}

class App {
    constructor(root) {
        this.root = root;
        this.link = new Link();
        this.files = Math.max(1, Math.min(2, +document.body.dataset.files || 1));
        this.state = read(location.hash.slice(1) || document.body.dataset.start || '');
        this.codes = document.body.dataset.code;
        this.chosen = null;
        this.step = this.last = (history.state && history.state.step) || 0;
        this.panes = {};
        this.matches = {};
    }
    hasCode() { return (this.codes || '')[this.state.file] === '1'; }
    has(pane) { return this.about ? this.about.panes[pane] : this.state.tab === pane; }
    ask(channel, question) { return this.link.ask(channel, question); }
    // What is selected, as a question: without time and threads for the lanes, which show all.
    base() {
        const s = this.state, q = {file: s.file};
        if (s.event) q.event = s.event;
        if (s.value) q.value = s.value;
        if (s.process.length) q.process = s.process;
        return q;
    }
    selection() {
        const s = this.state, q = this.base();
        const range = this.previewed || s.time;
        if (range) q.time = range;
        if (s.subtree) q.subtree = s.subtree;
        for (const key of LISTS) if (s[key].length) q[key] = s[key];
        if (s.merge) q['merge-recursion'] = true;
        return q;
    }
    amount(value) {
        const a = this.about, v = value / 10 ** a.decimals;
        if (a.time_ns && a.whole) return time(value / a.whole * a.time_ns);
        if (a.unit === 'bytes') return bytes(v);
        if (a.unit === 'nanoseconds') return time(v);
        return count(v) + ' ' + (a.value || a.unit || '');
    }
    range(text, span) {
        const m = /^([\d.]*)(ms|us|ns|s|%)?\.\.([\d.]*)(ms|us|ns|s|%)?$/.exec(text || '');
        if (!m) return null;
        const of = (v, unit, none) => v === '' ? none : unit === '%' ? v / 100 * span : v * ({ms: 1e-3, us: 1e-6, ns: 1e-9}[unit] || 1);
        return [of(m[1], m[2], 0), of(m[3], m[4], span)];
    }
    timeOf([a, b]) {
        const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(Math.max(1e-9, b - a)))));
        return `${+Math.max(0, a).toFixed(digits)}..${+b.toFixed(digits)}`;
    }
    // Whether a name is found by the search. The core says so, in its worker: what it does not know yet is not, until it answers.
    matcher() {
        const pattern = this.state.search;
        if (!pattern) return null;
        if (this.matches.pattern !== pattern) this.matches = {pattern, known: new Map(), wanted: new Set()};
        const {known, wanted, bad} = this.matches;
        return bad ? null : name => {
            const is = known.get(name);
            if (is !== undefined) return is;
            wanted.add(name);
            this.matching ||= this.askMatches();
            return false;
        };
    }
    async askMatches() {
        await null; // names are wanted one by one
        const m = this.matches, names = [...m.wanted].slice(0, NAMES);
        const answer = names.length ? await this.ask('match', {ask: 'match', pattern: m.pattern, names}) : null;
        if (answer && answer.error) m.bad = true;
        names.forEach((name, i) => { m.known.set(name, !!(answer && answer.hits && answer.hits[i])); m.wanted.delete(name); });
        this.matching = null;
        const pane = this.panes[this.tab()];
        if (pane && pane.found) pane.found();
        if (this.matches.wanted.size && !this.matches.bad) await (this.matching ||= this.askMatches());
    }
    // The same for all of NAMES, known when it returns.
    async matchAll(names) {
        const match = this.matcher();
        if (match) for (const name of names) match(name);
        while (this.matching) await this.matching;
    }

    // --- changes ---

    change(to, how) {
        this.previewed = null;
        this.state = {...this.state, ...to};
        const hash = '#' + write(this.state);
        if (hash !== location.hash) {
            const replace = how && how.replace;
            if (!replace) this.last = ++this.step;
            history[replace ? 'replaceState' : 'pushState']({step: this.step}, '', hash);
        }
        this.update();
    }
    // Undo and redo are the browser's Back and Forward, so that both ways keep in step.
    undo() { if (this.step > 0) history.back(); }
    redo() { if (this.step < this.last) history.forward(); }
    toggle(list, value) {
        const now = this.state[list];
        this.change({[list]: now.includes(value) ? now.filter(v => v !== value) : [...now, value]});
    }
    add(list, name) {
        const pattern = exactly(name);
        if (!this.state[list].includes(pattern)) this.change({[list]: [...this.state[list], pattern], zoom: []});
    }
    // While a range is dragged: the pane follows, the address does not.
    preview(range) {
        this.previewed = range;
        const pane = this.panes[this.tab()];
        if (pane && !pane.still) Promise.resolve(pane.update()).then(() => pane.finish && pane.finish());
    }
    // MORE: path (root first) and module of a frame, where it is one.
    choose(name, more) {
        this.chosen = name;
        this.chosenAt = more || {};
        this.showChosen();
    }
    // Only what is called from a path of the tree that is shown; one that was chosen before is continued.
    descend(path) {
        const names = path.map(n => n.replace(/[\\;]/g, '\\$&')), base = this.state.subtree ? this.state.subtree.match(/(?:[^\\;]|\\.)+/g) || [] : [];
        this.change({subtree: [...base.slice(0, -1), ...names].join(';'), zoom: []});
    }
    light(pattern) { this.lanes.light(pattern); }
    // The stack at the pointer in the lanes, or null: lit in the flame graph.
    lightStack(stack, thread) {
        const pane = this.panes[this.tab()];
        if (pane && pane.flame && pane.flame.lightStack && (stack || pane.flame.lit && pane.flame.lit.size)) pane.flame.lightStack(stack, thread);
    }
    tab() {
        const open = TABS.filter(([, , , has]) => has(this));
        return open.some(([id]) => id === this.state.tab) ? this.state.tab : open[0][0];
    }

    // --- what is shown ---

    build() {
        this.subject = el('span.subject');
        this.values = el('select', {'aria-label': 'Event and value', onchange: () => this.pickValue()});
        this.whichFile = el('select', {'aria-label': 'Which file', onchange: () => this.change({file: +this.whichFile.value})}, el('option', {value: 0}, 'before'), el('option', {value: 1}, 'after'));
        this.whichFile.hidden = this.files < 2;
        this.warnings = el('div.warnings', {role: 'note', hidden: true});
        this.crumbs = el('div.crumbs', {role: 'navigation', 'aria-label': 'Selection'});
        this.lanes = new Lanes(this);
        this.tabList = el('div', {role: 'tablist', 'aria-label': 'Panes'});
        this.search = el('input', {type: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions (regular expression)', oninput: () => this.searchSoon(), onkeydown: e => { if (e.key === 'Escape') { this.search.value = ''; this.change({search: ''}); this.focusPane(); } if (e.key === 'Enter') this.focusPane(); e.stopPropagation(); }});
        this.found = el('span.note', {role: 'status'});
        this.chosenBar = el('div.chosen');
        this.main = el('main.pane', {role: 'tabpanel', 'aria-label': 'Pane'});
        this.status = el('div.status', {role: 'contentinfo'});
        this.root.replaceChildren(
            el('header.head', null, el('span.mark', null, 'Kelvin'), this.subject, this.whichFile, this.values,
                button('Copy command', 'The same in a terminal (y)', () => this.copyCommand()), ...(location.protocol === 'blob:' ? [] : [button('Copy link', 'This address (l)', () => copy(location.href, 'Link'), {class: 'wide'})]), button('?', 'Keys', showKeys)),
            this.warnings, this.crumbs, this.lanes.box, this.lanes.grip,
            el('div.tabs', null, this.tabList, el('span.gap'), this.found, this.search), this.main, el('div.tools.foot', {hidden: true}, this.chosenBar), this.status); // below: what was clicked stays where it is
        this.tabs = {};
        document.addEventListener('keydown', e => this.key(e));
        this.main.addEventListener('contextmenu', e => { const row = e.target.closest('tr[data-name]'); if (row && this.rowMenu(row, e.clientX, e.clientY)) e.preventDefault(); });
        addEventListener('popstate', e => { this.step = (e.state && e.state.step) || 0; this.last = Math.max(this.last, this.step); this.state = read(location.hash.slice(1)); this.previewed = null; this.update(); });
        this.root.addEventListener('dragover', e => { e.preventDefault(); this.root.classList.add('drop'); });
        this.root.addEventListener('dragleave', () => this.root.classList.remove('drop'));
        this.root.addEventListener('drop', e => this.drop(e));
        onTheme(() => this.update());
    }
    paneOf(tab) {
        const [, , Pane] = TABS.find(([id]) => id === tab);
        return this.panes[tab] = this.panes[tab] || new Pane(this);
    }
    showTabs() {
        const tab = this.tab(), open = TABS.filter(([, , , has]) => has(this));
        this.tabList.replaceChildren(...open.map(([id, text], i) => el('button', {type: 'button', role: 'tab', id: 'tab-' + id, 'aria-selected': id === tab, tabindex: id === tab ? 0 : -1, title: i < 10 ? `${text} (${(i + 1) % 10})` : text,
            onclick: () => this.change({tab: id}), onkeydown: e => {
                const to = {ArrowLeft: i - 1, ArrowRight: i + 1}[e.key];
                if (to === undefined || !open[to]) return;
                e.stopPropagation();
                this.change({tab: open[to][0]});
                document.getElementById('tab-' + open[to][0]).focus();
            }}, text)));
    }
    showCrumbs() {
        const s = this.state, list = [];
        const crumb = (kind, text, away) => list.push(el('span.crumb', {title: `${kind} ${text}`}, el('i', null, kind), el('span', null, text), button('×', `Remove ${kind} ${text}`, away, {'aria-label': `Remove ${kind} ${text}`})));
        if (s.time) crumb('time', s.time, () => this.change({time: null, other: null}));
        if (s.other) crumb('compared with', s.other, () => this.change({other: null}));
        for (const key of LISTS) for (const v of s[key]) crumb(key, /^\^.*\$$/s.test(v) ? v.slice(1, -1).replace(/\\(.)/g, '$1') : v, () => this.change({[key]: s[key].filter(x => x !== v)}));
        if (s.subtree) { const names = s.subtree.match(/(?:[^\\;]|\\.)+/g) || []; crumb('subtree', names.map(n => n.replace(/\\(.)/g, '$1')).join(' › '), () => this.change({subtree: null, zoom: []})); }
        if (s.merge) crumb('', 'merge recursion', () => this.change({merge: false}));
        const n = list.length, a = this.about;
        this.crumbs.replaceChildren(button('↶', 'Undo (z)', () => this.undo(), {'aria-label': 'Undo', disabled: this.step < 1}), button('↷', 'Redo (Shift z)', () => this.redo(), {'aria-label': 'Redo', disabled: this.step >= this.last}), button(n ? 'All' : 'The whole recording', 'Select everything again (r)', () => this.reset(), {class: 'all'}), ...list, el('span.gap'),
            el('span.note', {title: 'what is selected'}, a.samples === null ? this.amount(a.whole) : `${count(a.samples)} sample${a.samples === 1 ? '' : 's'}` + (a.time_ns ? ' · ' + time(a.time_ns) : '')));
    }
    // What can be done with a function: [text, what it does, key, what the terminal calls it].
    actions(name, {path, module}) {
        return [['Focus: only stacks with it', () => this.add('focus', name), 'f', '--focus'],
            ...(path ? [['Subtree: only what is called from here', () => this.descend(path), 's', '--subtree']] : []),
            ['Ignore: drop its stacks', () => this.add('ignore', name), 'i', '--ignore'],
            ['Hide: merge into its callers', () => this.add('hide', name), 'h', '--hide'],
            ['Collapse its recursion', () => this.add('collapse-recursion', name), 'e', '--collapse-recursion'],
            ['Merge direct recursion of all functions', () => this.change({merge: !this.state.merge}), 'm', '--merge-recursion'],
            ...(module ? [[`Collapse module ${module}`, () => this.add('collapse-module', module), 'o', '--collapse-module']] : []), null,
            ['Callers and callees (butterfly)', () => this.change({tab: 'callers', fn: name}), 'c', '--callers'],
            ...(this.hasCode() ? [['Source and instructions', () => this.change({tab: 'source', fn: name}), 'd', 'annotate']] : []),
            ['Search for it', () => this.change({search: exactly(name)}), '/'], null,
            ...(path ? [['Copy call stack', () => this.copyStack(), 'k']] : []), ['Copy name', () => copy(oneLine(name), 'Name'), 'n'],
            ['Turn the tree: callers first', () => this.change({inverted: !this.state.inverted, zoom: []}), 't', '--reverse'],
            ...(this.state.time || this.crumbs.querySelector('.crumb') ? [['Select everything again', () => this.reset(), 'r']] : [])];
    }
    // What a row of another kind stands for is a filter of its own.
    rowActions(kind, name) {
        const list = {thread: 'thread', process: 'process', scope: 'scope'}[kind], tid = kind === 'thread' && /(?:^|[ /])(\d+)$/.exec(name);
        return [...(list ? [[`Only this ${kind}`, () => list === 'scope' ? this.add('scope', name) : this.toggle(list, tid ? tid[1] : name), 'f', '--' + list]] : []),
            ...(kind === 'module' ? [['Collapse this module', () => this.add('collapse-module', name), 'o', '--collapse-module']] : []), ['Copy name', () => copy(oneLine(name), 'Name'), 'n']];
    }
    // For the row of any table that stands for something; true if it was one.
    rowMenu(row, x, y) {
        const {name, kind, module} = row.dataset, pane = this.panes[this.tab()];
        if (!name || name.startsWith('(')) return false;
        if (kind && kind !== 'function') {
            openMenu(x, y, name, pane.menuOf && pane.menuOf(row) || this.rowActions(kind, name));
            return true;
        }
        if (pane.choose) pane.choose(row);
        else this.choose(name, {module});
        openMenu(x, y, name, this.actions(name, this.chosenAt));
        return true;
    }
    // By keyboard: of the row that has the focus, or of the frame that is chosen.
    menuHere() {
        const row = document.activeElement.closest && document.activeElement.closest('tr[data-name]'), pane = this.panes[this.tab()];
        if (row) {
            const box = row.getBoundingClientRect();
            return this.rowMenu(row, box.left + 60, box.bottom);
        }
        if (document.activeElement === this.lanes.box) return this.lanes.menu();
        if (!this.chosen) return false;
        const [x, y] = pane.flame && pane.flame.placeOf ? pane.flame.placeOf() : [40, this.chosenBar.getBoundingClientRect().bottom];
        openMenu(x, y, this.chosen, this.actions(this.chosen, this.chosenAt || {}));
        return true;
    }
    showChosen() {
        const box = this.chosenBar.parentNode, name = this.chosen;
        box.hidden = !name;
        if (!name) return;
        const {path, module} = this.chosenAt;
        this.chosenBar.replaceChildren(el('code', {title: name}, name), button('Focus', 'Only stacks with it (f)', () => this.add('focus', name)),
            ...(path ? [button('Subtree', 'Only what is called from here (s)', () => this.descend(path))] : []),
            button('Ignore', 'Drop: no stacks with it (i)', () => this.add('ignore', name)), button('Hide', 'Merge into its callers: leave it out, its time goes to them (h)', () => this.add('hide', name)),
            button('Collapse recursion', 'Once per stack: leave out what is between its first and its last call (e)', () => this.add('collapse-recursion', name)),
            ...(module ? [button(`Collapse ${module}`, 'Show the functions of this module as one frame (o)', () => this.add('collapse-module', module))] : []),
            button('Callers', 'Callers and callees (c)', () => this.change({tab: 'callers', fn: name})),
            ...(this.hasCode() ? [button('Source', 'Source and instructions (d)', () => this.change({tab: 'source', fn: name}))] : []),
            ...(path ? [button('Copy stack', 'Its call stack, innermost first (k)', () => this.copyStack())] : []), button('Copy name', 'Copy', () => copy(oneLine(name), 'Name')));
    }
    copyStack() { if (this.chosenAt && this.chosenAt.path) copy([...this.chosenAt.path].reverse().map(oneLine).join('\n'), 'Stack'); }
    problem(element, text) {
        let message = element.querySelector(':scope > .message');
        for (const child of element.children) if (child !== message) child.classList.toggle('hide', !!text);
        if (message) message.remove();
        if (text) element.append(message = el('p.message', {role: 'alert'}, text));
    }
    async update() {
        // Questions are under way together: the worker goes on while an answer is shown. Answers come in order.
        const asked = this.ask('about', {...this.selection(), ask: 'about'}), tab = this.tab();
        const early = TABS.find(([id]) => id === tab)[2].early && this.paneOf(tab).update();
        const lanesKey = JSON.stringify([this.base(), this.state.focus, this.state.ignore, this.state.scope, this.state.where, this.state.subtree]);
        const lanes = lanesKey === this.lanesKey ? null : this.lanes.ask();
        this.lanesKey = lanesKey;
        let about = await asked;
        if (!about) return;
        // Waits have stacks of their own: a function that no sample has may be in those.
        if (about.error && tab === 'waits') {
            const waits = await this.ask('about', {...this.selection(), event: 'waits', value: null, ask: 'about'});
            if (!waits) return;
            if (!waits.error) about = waits;
        }
        if (about.error) {
            if (!this.about) return this.withoutLink(about.error);
            this.showCrumbs();
            this.main.replaceChildren(el('p.message', {role: 'alert'}, about.error[0].toUpperCase() + about.error.slice(1) + '. ', button('Undo', 'z', () => this.undo()), ' ', button('Select everything again', 'r', () => this.reset())));
            this.root.dataset.settled = (+this.root.dataset.settled || 0) + 1;
            return;
        }
        this.about = about;
        const command = about.info.meta.command || '';
        this.subject.title = seen([about.subject, command].join('\n'));
        this.subject.replaceChildren(el('b', null, about.subject), command ? seen(' · ' + command) : '');
        document.title = seen(about.subject + ' - Kelvin');
        put(this.warnings, about.warnings.trim().split('\n').join(' · '));
        this.warnings.hidden = !about.warnings;
        this.status.replaceChildren(el('span', {title: about.caption}, about.caption));
        this.whichFile.value = this.state.file;
        this.showValues();
        this.showTabs();
        this.showCrumbs();
        if (document.activeElement !== this.search) this.search.value = this.state.search;
        this.showFound();
        if (this.tab() !== tab) return this.update(); // a link to a pane that this recording does not have
        const pane = this.paneOf(tab);
        if (this.main.firstChild !== pane.element) this.main.replaceChildren(pane.element);
        await Promise.all([early || pane.update(), lanes]);
        if (!lanes) this.lanes.draw();
        performance.mark('picture');
        if (pane.finish) await pane.finish();
        while (this.matching) await this.matching;
        performance.mark('settled');
        this.root.dataset.settled = (+this.root.dataset.settled || 0) + 1;
    }
    // A link may ask for what is not in this recording. Say so, and show all of it.
    async withoutLink(why) {
        await this.link.loaded;
        if (write(this.state) === write(read(''))) throw new Error(why);
        toast(`The link asks for what this recording does not have: ${why}. All of it is shown.`, 15000);
        this.state = {...read(''), tab: this.state.tab};
        history.replaceState({step: this.step}, '', '#' + write(this.state));
        return this.update();
    }
    showValues() {
        const key = v => `${v.event}\n${v.name}`, list = this.about.info.values;
        this.values.replaceChildren(...list.map(v => el('option', {value: key(v)}, v.event && v.event !== v.name ? `${v.event}: ${v.name}` : v.name)));
        this.values.value = `${this.about.event}\n${this.about.value}`;
        this.values.hidden = list.length < 2;
    }
    pickValue() {
        const [event, value] = this.values.value.split('\n');
        this.change({event: event || null, value, zoom: []});
    }
    reset() {
        const empty = {time: null, other: null, subtree: null, merge: false, zoom: [], search: ''};
        for (const key of LISTS) empty[key] = [];
        this.change(empty);
    }
    searchSoon() {
        clearTimeout(this.later);
        this.later = setTimeout(() => this.change({search: this.search.value}, {replace: true}), 120);
    }
    async showFound() {
        const pattern = this.state.search;
        if (!pattern) {
            this.found.textContent = '';
            return;
        }
        const answer = await this.ask('search', {...this.selection(), ask: 'search', pattern});
        if (!answer || pattern !== this.state.search) return;
        put(this.found, answer.error || `${share(answer.total.share, answer.total.low, answer.total.high)} matched · ${count(answer.functions)} function${answer.functions === 1 ? '' : 's'}`);
    }
    focusPane() {
        const target = this.main.querySelector('canvas[tabindex],.scroll[tabindex]');
        if (target) target.focus();
    }

    // --- as a command ---

    // Null where no command shows the same.
    command() {
        const s = this.state, tab = this.tab(), words = ['kelvin'], file = this.about.subject.replace(/^-/, './-');
        if (tab === 'events' || (tab === 'compare' && s.other) || (tab === 'callers' && /^\/.*\/$/.test(s.fn))) return null;
        const selected = [];
        if (s.event) selected.push('--event', s.event);
        if (s.value) selected.push('--value', s.value);
        if (s.time) selected.push('--time', s.time);
        for (const key of LISTS) for (const v of s[key]) selected.push('--' + key, v);
        if (s.subtree) selected.push('--subtree', s.subtree);
        if (s.merge) selected.push('--merge-recursion');
        if (tab === 'compare' && this.files > 1) words.push('diff', 'BEFORE', 'AFTER', ...this.comparison(selected));
        else if (tab === 'flame') words.push('flame', file, ...selected, ...(s.order === 'time' ? ['--flame-chart'] : s.inverted ? ['--reverse', '--group', 'none'] : []), ...(s.flames ? ['--flames'] : []), '-o', 'flame.svg');
        else if (tab === 'functions') words.push('report', file, '--by', s.by, ...selected);
        else if (tab === 'callers') words.push('report', file, ...(this.panes.callers && this.panes.callers.input.value ? ['--callers', this.panes.callers.input.value] : []), ...selected);
        else if (tab === 'source') words.push('annotate', file, this.panes.source ? this.panes.source.input.value : s.fn, ...selected);
        else if (tab === 'heap') words.push('heap', file, ...(s.time ? ['--time', s.time] : []));
        else if (tab === 'locks') words.push('locks', file);
        else if (tab === 'scopes') words.push('scopes', file, ...(s.time ? ['--time', s.time] : []), ...['thread', 'process', 'where'].flatMap(k => s[k].flatMap(v => ['--' + k, v])));
        else if (tab === 'waits') words.push('report', file, '--waits', ...selected.slice(s.event && s.value ? 4 : s.event || s.value ? 2 : 0));
        else if (tab === 'about') words.push('info', file);
        else words.push('report', file, ...selected);
        return words.map(quoted).join(' ');
    }
    // Scopes are compared by time and thread alone, places by a value of the heap.
    comparison(selected) {
        const s = this.state, pane = this.panes.compare;
        if (s.each === 'scope') return ['--scopes', ...(s.time ? ['--time', s.time] : []), ...['thread', 'process', 'where'].flatMap(k => s[k].flatMap(v => ['--' + k, v]))];
        if (s.each === 'place' && !s.value && pane && pane.answer && pane.answer.value) return ['--by', 'place', '--value', pane.answer.value, ...selected];
        return [...(s.each === 'function' ? [] : ['--by', s.each]), ...selected];
    }
    copyCommand() {
        const line = this.command();
        if (line) copy(line, 'Command');
        else toast(this.tab() === 'events' ? 'No command of the terminal lists events one by one.' : 'No command of the terminal shows this: it compares files, not ranges, and takes one function at a time.');
    }
    copy(text, what) { copy(text, what); }
    save(name, text, type) {
        const url = URL.createObjectURL(new Blob([text], {type}));
        const a = el('a', {href: url, download: name});
        this.root.append(a);
        a.click();
        a.remove();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }

    // --- keys and files ---

    key(e) {
        if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
        if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) {
            if (this.menuHere()) e.preventDefault();
            return;
        }
        const open = TABS.filter(([, , , has]) => has(this)), name = this.chosen;
        const step = by => { const at = open.findIndex(([id]) => id === this.tab()) + by; if (open[at]) this.change({tab: open[at][0]}); };
        const act = {
            '/': () => { this.search.focus(); this.search.select(); },
            '?': showKeys,
            '[': () => step(-1),
            ']': () => step(1),
            Escape: () => this.change({search: '', zoom: []}),
            f: () => name && this.add('focus', name),
            i: () => name && this.add('ignore', name),
            h: () => name && this.add('hide', name),
            c: () => name && this.change({tab: 'callers', fn: name}),
            d: () => name && this.hasCode() && this.change({tab: 'source', fn: name}),
            s: () => name && this.chosenAt.path && this.descend(this.chosenAt.path),
            e: () => name && this.add('collapse-recursion', name),
            o: () => name && this.chosenAt.module && this.add('collapse-module', this.chosenAt.module),
            k: () => this.copyStack(),
            z: () => this.undo(),
            Z: () => this.redo(),
            m: () => this.change({merge: !this.state.merge}),
            t: () => this.change({inverted: !this.state.inverted, zoom: []}),
            r: () => this.reset(),
            y: () => this.copyCommand(),
            l: () => copy(location.href, 'Link'),
            Backspace: () => { const last = this.crumbs.querySelectorAll('.crumb button'); if (last.length) last[last.length - 1].click(); },
        }[e.key] || (/^[0-9]$/.test(e.key) && open[(+e.key + 9) % 10] && (() => this.change({tab: open[(+e.key + 9) % 10][0]})));
        const pane = this.panes[this.tab()];
        if (!act) {
            if (e.target === document.body && pane) (pane.flame && this.tab() === 'flame' ? pane.flame : pane).key?.(e);
            return;
        }
        e.preventDefault();
        act();
    }
    async drop(e) {
        e.preventDefault();
        this.root.classList.remove('drop');
        const file = e.dataTransfer.files[0];
        if (!file) return;
        if (file.size > LARGEST) {
            toast(`${file.name} has ${bytes(file.size)}: a page holds recordings of up to ${bytes(LARGEST)}. 'kelvin report' and 'kelvin flame' read larger ones.`, 12000);
            return;
        }
        try {
            await this.link.open(0, file);
        } catch (problem) {
            toast(`${file.name}: ${problem.message}. Recordings (.kelvin) can be dropped here; 'kelvin view FILE' opens other formats.`, 12000);
            return;
        }
        this.files = 1;
        this.codes = '';
        this.panes = {};
        this.lanesKey = null;
        this.lanes.view = null;
        this.state = read('');
        this.change({});
        toast(`Opened ${file.name}`);
    }
    async start() {
        // What the command line selected stands in the address, so that undo comes back to it.
        if (!location.hash && document.body.dataset.start) history.replaceState({step: 0}, '', '#' + write(this.state));
        this.build();
        this.link.start(this.files, warmUp);
        await Promise.race([this.link.sent, this.link.loaded]);
        const palette = this.ask('palette', {ask: 'palette'}).then(answer => { this.palette = answer; }), shown = Promise.all([palette, this.update()]);
        shown.catch(() => null); // a file that cannot be read is the reason, not what was asked about it
        await this.link.loaded;
        await shown;
    }
}

function failed(root, e) {
    const still = document.getElementById('still');
    if (still) {
        document.documentElement.className = '';
        root.remove();
        still.prepend(el('p', {role: 'alert'}, `The page cannot be explored here (${e.message}); this is the still picture.`));
        return;
    }
    root.replaceChildren(el('p.message', {role: 'alert'}, el('b', null, 'This page cannot be explored: '), e.message, '. ', el('a', {href: 'still.html'}, 'Still picture and tables')));
}

document.documentElement.className = 'scripted';
const root = el('div', {id: 'app'}, el('p.message', {role: 'status'}, 'Reading the recording…'));
document.body.append(root);
if (typeof WebAssembly !== 'object') failed(root, new Error('WebAssembly is switched off'));
else new App(root).start().catch(e => failed(root, e));
