// What this recording is: kind, loss, quality, host, provenance; and the sheet of keys.
import { el, button, share, time, count } from './view_text.js';

// The column that counts samples; null where the input has none.
const samplesOf = stream => { const column = stream.values.find(v => v.role === 'samples'); return column ? count(column.total) : null; };

export class AboutPane {
    constructor(app) {
        this.app = app;
        this.body = el('div.body');
        this.element = el('div.pane', null, el('div.scroll', {tabindex: 0}, this.body));
    }
    update() {
        const a = this.app.about, i = a.info, q = i.quality;
        const list = pairs => el('div.facts', null, el('dl', null, ...pairs.filter(p => p[1] !== null && p[1] !== undefined && p[1] !== '').flatMap(([k, v]) => [el('dt', null, k), el('dd', null, String(v))])));
        const known = v => v === null || v === undefined ? 'not known' : v;
        this.body.replaceChildren(
            el('h2', null, 'How this was obtained'), el('p', null, a.caption),
            ...i.streams.flatMap(s => [el('h2', null, 'Event: ' + (s.event || 'samples')), list([['kind', known(s.kind)], ['rows', count(s.rows)], ['samples', samplesOf(s)], ['lost', known(s.lost)],
                ['rate', s.rate_hz ? s.rate_hz + ' Hz' + (s.rate_achieved_hz ? `, achieved ${Math.round(s.rate_achieved_hz)}` : '') : 'not known'], ['throttled', s.throttled], ['unfinished stacks', known(s.unfinished)],
                ['times', s.times ? 'yes' : 'no'], ['values', s.values.map(v => `${v.name} (${v.unit || v.dimension})`).join(', ')]])]),
            el('h2', null, 'Quality'), list([['samples', known(q.samples === null ? null : count(q.samples))], ['distinct stacks', count(q.distinct_stacks)], ['depth', `${q.mean_depth.toFixed(1)} on average, ${q.max_depth} at most`],
                ['frames without a name', share(q.unnamed_share)], ['samples without a stack', share(q.empty_share)], ['span', q.span_ns ? time(q.span_ns) : ''], ['sampled', q.sampled_share < 1 ? share(q.sampled_share) + ' of the CPU time' : '']]),
            el('h2', null, 'Provenance'), list(Object.entries(i.meta)));
    }
}

const KEYS = [
    ['1 … 9  0', 'the first ten tabs'], ['[  ]', 'the tab before and the next'], ['/', 'search; Enter keeps it, Escape ends it'], ['↑ ↓ ← →', 'walk frames, rows and trees'], ['Enter', 'zoom to the frame; callers of the row'], ['Escape', 'zoom out, end the search'],
    ['f', 'focus: only stacks with the chosen function'], ['i', 'ignore: no stacks with it'], ['h', 'hide: leave it out, its time goes to its callers'], ['s', 'subtree: only what is called from the chosen frame'], ['e', 'collapse its recursion'], ['o', 'collapse its module into one frame'], ['m', 'merge direct recursion of all functions'], ['c', 'callers and callees of it'], ['d', 'its source and instructions'], ['k', 'copy its call stack'], ['t', 'turn the tree: callers first'],
    ['Shift F10', 'or the menu key, or a right click: all that can be done with the frame, row or lane'],
    ['Backspace', 'remove the last crumb'], ['r', 'select everything again'], ['z  Shift z', 'undo and redo; the browser\'s Back and Forward do the same'], ['y', 'copy as command'], ['l', 'copy the link'],
    ['+ − ← →', 'in the timeline: zoom and move'], ['Shift ← →', 'in the timeline: make a range, move its end'], ['Shift drag', 'in the timeline: a second range, to compare'], ['?', 'this sheet'],
];

export function showKeys() {
    const close = () => sheet.remove();
    const inner = el('div', {role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Keys', tabindex: -1}, el('h2', null, 'Keys'), el('dl', null, ...KEYS.flatMap(([k, what]) => [el('dt', null, el('kbd', null, k)), el('dd', null, what)])), button('Close', 'Escape', close));
    const sheet = el('div.sheet', {onclick: e => { if (e.target === sheet) close(); }, onkeydown: e => { if (e.key === 'Escape' || e.key === '?') { e.stopPropagation(); close(); } }}, inner);
    document.getElementById('app').append(sheet);
    inner.querySelector('button').focus();
}
