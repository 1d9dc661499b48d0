// Source and instructions of a function side by side, with the heat of what is selected. What `kelvin annotate` prints.
import { el, button, seen, put } from './view_text.js';

const WORDS = new Set('auto bool break case char class const continue default do double else enum extern float fn for goto if impl inline int let long loop match mut namespace new private public return short signed sizeof static struct switch template typedef typename union unsigned using void volatile while'.split(' '));

// Comments, strings, numbers and words of C, C++ and Rust, as elements. Texts stay texts.
function coloured(text) {
    const parts = [];
    let last = 0;
    for (const m of text.matchAll(/(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:[^"\\]|\\.)*"?)|\b(\d[\w.]*)\b|\b([A-Za-z_]\w*)\b/g)) {
        const kind = m[1] ? 'c' : m[2] ? 's' : m[3] ? 'd' : WORDS.has(m[4]) ? 'w' : '';
        if (!kind) continue;
        parts.push(text.slice(last, m.index), el('span.' + kind, null, m[0]));
        last = m.index + m[0].length;
    }
    parts.push(text.slice(last));
    return parts;
}

const leaf = path => path.split('/').pop();

export class SourcePane {
    constructor(app) {
        this.app = app;
        this.input = el('input', {type: 'search', placeholder: 'Function', 'aria-label': 'Function whose code is shown', onchange: () => this.input.value && app.change({fn: this.input.value})});
        this.note = el('span.note', {role: 'status'});
        this.source = el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Source'});
        this.insns = el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Instructions'});
        this.words = el('p.note');
        this.element = el('div.pane', null, el('div.tools', null, this.input, button('Callers', 'Callers and callees of it', () => app.change({tab: 'callers', fn: this.input.value})), this.note),
            el('div.split.code', null, el('section', null, this.source), el('section', null, this.insns)));
    }
    async update() {
        // The function that was asked for, or the hottest whose code is here.
        const fn = this.app.state.fn || this.app.chosen || null;
        const question = {...this.app.selection(), ask: 'code', function: fn}, key = JSON.stringify(question);
        if (fn) this.input.value = fn;
        if (key === this.asked) return;
        await this.app.link.coded;
        const answer = await this.app.ask('code', question);
        if (!answer) return;
        this.asked = key;
        if (!fn) this.input.value = answer.function || '';
        this.source.replaceChildren();
        this.insns.replaceChildren();
        put(this.note, answer.error || '');
        this.element.querySelector('.split').hidden = !!answer.error;
        if (!answer.error) this.show(answer.code, answer.function);
    }
    show(code, fn) {
        this.code = code;
        put(this.note, code.words.trim().split('\n')[0] + (code.function === fn ? '' : ` Inlined into ${code.function}, which is shown.`));
        this.note.title = seen(code.words);
        this.source.replaceChildren(...code.parts.map(p => this.part(p)));
        if (!code.parts.length) this.source.append(el('p.message', null, 'No line of this function is known: the program has no debug information here.'));
        if (!code.blocks.length) this.insns.replaceChildren(el('p.message', null, 'The program was not there when this page was made: its lines are shown, its instructions are not.'));
        else this.insns.replaceChildren(el('table.listing', {'aria-label': 'Instructions, hottest block first'}, el('thead', null, el('tr', null, el('th.r', null, 'self'), el('th.r', null, 'total'), el('th.r', null, 'address'), el('th', null, 'instruction'), el('th.r', null, 'line'))),
            ...code.blocks.map(b => this.block(b))), ...(code.left_out ? [el('p.message', null, code.left_out)] : []));
        const hot = [...this.source.querySelectorAll('tr[data-heat]')].sort((a, b) => b.dataset.heat - a.dataset.heat)[0];
        // Not scrollIntoView: it would scroll all that is around as well.
        if (hot) this.source.scrollTop += hot.getBoundingClientRect().top - this.source.getBoundingClientRect().top - this.source.clientHeight / 2;
        this.source.scrollLeft = 0;
    }
    times(place) {
        return ['self_share', 'total_share'].map(k => {
            const cell = el('td.r', null, place[k] || '');
            if (place[k]) cell.style.background = `rgba(var(--heat),${(0.08 + 0.6 * place.heat).toFixed(3)})`;
            return cell;
        });
    }
    part(p) {
        const file = this.code.files[p.file];
        let last = 0;
        const rows = p.rows.flatMap(r => {
            const gap = last && r.line > last + 1;
            last = r.line;
            const row = el('tr', {'data-line': r.line, 'data-file': file.path, 'data-heat': r.total ? r.heat : null, tabindex: -1, onclick: () => this.light(file.path, r.line)},
                ...this.times(r), el('td.r.num', null, String(r.line)), el('td.src', null, ...coloured(r.text.replace(/\t/g, '    '))));
            return gap ? [el('tr', null, el('td.r'), el('td.r'), el('td.r.num', null, '⋮'), el('td.src')), row] : [row];
        });
        return el('section.part', null, el('h2', {title: file.path}, (p.inlined ? 'inlined: ' : '') + p.function, el('span.note', null, ` ${p.total_share} · ${leaf(file.path)}${file.note ? ' · ' + file.note : ''}`)),
            el('table.listing', {'aria-label': `Source of ${p.function}`}, el('thead', null, el('tr', null, el('th.r', null, 'self'), el('th.r', null, 'total'), el('th.r', null, 'line'), el('th', null, leaf(file.path)))), el('tbody', null, ...rows)));
    }
    block(b) {
        return el('tbody', null, el('tr.block', null, el('td.r', null, b.self_share), el('td', {colspan: 4}, `block ${b.block}${b.loop ? ', a loop' : b.in_loop ? ', in a loop' : ''}`)), ...b.insns.map(i => {
                const target = i.target && !/^block \d+$/.test(i.target) ? el('a', {href: '#', onclick: e => { e.preventDefault(); this.app.change({fn: i.target}); }}, i.target) : i.target ? el('span.note', null, i.target) : null;
                return el('tr', {'data-line': i.line || null, 'data-file': i.file || null, title: (i.inlined ? `inlined ${i.inlined}: ` : '') + (i.source || ''), tabindex: -1, onclick: () => i.line && this.light(i.file, i.line)},
                    ...this.times(i), el('td.r.num', null, i.pc), el('td.src', null, i.text, target ? ' → ' : null, target, i.class ? el('span.note', null, ' ' + i.class) : null), el('td.r.num', null, i.line ? String(i.line) : ''));
            }));
    }
    // A line and the instructions it became, or an instruction and its line.
    light(file, line) {
        for (const box of [this.source, this.insns]) {
            let first = null;
            for (const row of box.querySelectorAll('tr[data-line]')) {
                const on = row.dataset.line === String(line) && row.dataset.file === file;
                row.setAttribute('aria-selected', on);
                if (on && !first) first = row;
            }
            if (!first) continue;
            const row = first.getBoundingClientRect(), view = box.getBoundingClientRect(), head = 30;
            if (row.top < view.top + head) box.scrollTop += row.top - view.top - head;
            else if (row.bottom > view.bottom) box.scrollTop += row.bottom - view.bottom + 8;
        }
    }
}
