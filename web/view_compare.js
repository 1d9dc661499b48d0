// Two recordings, or two ranges of one: what is proven to have changed, and what is not.
import { el, button, share, time, bytes, count, oneLine } from './view_text.js';
import { colour } from './view_charts.js';
import { Flame } from './view_flame.js';

const points = v => (v >= 0 ? '+' : '') + (100 * v).toFixed(1);
// What happened to the cost, in the words of kelvin diff: '-' where it was not tested.
function cost(entry, v) {
    const tested = entry.total.p !== null || entry.self.p !== null;
    const sure = !tested || entry.total.proven || entry.self.proven;
    if (v.before <= 0 && v.after <= 0) return '-';
    if (sure && entry.total.after <= 0) return 'to 0';
    if (v.before <= 0) return 'from 0';
    if (v.p === null) return '-';
    return v.cost >= 3 ? 'x' + +v.cost.toPrecision(3) : (v.cost >= 1 ? '+' : '') + (100 * (v.cost - 1)).toFixed(1) + '%';
}

// What is proven is the cost: a share may grow while its cost falls, where the rest fell more.
const grew = v => v.proven && v.cost !== null ? v.cost > 1 : v.difference > 0;
const moved = v => v.before_cost !== null && v.after_cost !== null ? Math.abs(v.after_cost - v.before_cost) : Math.abs(v.difference || 0);
const changed = v => v === null ? 'any' : v >= 1 ? 'x' + (1 + v).toFixed(2) : (v >= 0 ? '+' : '') + (100 * v).toFixed(1) + '%';
const chance = p => p === null ? '' : p < 0.0001 ? '<0.0001' : p.toFixed(4);
const compareCells = texts => texts.map(([text, kind]) => el('td.' + (kind || 'r'), null, text));

