// What the recording has besides: insights, heap, locks, scopes, waits. Numbers as the commands of the terminal give them.
import { el, button, share, time, bytes, count, whisker } from './view_text.js';

const head = (...titles) => el('thead', null, el('tr', null, ...titles.map(t => el(t.startsWith('>') ? 'th.r' : 'th', null, t.replace('>', '')))));
const cells = values => values.map(v => typeof v === 'object' && v ? v : el('td.r', null, v === null || v === undefined ? '' : String(v)));
const name = (text, title) => el('td.n', {title: title || text}, text);
const table = (label, titles, rows) => el('table', {'aria-label': label}, head(...titles), el('tbody', null, ...rows));
const insights = (list, app) => list.map(i => el(i.about === 'recording' ? 'div.insight.data' : 'div.insight', null,
    el('p', null, el('b', null, i.title || i.id), ': ', i.text || i.evidence, '.'), i.advice ? el('p', null, i.advice) : null, jump(i, app)));

// From an insight to its evidence: the first function of the profile that its words name.
function jump(insight, app) {
    const words = (insight.evidence || insight.text || '').match(/[A-Za-z_~][\w:~.<>*&-]{2,}/g) || [];
    const known = words.find(w => app && app.known && app.known.has(w));
    return known ? el('p', null, button('Show ' + known, 'Callers and callees of it', () => app.change({tab: 'callers', fn: known}))) : null;
}

class Story {
    constructor(app, ask, follows) {
        this.app = app;
        this.what = ask;
        this.follows = follows;
        this.body = el('div.body');
        this.element = el('div.pane', null, el('div.scroll', {tabindex: 0}, this.body));
    }
    async update() {
        const question = {...(this.follows ? this.app.selection() : {file: this.app.state.file}), ask: this.what}, key = JSON.stringify(question);
        if (key === this.asked) return;
        const answer = await this.app.ask(this.what, question);
        if (!answer) return;
        this.asked = key;
        if (answer.error) {
            this.body.replaceChildren(el('p.message', null, answer.error));
            return;
        }
        if (this.what === 'report') await this.learn();
        this.body.replaceChildren(...this.show(answer[this.what]).filter(e => e));
    }
    async learn() {
        const list = await this.app.ask('known', {...this.app.selection(), ask: 'list', by: 'function', sort: 'total', top: 400});
        this.app.known = new Set(list && !list.error ? list.rows.map(r => r.name) : []);
    }
}

export class InsightsPane extends Story {
    constructor(app) { super(app, 'report', true); }
    show(r) {
        const about = r.insights.filter(i => i.about !== 'recording'), data = r.insights.filter(i => i.about === 'recording');
        const rows = list => {
            const full = Math.max(...list.map(f => f.self.high || f.self.share));
            return list.map(f => el('tr', null, ...cells([el('td.r', null, share(f.self.share, f.self.low, f.self.high)), el('td.w', null, whisker(f.self.share, f.self.low, f.self.high, full)), count(f.self_samples), name(f.name)])));
        };
        return [el('h2', null, 'What stands out'), ...(about.length ? insights(about, this.app) : [el('p', null, 'Nothing stands out beyond sampling error.')]),
            data.length ? el('h2', null, 'About this recording') : null, ...insights(data),
            r.modules && r.modules.length > 1 ? el('h2', null, 'Modules') : null, r.modules && r.modules.length > 1 ? table('Modules', ['>self', '', '>samples', 'module'], rows(r.modules)) : null,
            r.threads && r.threads.length > 1 ? el('h2', null, 'Threads') : null, r.threads && r.threads.length > 1 ? table('Threads', ['>share', '', '>samples', 'thread'], rows(r.threads)) : null];
    }
}

