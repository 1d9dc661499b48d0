// What the recording has besides: insights, heap, locks, scopes, waits. Numbers as the commands of the terminal give them.
import { el, button, share, time, moment, micro, bytes, count, whisker } from './view_text.js';

// '>' is a column of numbers; '~' is left out where the window is narrow, '~~' where it is very narrow.
const head = (...titles) => el('thead', null, el('tr', null, ...titles.map(t => el(t.startsWith('>') ? 'th.r' : 'th', null, t.replace(/[>~]/g, '')))));
const cells = values => values.map(v => typeof v === 'object' && v ? v : el('td.r', null, v === null || v === undefined ? '' : String(v)));
const name = (text, title) => el('td.n', {title: title || text}, text);
// Blocks are sampled by bytes, so their number may be known to a factor of hundreds only.
const blocks = (n, interval, what) => interval ? ` in ${count(Math.round(interval[0]))} to ${count(Math.round(interval[1]))} ${what} (95%)` : ` in ${count(n)} ${what}`;
const table = (label, titles, rows) => {
    const whole = el('table', {'aria-label': label}, head(...titles), el('tbody', null, ...rows));
    titles.forEach((t, i) => {
        if (t.endsWith('~')) for (const row of whole.rows) if (row.cells[i]) row.cells[i].classList.add(t.endsWith('~~') ? 'mid' : 'wide');
    });
    return whole;
};
const insights = (list, app) => list.map(i => el(i.about === 'recording' ? 'div.insight.data' : 'div.insight', null,
    el('p', null, el('b', null, i.title || i.id), ': ', micro(i.text || i.evidence), '.'), i.advice ? el('p', null, micro(i.advice)) : null, jump(i, app)));

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
        const question = {...this.question(), ask: this.what, ...(this.what === 'report' ? {brief: true} : {})}, key = JSON.stringify([question, this.note()]);
        if (key === this.asked) return;
        const answer = await this.app.ask(this.what, question);
        if (!answer) return;
        this.asked = key;
        if (answer.error) {
            this.body.replaceChildren(el('p.message', null, answer.error));
            return;
        }
        if (this.what === 'report') await this.learn();
        const note = this.note();
        this.body.replaceChildren(...(note ? [el('p.apart', {role: 'note'}, note)] : []), ...this.show(answer[this.what], answer).filter(e => e));
    }
    // FOLLOWS: 'all' of the selection, what selects 'rows' whatever their stack, its 'time', or nothing of it.
    question() {
        const all = this.app.selection();
        if (this.follows === 'all') return all;
        if (this.follows === 'rows') return Object.fromEntries(Object.entries(all).filter(([key]) => /^(file|time|thread|process|where)$/.test(key)));
        return {file: all.file, ...(this.follows === 'time' && all.time ? {time: all.time} : {})};
    }
    // Which crumbs do not apply here, in words; '' where all do.
    note() {
        const {file, event, value, time, ...others} = this.app.selection();
        if (this.follows === 'rows') return Object.keys(others).some(key => !/^(thread|process|where)$/.test(key)) ? 'Filters by function or scope do not apply to this pane: of the selection, it follows time, threads, processes and labels.' : '';
        if (this.follows === 'all' || !(Object.keys(others).length || (time && this.follows !== 'time'))) return '';
        return this.follows === 'time' ? 'Of the selection, only the time range applies to this pane.' : 'The selection does not apply to this pane: it shows the whole recording.';
    }
    async learn() {
        const list = await this.app.ask('known', {...this.app.selection(), ask: 'list', by: 'function', sort: 'total', top: 400});
        this.app.known = new Set(list && !list.error ? list.rows.map(r => r.name) : []);
    }
}

export class InsightsPane extends Story {
    constructor(app) { super(app, 'report', 'all'); }
    show(r) {
        const about = r.insights.filter(i => i.about !== 'recording'), data = r.insights.filter(i => i.about === 'recording');
        const rows = (list, kind) => {
            const full = Math.max(...list.map(f => f.self.high || f.self.share));
            return list.map(f => el('tr', {'data-name': f.name, 'data-kind': kind, tabindex: 0}, ...cells([el('td.r', null, share(f.self.share, f.self.low, f.self.high)), el('td.w', null, whisker(f.self.share, f.self.low, f.self.high, full)), count(f.self_samples), name(f.name)])));
        };
        return [el('h2', null, 'What stands out'), ...(about.length ? insights(about, this.app) : [el('p', null, 'Nothing stands out beyond sampling error.')]),
            data.length ? el('h2', null, 'About this recording') : null, ...insights(data),
            r.modules && r.modules.length > 1 ? el('h2', null, 'Modules') : null, r.modules && r.modules.length > 1 ? table('Modules', ['>self', '', '>samples', 'module'], rows(r.modules, 'module')) : null,
            r.threads && r.threads.length > 1 ? el('h2', null, 'Threads') : null, r.threads && r.threads.length > 1 ? table('Threads', ['>share', '', '>samples', 'thread'], rows(r.threads, 'thread')) : null];
    }
}

