// Two recordings, or two ranges of one: what is proven to have changed, and what is not.
import { el, button, share } from './view_text.js';
import { colour } from './view_charts.js';
import { Flame } from './view_flame.js';

const points = v => (v >= 0 ? '+' : '') + (100 * v).toFixed(1);
// What happened to the cost, in the words of kelvin diff: '-' where it was not tested.
function cost(entry, v) {
    const tested = entry.total.p !== null || entry.self.p !== null;
    const sure = !tested || entry.total.proven || entry.self.proven;
    if (sure && entry.total.before <= 0) return 'new';
    if (sure && entry.total.after <= 0) return 'gone';
    if (v.before <= 0) return 'from 0';
    if (v.p === null) return '-';
    return v.cost >= 3 ? 'x' + +v.cost.toPrecision(3) : (v.cost >= 1 ? '+' : '') + (100 * (v.cost - 1)).toFixed(1) + '%';
}

export class ComparePane {
    constructor(app) {
        this.app = app;
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
        this.tableBox = el('div.scroll', {tabindex: 0}, el('table', {'aria-label': 'Comparison'}, el('thead', null, el('tr', null, el('th.r', null, 'before'), el('th.r', null, 'after'), el('th.r', null, 'change (points)'), el('th.r', null, '95% interval'), el('th.r', null, 'cost'), el('th.r', null, 'p'), el('th', null, ''), el('th', null, 'function'))), this.rows));
        this.element = el('div.pane', null, this.top, this.tools = el('div.tools', null, ...Object.values(this.buttons),
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
    async update() {
        const s = this.app.state;
        if (!s.other && this.app.files < 2) {
            this.app.problem(this.element, 'Nothing to compare with. Open two files (kelvin view BEFORE AFTER), or select a range in the timeline and drag a second one with Shift.');
            return;
        }
        const question = {...this.app.selection(), ask: 'compare', force: this.force};
        if (s.other) question.other_time = s.other;
        else delete question.file;
        const key = JSON.stringify(question);
        if (key === this.asked) return;
        const answer = await this.app.ask('compare', question);
        if (!answer) return;
        this.asked = key;
        this.app.problem(this.element, answer.error || null);
        if (answer.error) return;
        this.tools.hidden = this.tableBox.hidden = !!answer.refused;
        if (answer.refused) {
            this.flame.box.hidden = true;
            this.top.replaceChildren(el('h2', null, 'These profiles are not alike'), ...answer.refused.trim().split('\n').map(r => el('p', null, r)),
                button('Compare anyway', 'The result may mean nothing', () => { this.force = true; this.update(); }));
            return;
        }
        this.diff = answer.diff;
        this.turn(this.as);
        this.showVerdict();
        this.list();
        if (this.as === 'flame') this.draw();
    }
    showVerdict() {
        const d = this.diff, words = {improved: 'Improved', regressed: 'Regressed', unchanged: 'Unchanged', inconclusive: 'Inconclusive'};
        const tone = {improved: 'down', regressed: 'up'}[d.verdict];
        this.top.replaceChildren(el('p.verdict', null, el(tone ? 'b.' + tone : 'b', null, words[d.verdict] || d.verdict), ': ', d.why), el('p', null, d.basis + (d.basis.endsWith('.') ? '' : '.')),
            ...(d.forced ? [el('p.up', null, 'Compared anyway, although: ' + d.forced)] : []));
    }
    list() {
        for (const k of ['self', 'total']) this.buttons[k].setAttribute('aria-pressed', this.by === k);
        this.buttons.only.setAttribute('aria-pressed', this.only);
        const size = f => Math.abs(f[this.by].difference || 0);
        const list = this.diff.functions.filter(f => !this.only || f[this.by].proven).sort((a, b) => (b[this.by].proven - a[this.by].proven) || size(b) - size(a)).slice(0, 300);
        this.rows.replaceChildren(...list.map(f => {
            const v = f[this.by], tone = v.proven ? (v.difference > 0 ? 'up' : 'down') : '';
            return el(v.proven ? 'tr' : 'tr.grey', {title: f.name}, el('td.r', null, share(v.before)), el('td.r', null, share(v.after)), el(tone ? 'td.r.' + tone : 'td.r', null, points(v.difference)),
                el('td.r', null, v.low === null ? '' : `${points(v.low)} to ${points(v.high)}`), el(tone ? 'td.r.' + tone : 'td.r', null, cost(f, v)), el('td.r', null, v.p_adjusted === null ? '' : v.p_adjusted < 0.0001 ? '<0.0001' : v.p_adjusted.toFixed(4)),
                el('td.s', null, f.not_compared ? 'not compared' : v.proven ? 'proven' : ''), el('td.n', null, f.name + (f.possibly_renamed ? ` (renamed? ${f.possibly_renamed})` : '')));
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
        return p && p.total.proven ? colour(p.total.difference > 0 ? 'grown' : 'shrunk') : colour('blocked');
    }
    facts(i) {
        const p = this.paths[i];
        if (!p) return [];
        return [['total', `${share(p.total.before)} → ${share(p.total.after)}`], ['self', `${share(p.self.before)} → ${share(p.self.after)}`], ['cost', cost(p, p.total)], ['', p.total.proven ? 'proven' : 'not proven: may be chance']];
    }
}