export class HeapPane extends Story {
    constructor(app) { super(app, 'heap', false); }
    show(h) {
        const fact = (t, v) => v ? [el('dt', null, t), el('dd', null, v)] : [];
        return [el('h2', null, 'Heap'), el('div.facts', null, el('dl', null,
            ...fact('peak', bytes(h.peak) + (h.peak_seconds !== undefined && h.peak_seconds !== null ? ` at ${time(h.peak_seconds * 1e9)}` : '')), ...fact('never freed', `${bytes(h.leaked)} in ${count(h.leaked_blocks)} blocks`),
            ...fact('allocated', `${bytes(h.allocated)} in ${count(h.allocations)} allocations`), ...fact('temporary', h.temporary_share ? share(h.temporary_share) + ' of the allocations' : ''),
            ...fact('RSS, max', h.rss_max ? bytes(h.rss_max) : ''), ...fact('seen', h.sampled ? `a sample: ${count(h.samples)} blocks` : 'every block'))),
            ...insights(h.insights, this.app), el('h2', null, 'Places that allocate'),
            table('Places', ['>at the peak', '', '>never freed', '>allocated', '>allocations', 'function', ''], [...h.places].sort((a, b) => b.peak - a.peak || b.allocated - a.allocated).map(p => el('tr', {title: p.function, tabindex: 0, onclick: () => this.app.choose(p.function)},
                ...cells([bytes(p.peak), el('td.w', null, whisker(p.peak_share || 0, null, null, 1)), bytes(p.leaked), bytes(p.allocated), count(p.allocations), name(p.function), el('td.m', null, p.grows ? 'keeps growing' : '')]))))];
    }
}

export class LocksPane extends Story {
    constructor(app) { super(app, 'locks', false); }
    show(l) {
        const path = p => (p.stack || p.path || p.function || []).toString().split(',').slice(0, 4).join(' ← ');
        const place = p => typeof p.stack === 'string' ? p.stack : Array.isArray(p.stack) ? p.stack.map(f => f.function || f).slice(0, 5).join(' ← ') : path(p);
        return [el('h2', null, 'Locks'), el('p', null, `${count(l.waits)} waits, ${time(l.wait_ns)} in total`), ...insights(l.insights, this.app),
            ...l.locks.flatMap(k => [el('h2', null, `${k.name || k.lock}${k.kind ? ' (' + k.kind + ')' : ''}`),
                el('p', null, `${count(k.waits)} waits, ${time(k.wait_ns)} in total, longest ${time(k.longest_ns ?? k.max_ns ?? 0)}`),
                table('Threads that waited', ['>waits', '>time', '>longest', 'waited at'], (k.waiters || []).map(p => el('tr', null, ...cells([count(p.waits), time(p.wait_ns ?? p.ns ?? 0), time(p.longest_ns ?? p.max_ns ?? 0), name(place(p))])))),
                (k.holders || []).length ? table('Holders', ['>waits', '>time', '>longest', 'held at'], k.holders.map(p => el('tr', null, ...cells([count(p.waits), time(p.wait_ns ?? p.ns ?? 0), time(p.longest_ns ?? p.max_ns ?? 0), name(place(p))])))) : null]),
            l.inversions && l.inversions.length ? el('h2', null, 'Locks taken in opposite orders: these can deadlock') : null,
            ...(l.inversions || []).map(i => el('p', null, Array.isArray(i.locks) ? i.locks.join(' → ') : JSON.stringify(i)))];
    }
}

const quantile = q => q ? time(q.ns) : '';
const within = q => q && q.low !== null ? `${time(q.low)} to ${q.high === null ? 'not bounded' : time(q.high)}` : '';