export class HeapPane extends Story {
    constructor(app) { super(app, 'heap', 'time'); }
    show(h) {
        const fact = (t, v) => v ? [el('dt', null, t), el('dd', null, v)] : [];
        return [el('h2', null, 'Heap'), el('div.facts', null, el('dl', null,
            ...fact('peak', bytes(h.peak) + (h.peak_seconds !== undefined && h.peak_seconds !== null ? ` at ${moment(h.peak_seconds * 1e9, (h.seconds || h.peak_seconds) * 1e9)}` : '')), ...fact('never freed', bytes(h.leaked) + blocks(h.leaked_blocks, h.leaked_blocks_interval, 'blocks')),
            ...(h.range ? fact('live', `${bytes(h.live_at_range_start)} at the start of the range, ${bytes(h.live_at_range_end)} at its end`) : []),
            ...fact('allocated', bytes(h.allocated) + blocks(h.allocations, h.allocations_interval, 'allocations') + (h.allocations_per_second ? `, ${count(h.allocations_per_second)} per second` : '')),
            ...fact('temporary', h.temporary_share !== undefined ? share(h.temporary_share) + ' of the allocations: freed by the same thread before its next one' : ''),
            ...fact('under a lock', h.under_lock_share ? share(h.under_lock_share) + ' of the allocations' : ''),
            ...fact('small blocks', h.small_block_overhead ? `${count(h.small_blocks)}, with ${bytes(h.small_block_overhead)} of the allocator's own` : ''),
            ...fact('RSS, max', h.rss_max ? bytes(h.rss_max) : ''), ...fact('seen', h.sampled ? `a sample: ${count(h.samples)} blocks` : 'every block'))),
            ...insights(h.insights, this.app), el('h2', null, 'Places that allocate'),
            table('Places', ['>at the peak', '~~', '>never freed', '>allocated~~', '>allocations~~', 'function', '~~'], [...h.places].sort((a, b) => b.peak - a.peak || b.allocated - a.allocated).map(p => el('tr', {title: p.function, 'data-name': p.function, tabindex: 0, onclick: () => this.app.choose(p.function)},
                ...cells([bytes(p.peak), el('td.w', null, whisker(p.peak_share || 0, null, null, 1)), bytes(p.leaked), bytes(p.allocated), p.mean_bytes !== undefined ? count(p.allocations) : '-', name(p.function), el('td.m', null, p.grows ? 'keeps growing' : '')]))))];
    }
}

// Locks keep others out; threads also wait for conditions, semaphores and barriers, and may be idle there.
const excludes = k => /^(mutex|rwlock)/.test(k.kind);
const threads = list => (list || []).length > 1 ? `${list[0].name} and ${list.length - 1} more` : (list || []).map(t => t.name).join();
const stacked = (list, most) => (list || []).slice(0, most).join(' ← ');

