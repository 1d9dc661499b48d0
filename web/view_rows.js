// A table of which only what is in sight has elements: of 10^6 rows, a screen and a little.
import { el } from './view_text.js';

const PAGE = 64, BESIDE = 24; // rows asked for at a time; kept above and below what is in sight
const MOST = 600000; // rows that browsers can scroll over

export class Rows {
    // DOES: ask(skip, top) gives {n, rows} or null; make(row, index) its element; placed() when others are in sight; chosen(element)
    // and enter(element) by keyboard.
    constructor(label, describe, does) {
        this.does = does;
        this.head = el('tr');
        this.body = el('tbody');
        this.table = el('table', {role: 'grid', 'aria-label': label}, el('thead', null, this.head), this.body);
        this.tall = el('div.tall', null, this.table);
        this.box = el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': describe, onscroll: () => this.show(), onkeydown: e => this.key(e)}, this.tall);
        this.n = this.from = this.to = 0;
        this.wanted = null;
        new ResizeObserver(() => this.show()).observe(this.box);
    }
    // The titles of the columns. The one that has the focus keeps it: who sorts by keyboard goes on from there.
    titles(...cells) {
        const held = this.head.contains(document.activeElement) ? document.activeElement.title : null;
        this.head.replaceChildren(...cells);
        const again = held && [...this.head.querySelectorAll('button')].find(b => b.title === held);
        if (again) again.focus({preventScroll: true});
    }
    get reachable() { return Math.min(this.n, MOST); }
    // Begin anew with the first of N rows.
    begin(n, rows) {
        this.n = n;
        this.known = new Map([[0, rows]]);
        this.from = this.to = 0;
        this.turn = this.wanted = null;
        this.table.setAttribute('aria-rowcount', n + 1);
        this.box.scrollTop = 0;
        this.place(0, Math.min(rows.length, this.reachable));
    }
    static get page() { return PAGE; }
    height() {
        const row = this.body.firstElementChild;
        return row && row.getBoundingClientRect().height || 24;
    }
    // What is in sight gets its elements; what is not here yet is asked for first.
    async show() {
        if (!this.n || !this.box.clientHeight) return;
        const h = this.height(), top = Math.floor(this.box.scrollTop / h), end = Math.min(this.reachable, Math.ceil((this.box.scrollTop + this.box.clientHeight) / h));
        if (top >= this.from && end <= this.to) return;
        const from = Math.max(0, Math.min(top, end - 1) - BESIDE), to = Math.min(this.reachable, end + BESIDE), turn = this.turn = {}, known = this.known;
        for (let page = Math.floor(from / PAGE); page * PAGE < to; page++) {
            if (known.has(page)) continue;
            const list = await this.does.ask(page * PAGE, PAGE);
            if (known !== this.known) return; // another list
            if (list && !list.error) known.set(page, list.rows);
            if (turn !== this.turn || !known.has(page)) return;
        }
        this.place(from, to);
    }
    row(i) { return (this.known.get(Math.floor(i / PAGE)) || [])[i % PAGE]; }
    place(from, to) {
        const held = this.body.contains(document.activeElement) ? +document.activeElement.dataset.index : -1, h = this.height(), made = [];
        for (let i = from; i < to && this.row(i); i++) {
            const row = this.does.make(this.row(i), i);
            row.dataset.index = i;
            row.setAttribute('aria-rowindex', i + 2);
            made.push(row);
        }
        this.body.replaceChildren(...made);
        this.from = from;
        this.to = from + made.length;
        this.tall.style.paddingTop = from * h + 'px';
        this.tall.style.height = made.length < this.n ? this.reachable * h + this.head.offsetHeight + 'px' : '';
        if (held >= 0) (this.at(held) || this.box).focus({preventScroll: true});
        this.does.placed();
        this.arrive();
    }
    at(i) { return i >= this.from && i < this.to ? this.body.children[i - this.from] : null; }
    // Bring row I into sight, and choose it.
    async go(i) {
        const h = this.height(), head = this.head.offsetHeight, low = i * h, high = low + h + head - this.box.clientHeight;
        if (this.box.scrollTop > low) this.box.scrollTop = low;
        else if (this.box.scrollTop < high) this.box.scrollTop = high;
        this.wanted = i;
        this.arrive();
        await this.show();
    }
    // Its rows may come with a later question: scrolling asks too.
    arrive() {
        const row = this.wanted === null ? null : this.at(this.wanted);
        if (!row) return;
        this.wanted = null;
        row.focus({preventScroll: true});
        this.does.chosen(row);
    }
    key(e) {
        const now = document.activeElement && this.body.contains(document.activeElement) ? document.activeElement.closest('tr') : null;
        const i = now ? +now.dataset.index : -1, screen = Math.max(1, Math.floor(this.box.clientHeight / this.height()) - 2), last = this.reachable - 1;
        const to = {ArrowDown: i + 1, ArrowUp: i - 1, PageDown: i + screen, PageUp: i - screen, Home: 0, End: last}[e.key];
        if (to !== undefined && this.n && !e.ctrlKey && !e.metaKey && !e.altKey) {
            e.preventDefault();
            this.go(Math.max(0, Math.min(last, to)));
        } else if (e.key === 'Enter' && now) {
            this.does.enter(now);
        }
    }
}