export class ComparePane {
    constructor(app) {
        this.app = app;
        this.each = el('select', {'aria-label': 'Compare by', onchange: () => app.change({each: this.each.value})},
            ...[['function', 'by function'], ['line', 'by source line'], ...(app.about.panes.scopes ? [['scope', 'by scope']] : []), ...(app.about.panes.heap ? [['place', 'by heap place']] : [])].map(([v, t]) => el('option', {value: v}, t)));
        this.force = false;
        this.by = 'total';
        this.only = false;
        this.flame = new Flame(app, {paint: i => this.paint(i), facts: i => this.facts(i)});
        this.top = el('div.body.short');
        this.rows = el('tbody');
        this.buttons = {
            table: button('Table', 'Functions', () => this.turn('table')), flame: button('Flame graph', 'Call paths of both', () => this.turn('flame')),
            self: button('Self', 'Compare self time', () => { this.by = 'self'; this.list(); }), total: button('Total', 'Compare total time', () => { this.by = 'total'; this.list(); }),
            only: button('Proven only', 'Leave out what may be chance', () => { this.only = !this.only; this.list(); }),
        };
        this.head = el('tr');
        this.tableBox = el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Comparison'}, el('table', {'aria-label': 'Comparison'}, el('thead', null, this.head), this.rows));
        this.element = el('div.pane', null, this.top, this.tools = el('div.tools', null, this.each, ...Object.values(this.buttons), button('Copy table', 'As tab-separated text', () => this.copy()), el('span.gap'),
            el('span.legend', null, this.swatch('grown', 'grown'), this.swatch('shrunk', 'shrunk'), this.swatch('blocked', 'not proven'))), this.tableBox, this.flame.box);
        this.turn('table');
    }
    swatch(name, text) {
        const box = el('b');
        box.style.background = `var(--${name})`;
        return el('span', null, box, text);
    }
    turn(what) {
        this.as = what;
        this.tableBox.hidden = what !== 'table';
        this.flame.box.hidden = what !== 'flame';
        this.buttons.table.setAttribute('aria-pressed', what === 'table');
        this.buttons.flame.setAttribute('aria-pressed', what === 'flame');
        if (what === 'flame' && this.diff) this.draw();
    }
    found() { if (this.flame.tree) this.flame.draw(); }
    async update() {
        const s = this.app.state;
        if (!s.other && this.app.files < 2) {
            this.app.problem(this.element, 'Nothing to compare with. Open two files (kelvin view BEFORE AFTER), or select a range in the timeline and drag a second one with Shift.');
            return;
        }
        const question = {...this.app.selection(), ask: 'compare', by: s.each, force: this.force};
        this.each.value = s.each;
        if (s.other) question.other_time = s.other;
        else {
            delete question.file;
            if (document.body.dataset.arguments === 'same') question.same_arguments = true;
        }
        const key = JSON.stringify(question);
        if (key === this.asked) return;
        const answer = await this.app.ask('compare', question);
        if (!answer) return;
        this.asked = key;
        this.app.problem(this.element, answer.error ? answer.error + '.' : null);
        if (answer.error) {
            this.tools.classList.remove('hide'); // another choice may do
            return;
        }
        this.tools.hidden = this.tableBox.hidden = !!answer.refused;
        if (answer.refused) {
            this.flame.box.hidden = true;
            this.top.replaceChildren(el('h2', null, 'These profiles are not alike'), ...answer.refused.trim().split('\n').map(r => el('p', null, r)),
                button('Compare anyway', 'The result may mean nothing', () => { this.force = true; this.update(); }));
            return;
        }
        this.diff = answer.diff;
        this.scopes = answer.scopes;
        this.answer = answer;
        const tree = !this.scopes && answer.each !== 'place';
        for (const k of ['table', 'flame', 'self', 'total']) this.buttons[k].hidden = !tree;
        if (!tree) this.by = 'self';
        this.turn(tree ? this.as : 'table');
        this.showVerdict();
        this.list();
        if (this.as === 'flame') this.draw();
    }
    columns(names) { this.head.replaceChildren(...names.map(([text, kind]) => el(!kind ? 'th.r' : kind.startsWith('r') ? 'th.' + kind : 'th', null, text))); }
    // What a function or place cost, in its unit; a share where that is not known.
    cost(v, side) {
        const cost = v[side + '_cost'], unit = this.answer.unit;
        if (cost !== null && this.answer.each !== 'place' && this.diff.scale === 'seconds') return time(cost * 1e9);
        if (this.answer.each !== 'place' || cost === null) return share(v[side]);
        return unit === 'bytes' ? bytes(cost) : unit === 'nanoseconds' ? time(cost) : count(cost);
    }
    copy() {
        const text = row => [...row.cells].map(c => oneLine(c.textContent)).join('\t');
        this.app.copy([this.head, ...this.rows.children].map(text).join('\n'), 'Table');
    }
    // A page leaves arguments out; whether they differ was looked at when it was made.
    careful() {
        const {diff, arguments_hidden: hidden} = this.answer, known = document.body.dataset.arguments;
        const words = diff && diff.arguments || (hidden && known === 'differ' ? 'the arguments differ' : hidden && !known ? 'the arguments are left out here, so whether they differ is not known' : '');
        return words ? [el('p.up', null, `Careful: ${words}. The sides may have done different work.`)] : [];
    }
    showVerdict() {
        if (this.scopes) return this.showScopes();
        const d = this.diff, words = {improved: 'Improved', regressed: 'Regressed', unchanged: 'Unchanged', inconclusive: 'Inconclusive'};
        const tone = {improved: 'down', regressed: 'up'}[d.verdict];
        this.top.replaceChildren(el('p.verdict', null, el(tone ? 'b.' + tone : 'b', null, words[d.verdict] || d.verdict), ': ', d.why), el('p', null, d.basis[0].toUpperCase() + d.basis.slice(1) + (d.basis.endsWith('.') ? '' : '.')),
            ...(d.forced ? [el('p.up', null, 'Compared anyway, although: ' + d.forced)] : []), ...this.careful());
    }
    showScopes() {
        const all = this.scopes.scopes.flatMap(s => ['p50', 'p90', 'p99'].map(k => s[k])).filter(c => c.p !== null), n = word => all.filter(c => c.verdict === word).length;
        const slower = n('slower'), faster = n('faster'), same = n('same'), word = !all.length ? 'No verdict' : slower && faster ? 'Slower and faster' : slower ? 'Slower' : faster ? 'Faster' : 'No change proven';
        this.top.replaceChildren(el('p.verdict', null, el(slower ? 'b.up' : faster ? 'b.down' : 'b', null, word), ': ', all.length ? `of ${all.length} percentiles ${slower} slower, ${faster} faster, ${same} the same, ${all.length - slower - faster - same} not proven.` : 'no scope has enough spans on both sides.'),
            el('p', null, `One run per side: intervals cover chance within a run, not run-to-run variation. ${this.scopes.same_program
                ? 'Both runs are of the same program with the same arguments, so no change counts as proven.'
                : `A change counts as proven beyond a factor of ${this.scopes.pair_factor}, by itself and relative to the other scopes, or beyond ${this.scopes.pair_factor_all} by itself, with p at most 0.01.`}`),
            ...(this.scopes.lost ? [el('p.up', null, `${count(this.scopes.lost)} records were lost: percentiles describe the spans that were kept.`)] : []), ...this.careful());
    }
    listScopes() {
        this.columns([['before'], ['after'], ['change'], ['95% interval'], ['p'], ['verdict', 's'], ['percentile', 's'], ['scope', 'n']]);
        this.buttons.only.setAttribute('aria-pressed', this.only);
        const list = this.scopes.scopes.flatMap(s => ['p50', 'p90', 'p99'].map(k => [s.scope, k, s[k]])).filter(([, , c]) => (c.before_ns !== null || c.after_ns !== null) && (!this.only || /slower|faster/.test(c.verdict)));
        this.rows.replaceChildren(...list.map(([name, k, c]) => {
            const tone = {slower: 'r.up', faster: 'r.down'}[c.verdict], at = v => v === null ? '-' : time(v);
            return el(tone ? 'tr' : 'tr.grey', {title: name}, ...compareCells([[at(c.before_ns)], [at(c.after_ns)], [c.change === null ? '-' : changed(c.change), tone], [c.change === null || (c.low <= -1 && c.high === null) ? '-' : `${changed(c.low)} to ${changed(c.high)}`], [chance(c.p)], [c.verdict, 's'], [k, 's'], [name, 'n']]));
        }));
        if (!list.length) this.rows.append(el('tr', null, el('td.n', {colspan: 8}, 'Nothing is proven to have changed.')));
    }
    list() {
        if (this.scopes) return this.listScopes();
        this.columns([['change'], ['95% interval', 'r.mid'], ['before'], ['after'], ['points', 'r.mid'], ['p', 'r.mid'], ['', 's'], [this.answer.each, 'n']]);
        for (const k of ['self', 'total']) this.buttons[k].setAttribute('aria-pressed', this.by === k);
        this.buttons.only.setAttribute('aria-pressed', this.only);
        const size = f => moved(f[this.by]);
        const list = this.diff.functions.filter(f => !this.only || f[this.by].proven).sort((a, b) => (b[this.by].proven - a[this.by].proven) || size(b) - size(a)).slice(0, 300);
        this.rows.replaceChildren(...list.map(f => {
            const v = f[this.by], tone = v.proven ? (grew(v) ? 'up' : 'down') : '';
            return el(v.proven ? 'tr' : 'tr.grey', {title: f.name, 'data-name': f.name, 'data-kind': this.answer.each === 'place' ? 'function' : this.answer.each, tabindex: 0}, ...compareCells([[cost(f, v), tone ? 'r.' + tone : 'r'], [v.cost_low === null || v.cost_high === null ? '-' : `${changed(v.cost_low - 1)} to ${changed(v.cost_high - 1)}`, 'r.mid'], [this.cost(v, 'before')], [this.cost(v, 'after')],
                [points(v.difference), 'r.mid'], [chance(v.p_adjusted), 'r.mid'], [f.not_compared ? 'not compared' : v.proven ? 'proven' : '', 's'], [f.name + (f.possibly_renamed ? ` (renamed? ${f.possibly_renamed})` : ''), 'n']]));
        }));
        if (!list.length) this.rows.append(el('tr', null, el('td.n', {colspan: 8}, 'Nothing is proven to have changed.')));
    }
    // Call paths as wide as the mean of both sides.
    draw() {
        const at = new Map([[0, 0]]), paths = [null], tree = {n: 1, parent: [0], label: [0], self: [0], total: [0], labels: [{name: '', kind: 0}], groups: []};
        for (const p of this.diff.paths) {
            if (!at.has(p.caller)) continue;
            at.set(p.id, tree.n);
            tree.parent.push(at.get(p.caller));
            tree.label.push(tree.n);
            tree.labels.push({name: p.name, kind: 0});
            tree.total.push((p.total.before + p.total.after) / 2);
            tree.self.push((p.self.before + p.self.after) / 2);
            paths.push(p);
            tree.n++;
        }
        this.paths = paths;
        tree.total[0] = 1;
        this.flame.show(tree, 'heavy', false);
    }
    paint(i) {
        const p = this.paths[i];
        return p && p.total.proven ? colour(grew(p.total) ? 'grown' : 'shrunk') : colour('blocked');
    }
    facts(i) {
        const p = this.paths[i];
        if (!p) return [];
        return [['total', `${share(p.total.before)} → ${share(p.total.after)}`], ['self', `${share(p.self.before)} → ${share(p.self.after)}`], ['cost', cost(p, p.total)], ['', p.total.proven ? 'proven' : 'not proven: may be chance']];
    }
}