export class LocksPane extends Story {
    constructor(app) { super(app, 'locks', 'none'); }
    total(list, one, more, end) {
        const waits = list.reduce((n, k) => n + k.waits, 0), ns = list.reduce((n, k) => n + k.wait_ns, 0);
        return waits ? el('p', null, `${count(waits)} wait${waits === 1 ? '' : 's'} for ${count(list.length)} ${list.length === 1 ? one : more}: ${time(ns)} in total, all threads together.${end}`) : null;
    }
    list(title, all) {
        return all.length ? [el('h2', null, title), table(title, ['>wait', '>waits', '>mean~~', '>longest', '>held~', '>threads~~', 'kind~~', 'lock'], all.map(k => el('tr', null,
            ...cells([time(k.wait_ns), count(k.waits), time(k.wait_ns / k.waits), time(k.longest_ns), k.holds ? time(k.held_ns / k.holds) : '', count(k.threads.length), el('td.m', null, k.kind), name(k.lock)]))))] : [];
    }
    // Both sides of one lock: threads that waited, and those that held it, or woke them.
    sides(k) {
        const held = excludes(k) ? 'held' : 'woke', side = word => p => el('tr', null, ...cells([el('td.s', null, word), time(p.wait_ns), count(p.waits), time(p.longest_ns), el('td.m', {title: p.threads.map(t => `${t.name} ${t.tid}`).join('\n')}, threads(p.threads)), name(stacked(p.stack, 6), p.stack.join('\n'))]));
        const h = k.longest_hold;
        return [el('h2', null, `${k.lock} (${k.kind})`), table(k.lock, ['', '>wait', '>waits', '>longest~~', 'thread~~', 'call stack'], [...k.waiters.map(side('waited')), ...(k.holders || []).map(side(held))]),
            k.holds && h ? el('p.note', null, `${count(k.holds)} hold${k.holds === 1 ? ' was' : 's were'} timed during which a wait began: ${time(k.held_ns / k.holds)} on average. The longest took ${time(h.ns)} and ended in ${stacked(h.stack, 3)} (thread ${h.thread}).`) : null,
            excludes(k) && k.holder_known < k.waits ? el('p.note', null, `The holder's stack is known for ${(100 * k.holder_known / k.waits).toFixed(0)}% of the waits.`) : null];
    }
    show(l) {
        const waited = l.locks.filter(k => k.waits), locks = waited.filter(excludes), others = waited.filter(k => !excludes(k));
        return [el('h2', null, 'Locks'), this.total(locks, 'lock', 'locks', '') || el('p', null, 'No call that locks a mutex or read-write lock had to wait.'),
            l.woken_in_vain ? el('p', null, `The kernel saw ${count(l.blocked_waits)} wait${l.blocked_waits === 1 ? '' : 's'} inside these calls: at least ${count(l.woken_in_vain)} time${l.woken_in_vain === 1 ? '' : 's'} a thread woke, found the lock taken again and waited once more.`) : null,
            this.total(others, 'condition, semaphore or barrier', 'conditions, semaphores or barriers', ' Threads may just have been idle.'),
            l.retaken_waits ? el('p', null, `At the end of waits for a condition, threads waited ${count(l.retaken_waits)} time${l.retaken_waits === 1 ? '' : 's'} for its mutex, which another thread held: ${time(l.retaken_ns)} in total.`) : null,
            l.futex_waits ? el('p', null, `The kernel also saw ${count(l.futex_waits)} wait${l.futex_waits === 1 ? '' : 's'} for futexes outside of pthreads, ${time(l.futex_ns)} in total.`) : null,
            l.lost ? el('p.up', null, `${count(l.lost)} records were lost: counts and times are too low.`) : null,
            ...insights(l.insights, this.app), ...this.list('Locks that threads waited for', locks), ...this.list('Conditions, semaphores, barriers', others), ...waited.flatMap(k => this.sides(k)),
            locks.length ? el('p.note', null, 'Held: the thread that had the lock when the wait began, with the stack at which it released the lock.') : null];
    }
}

const quantile = q => q ? time(q.ns) : '';
const within = q => q && q.low !== null ? `${time(q.low)} to ${q.high === null ? 'not bounded' : time(q.high)}` : '';