export class ScopesPane extends Story {
    constructor(app) { super(app, 'scopes', true); }
    show(s) {
        const depth = i => { let d = 0; for (let p = s.tree[i].parent; p !== null && p !== undefined; p = s.tree[p].parent) d++; return d; };
        const row = (n, d) => el('tr', {tabindex: 0, onclick: () => this.app.toggle('scope', '^' + n.scope.replace(/[.^$*+?()[\]{}|\\]/g, '\\$&') + '$')},
            ...cells([count(n.calls), time(n.total_ns), time(n.self_ns), time(n.min_ns), el('td.r', {title: '95% interval ' + within(n.p50)}, quantile(n.p50)), el('td.r', {title: '95% interval ' + within(n.p90)}, quantile(n.p90)), el('td.r', {title: '95% interval ' + within(n.p99)}, quantile(n.p99)), time(n.max_ns), name('\u00a0'.repeat(3 * d) + n.scope)]));
        const titles = ['>calls', '>total', '>self', '>min', '>median', '>90th', '>99th', '>max', 'scope'];
        return [el('h2', null, 'Scopes, nested as the program nests them'), el('p', null, `${count(s.spans)} spans, ${count(s.lost)} lost. Times are wall time. A click selects what happened inside.`),
            table('Scopes', titles, s.tree.map((n, i) => row(n, depth(i)))), el('h2', null, 'By name'), table('Scopes by name', titles, s.flat.map(n => row(n, 0)))];
    }
}

export class WaitsPane extends Story {
    constructor(app) { super(app, 'waits', true); }
    show(w) {
        const part = ns => share(w.wall_ns ? ns / w.wall_ns : 0);
        const bar = t => {
            const box = el('div.bar', {role: 'img', 'aria-label': `running ${time(t.running_ns)}, runnable ${time(t.runnable_ns)}, blocked ${time(t.blocked_ns)}`});
            let at = 0;
            for (const [ns, tone] of [[t.running_ns, 'run'], [t.runnable_ns, 'runnable'], [t.blocked_ns, 'blocked']]) {
                const piece = el('b'), width = t.wall_ns ? 100 * ns / t.wall_ns : 0;
                piece.style.left = at + '%';
                piece.style.width = width + '%';
                piece.style.background = `var(--${tone})`;
                at += width;
                box.append(piece);
            }
            return el('td.w', null, box);
        };
        return [el('h2', null, 'Off-CPU time'), el('p', null, `Of ${time(w.wall_ns)} wall time of all threads: running ${part(w.running_ns)}, runnable ${part(w.runnable_ns)}, blocked ${part(w.blocked_ns)}` + (w.unknown_ns ? `, unknown ${part(w.unknown_ns)}` : '') + `. ${count(w.waits)} waits, ${count(w.lost)} records lost.`),
            ...insights(w.insights, this.app), el('h2', null, 'By reason'), table('By reason', ['>waits', '>time', '>longest', 'reason'], w.reasons.map(r => el('tr', null, ...cells([count(r.waits), time(r.ns), time(r.max_ns), name(r.reason)])))),
            el('h2', null, 'By thread'), table('By thread', ['>wall', '', '>running', '>runnable', '>blocked', 'thread'], w.threads.map(t => el('tr', {tabindex: 0, onclick: () => this.app.toggle('thread', String(t.tid))}, ...cells([time(t.wall_ns), bar(t), time(t.running_ns), time(t.runnable_ns), time(t.blocked_ns), name(`${t.thread} ${t.tid}`)])))),
            el('h2', null, 'Where'), table('Where', ['>waits', '>time', '>longest', 'reason', 'stack'], w.stacks.map(s => el('tr', null, ...cells([count(s.waits), time(s.ns), time(s.max_ns), el('td.m', null, s.reason), name(s.stack.filter(f => !f.kernel).concat(s.stack).slice(0, 5).map(f => f.function).join(' ← '), s.stack.map(f => f.function).join('\n'))])))),
            ...((w.wakers || []).length ? [el('h2', null, 'Who ended the waits'), table('Who ended the waits', ['>wakeups', '>blocked', 'reason', 'woken by', 'from', 'where it waited'], w.wakers.map(k => {
                const from = k.stack.filter(f => f.waker && !f.function.startsWith('[woken by ')), at = k.stack.filter(f => !f.waker && !f.kernel);
                return el('tr', null, ...cells([count(k.wakeups), time(k.blocked_ns), el('td.m', null, k.reason), el('td.m', null, k.waker), name(from.slice(0, 3).map(f => f.function).join(' ← '), from.map(f => f.function).join('\n')), name(at.slice(0, 3).map(f => f.function).join(' ← '), at.map(f => f.function).join('\n'))]));
            }))] : [])];
    }
}