export class ScopesPane extends Story {
    constructor(app) { super(app, 'scopes', 'rows'); }
    // How often which latency occurred; one logarithmic axis for all scopes.
    histogram(bars, answer) {
        const most = Math.max(1, ...bars), box = el('div.hist', {role: 'img', 'aria-label': 'latencies'}), {latency_low_ns: low, latency_high_ns: high} = answer;
        const at = k => time(low * (high / low) ** (k / bars.length));
        bars.forEach((n, k) => {
            const bar = el('b', n ? {title: `${count(n)} from ${at(k)} to ${at(k + 1)}`} : null);
            bar.style.height = n ? Math.max(7, 100 * n / most) + '%' : 0;
            box.append(bar);
        });
        return el('td.h', null, box);
    }
    show(s, answer) {
        const depth = i => { let d = 0; for (let p = s.tree[i].parent; p !== null && p !== undefined; p = s.tree[p].parent) d++; return d; };
        const bars = new Map(s.flat.map((n, i) => [n, (answer.latencies || [])[i]]));
        const row = (n, d) => el('tr', {'data-name': n.scope, 'data-kind': 'scope', tabindex: 0, onclick: () => this.app.toggle('scope', '^' + n.scope.replace(/[.^$*+?()[\]{}|\\]/g, '\\$&') + '$')},
            ...cells([count(n.calls), time(n.total_ns), time(n.self_ns), time(n.min_ns), el('td.r', {title: '95% interval ' + within(n.p50)}, quantile(n.p50)), el('td.r', {title: '95% interval ' + within(n.p90)}, quantile(n.p90)), el('td.r', {title: '95% interval ' + within(n.p99)}, quantile(n.p99)), time(n.max_ns), bars.get(n) ? this.histogram(bars.get(n), answer) : null, name('\u00a0'.repeat(3 * d) + n.scope)].filter(c => c !== null)));
        const titles = ['>calls', '>total', '>self~~', '>min~', '>median~~', '>90th~', '>99th', '>max~~', 'scope'];
        return [el('h2', null, 'Scopes, nested as the program nests them'), el('p', null, `${count(s.spans)} spans, ${count(s.lost)} lost. Times are wall time. A click selects what happened inside.`),
            table('Scopes', titles, s.tree.map((n, i) => row(n, depth(i)))), el('h2', null, 'By name'), el('p', null, `Latencies are drawn from ${time(answer.latency_low_ns)} to ${time(answer.latency_high_ns)}, on a logarithmic axis.`),
            table('Scopes by name', [...titles.slice(0, -1), 'latencies~~', 'scope'], s.flat.map(n => row(n, 0)))];
    }
}

export class WaitsPane extends Story {
    constructor(app) { super(app, 'waits', 'all'); }
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
        const own = stack => stack.some(f => !f.kernel) ? stack.filter(f => !f.kernel) : stack; // the program's own frames, where there are any
        const whole = 'wall_ns' in w, off = w.reasons.reduce((sum, r) => sum + r.ns, 0);
        return [el('h2', null, 'Off-CPU time'), el('p', null, (whole ? `Of ${time(w.wall_ns)} wall time of all threads: running ${part(w.running_ns)}, runnable ${part(w.runnable_ns)}, blocked ${part(w.blocked_ns)}` + (w.unknown_ns ? `, unknown ${part(w.unknown_ns)}` : '') : `${time(off)} in total; wall time belongs to whole threads and is left out`) + `. ${count(w.waits)} waits, ${count(w.lost)} records lost.`),
            ...insights(w.insights, this.app), el('h2', null, 'By reason'), table('By reason', ['>waits', '>time', '>longest', 'reason'], w.reasons.map(r => el('tr', null, ...cells([count(r.waits), time(r.ns), time(r.max_ns), name(r.reason)])))),
            ...(whole ? [el('h2', null, 'By thread'), table('By thread', ['>wall', '~~', '>running', '>runnable~~', '>blocked', 'thread'], w.threads.map(t => el('tr', {'data-name': `${t.thread} ${t.tid}`, 'data-kind': 'thread', tabindex: 0, onclick: () => this.app.toggle('thread', String(t.tid))}, ...cells([time(t.wall_ns), bar(t), time(t.running_ns), time(t.runnable_ns), time(t.blocked_ns), name(`${t.thread} ${t.tid}`)]))))] : []),
            el('h2', null, 'Where'), table('Where', ['>waits', '>time', '>longest~~', 'reason', 'stack'], w.stacks.map(s => el('tr', null, ...cells([count(s.waits), time(s.ns), time(s.max_ns), el('td.m', null, s.reason), name(own(s.stack).slice(0, 5).map(f => f.function).join(' ← '), s.stack.map(f => f.function).join('\n'))])))),
            ...((w.wakers || []).length ? [el('h2', null, 'Who ended the waits'), table('Who ended the waits', ['>wakeups~~', '>blocked', 'reason~~', 'woken by', 'from~', 'where it waited'], w.wakers.map(k => {
                const from = k.stack.filter(f => f.waker && !f.function.startsWith('[woken by ')), at = k.stack.filter(f => !f.waker && !f.kernel);
                return el('tr', null, ...cells([count(k.wakeups), time(k.blocked_ns), el('td.m', null, k.reason), el('td.m', null, k.waker), name(from.slice(0, 3).map(f => f.function).join(' ← '), from.map(f => f.function).join('\n')), name(at.slice(0, 3).map(f => f.function).join(' ← '), at.map(f => f.function).join('\n'))]));
            }))] : [])];
    }
}
