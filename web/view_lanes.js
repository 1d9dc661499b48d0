// The timeline: a lane for each thread, busiest first; states, scopes, counters. Drag selects a range.
import { el, time, moment, bytes, count } from './view_text.js';
import { openMenu } from './view_menu.js';
import { colour, paper, fit, fontOf, useFont, steps, momentText, showCard, addToCard, hideCard, onTheme } from './view_charts.js';

const PROCESS = 19, AXIS = 20, LANE = 30, BAND = 8, SPAN = 11, COUNTER = 34;

// What a blocked thread waits for, in families that can be told apart by colour; the card has the very reason.
const FAMILIES = [['lock', 'locks', ['lock', 'condition', 'futex', 'kernel lock']], ['io', 'files and sockets', ['pipe', 'socket', 'terminal', 'file', 'fsync']],
    ['fault', 'page faults', ['page fault']], ['idle', 'idle: poll, sleep, child', ['poll', 'sleep', 'child', 'signal', 'stopped']]];
const familyOf = new Map(FAMILIES.flatMap(([id, , reasons]) => reasons.map(r => [r, id])));

const SUMMED = 'over the life of the thread: it waited too often for each wait to be timed with its stack';

export class Lanes {
    constructor(app) {
        this.app = app;
        this.canvas = el('canvas', {'aria-hidden': 'true'});
        this.legend = el('div.legend.states', {hidden: true});
        this.box = el('div.time', {tabindex: 0, role: 'group',
            'aria-label': 'Timeline. Drag to select a range; plus and minus zoom, left and right move.'}, this.canvas, this.legend);
        this.grip = el('div.grip', {role: 'separator', 'aria-orientation': 'horizontal', tabindex: 0, 'aria-label': 'Height of the timeline: arrows up and down', title: 'Drag: height of the timeline', hidden: true,
            onpointerdown: e => { this.grip.setPointerCapture(e.pointerId); this.gripped = e.clientY - this.box.offsetHeight; }, onpointermove: e => { if (this.gripped !== undefined) this.heighten(e.clientY - this.gripped); },
            onpointerup: () => { this.gripped = undefined; }, ondblclick: () => this.heighten(null), onkeydown: e => { const by = {ArrowUp: -20, ArrowDown: 20}[e.key]; if (by) { e.preventDefault(); e.stopPropagation(); this.heighten(this.box.offsetHeight + by); } }});
        this.view = null;
        this.all = null;
        this.part = null;
        this.lit = null;
        this.drag = null;
        const c = this.canvas;
        c.addEventListener('pointerdown', e => this.press(e));
        c.addEventListener('contextmenu', e => { if (this.menu(e)) e.preventDefault(); });
        c.addEventListener('pointermove', e => this.move(e));
        c.addEventListener('pointerup', e => this.release(e));
        c.addEventListener('pointerleave', () => { hideCard(); this.noMoment(); });
        c.addEventListener('dblclick', () => { this.view = null; this.ask(); });
        this.box.addEventListener('wheel', e => this.wheel(e), {passive: false});
        this.box.addEventListener('keydown', e => this.key(e));
        new ResizeObserver(() => this.resized()).observe(this.box);
        onTheme(() => this.draw());
    }
    // Pixels: all of it, the names of the lanes, the rest.
    measure() {
        this.width = this.box.clientWidth;
        this.label = this.width < 600 ? 110 : 190;
        this.plot = Math.max(50, this.width - this.label - 8);
    }
    // PIXELS, or as high as at first; never higher than its lanes, and something is left for the pane.
    heighten(pixels) {
        this.box.style.maxHeight = pixels === null ? '' : 'none';
        this.box.style.height = pixels === null ? '' : Math.max(70, Math.min(pixels, this.canvas.offsetHeight + this.legend.offsetHeight + 1, innerHeight - 300)) + 'px';
    }
    resized() {
        if (this.box.clientWidth === this.asked) return;
        this.asked = this.box.clientWidth;
        if (!this.all) return;
        this.draw();
        clearTimeout(this.later);
        this.later = setTimeout(() => this.ask(), 150);
    }
    // The lanes of everything; over them, those of what is selected by function.
    async ask() {
        this.measure();
        this.asked = this.width;
        const s = this.app.state, question = {...this.app.base(), ask: 'lanes', bins: Math.min(1600, Math.ceil(this.plot / 3))};
        if (this.view) [question.from_s, question.to_s] = this.view;
        const filtered = s.focus.length || s.ignore.length || s.scope.length || s.where.length || s.subtree;
        const all = await this.app.ask('lanes', question);
        if (!all) return;
        this.all = all.error ? null : all;
        this.part = null;
        this.showLegend();
        this.draw();
        if (!filtered || !this.all) return;
        const part = await this.app.ask('part', {...this.app.selection(), ...question, time: null, thread: [], brief: true});
        if (part && !part.error) this.part = part;
        this.draw();
    }
    // Light up the samples of one function.
    async light(pattern) {
        if (this.litOf === pattern) return;
        this.litOf = pattern;
        if (!pattern || !this.all || !this.all.timed) {
            if (this.lit) { this.lit = null; this.draw(); }
            return;
        }
        const question = {...this.app.base(), ask: 'lanes', bins: this.all.bins, focus: [pattern], brief: true};
        if (this.view) [question.from_s, question.to_s] = this.view;
        const lit = await this.app.ask('lit', question);
        if (!lit || this.litOf !== pattern) return;
        this.lit = lit.error ? null : lit;
        this.draw();
    }
    rows() {
        const rows = [], a = this.all;
        const several = a.processes && a.processes.length > 1;
        let process = -1;
        for (const lane of a.lanes) {
            if (lane.first) process++;
            if (lane.first && several) rows.push({process: a.processes[process], height: PROCESS});
            const spans = a.spans.filter(s => s[0] === lane.tid);
            const depth = Math.min(4, spans.reduce((d, s) => Math.max(d, s[3]), 0));
            const states = a.states.find(s => s.tid === lane.tid && s.pid === lane.pid);
            rows.push({lane, spans, states, marks: a.marks.filter(m => m.tid === lane.tid && m.pid === lane.pid), moments: a.moments.filter(m => m[0] === lane.tid), depth, height: LANE + (states ? BAND + 2 : 0) + depth * SPAN});
        }
        for (const states of a.states)
            if (!a.lanes.some(l => l.tid === states.tid && l.pid === states.pid))
                rows.push({lane: {...states, total: 0, samples: 0, bins: []}, spans: [], states, marks: a.marks.filter(m => m.tid === states.tid && m.pid === states.pid), moments: [], height: LANE + BAND + 2});
        for (const counter of a.counters) rows.push({counter, height: COUNTER});
        let y = AXIS;
        for (const row of rows) { row.y = y; y += row.height; }
        return rows;
    }
    x(seconds) { return this.label + (seconds - this.all.from_s) / (this.all.to_s - this.all.from_s) * this.plot; }
    seconds(x) { return this.all.from_s + (x - this.label) / this.plot * (this.all.to_s - this.all.from_s); }
    draw() {
        const a = this.all;
        this.box.hidden = this.grip.hidden = !a || !a.timed;
        if (this.box.hidden) return;
        this.measure();
        this.list = this.rows();
        const last = this.list[this.list.length - 1], height = last ? last.y + last.height + 4 : AXIS + 4;
        this.canvas.style.width = this.width + 'px';
        const c = paper(this.canvas, this.width, height);
        this.drawAxis(c, height);
        const most = a.is_time ? 0 : Math.max(1, ...a.lanes.map(l => Math.max(...l.bins)));
        for (const row of this.list) row.process ? this.drawProcess(c, row) : row.counter ? this.drawCounter(c, row) : this.drawLane(c, row, most);
        this.drawRange(c, height);
        if (a.threads > a.lanes.length) {
            c.fillStyle = colour('dim');
            useFont(c, fontOf(11));
            c.fillText(`${count(a.threads - a.lanes.length)} more threads`, 12, 14);
        }
    }
    drawAxis(c, height) {
        const {step, marks} = steps(this.all.from_s, this.all.to_s, this.plot / 110);
        useFont(c, fontOf(11));
        c.textBaseline = 'middle';
        for (const s of marks) {
            const x = this.x(s);
            c.fillStyle = colour('line');
            c.fillRect(Math.round(x), AXIS - 5, 1, height);
            c.fillStyle = colour('dim');
            if (x < this.width - 40) c.fillText(momentText(s, step, this.all.to_s), Math.round(x) + 4, AXIS / 2);
        }
    }
    drawArea(c, lane, row, most, fill) {
        const bins = lane.bins, n = bins.length, ns = (this.all.to_s - this.all.from_s) * 1e9 / Math.max(1, n);
        if (!n) return;
        const height = LANE - 6, floor = row.y + LANE - 2;
        c.fillStyle = fill;
        c.beginPath();
        c.moveTo(this.label, floor);
        for (let i = 0; i < n; i++) {
            const share = Math.min(1, most ? bins[i] / most : bins[i] / ns), y = floor - share * height;
            c.lineTo(this.label + i / n * this.plot, y);
            c.lineTo(this.label + (i + 1) / n * this.plot, y);
        }
        c.lineTo(this.label + this.plot, floor);
        c.fill();
    }
    // The head of its threads, where there are several processes.
    drawProcess(c, row) {
        const {name, pid, threads} = row.process, chosen = this.app.state.process;
        c.fillStyle = colour('box');
        c.fillRect(0, row.y, this.width, row.height - 1);
        c.fillStyle = colour('line');
        c.fillRect(0, row.y + row.height - 1, this.width, 1);
        useFont(c, fontOf(11.5, 600));
        c.textBaseline = 'middle';
        c.fillStyle = colour(chosen.includes(String(pid)) ? 'accent' : 'fg');
        const text = fit(c, name || 'process', this.width / 2);
        c.fillText(text, 8, row.y + row.height / 2);
        const used = c.measureText(text).width + 16;
        useFont(c, fontOf(11));
        c.fillStyle = colour('dim');
        c.fillText(`${pid >= 0 ? pid + ' · ' : ''}${count(threads)} thread${threads === 1 ? '' : 's'} · ${this.amount(row.process.total)}`, used, row.y + row.height / 2);
    }
    amount(total) { return this.all.is_time ? time(total) : count(total); }
    drawLane(c, row, most) {
        const {lane} = row, chosen = this.app.state.thread, on = !chosen.length || chosen.includes(String(lane.tid)) || chosen.includes(lane.name);
        c.fillStyle = colour('line');
        c.fillRect(0, row.y + row.height - 1, this.width, 1);
        c.globalAlpha = on ? 1 : 0.35;
        useFont(c, fontOf(12, chosen.length && on ? 600 : 400));
        c.textBaseline = 'middle';
        c.fillStyle = colour('fg');
        const name = lane.name || 'thread';
        const id = lane.tid >= 0 ? ' ' + lane.tid : '';
        const narrow = this.label < 150; // the number stands below the name
        c.fillText(fit(c, name, this.label - (narrow ? 18 : 70)), 12, row.y + (narrow ? 10 : LANE / 2));
        c.fillStyle = colour('faint');
        const used = narrow ? 4 : Math.min(this.label - 66, c.measureText(name).width + 12);
        useFont(c, fontOf(narrow ? 10 : 11));
        c.fillText(fit(c, id, this.label - used - 4), (narrow ? 4 : 6) + used, row.y + (narrow ? 22 : LANE / 2 + 0.5));
        const filtered = this.part || this.lit;
        this.drawArea(c, lane, row, most, filtered ? colour('blocked') : colour('run'));
        const same = l => l.tid === lane.tid && l.pid === lane.pid;
        const part = this.part && this.part.lanes.find(same), lit = this.lit && this.lit.lanes.find(same);
        if (part) this.drawArea(c, part, row, most, colour('run'));
        if (lit) this.drawArea(c, lit, row, most, colour('hit'));
        if (row.states) this.drawStates(c, row);
        this.drawSpans(c, row);
        this.drawMarks(c, row);
        c.globalAlpha = 1;
    }
    // Each bin from below: running, runnable, blocked by what. Unknown stays empty.
    drawStates(c, row) {
        const n = this.all.bins, top = row.y + LANE, s = row.states, w = this.plot / n;
        for (let i = 0; i < n; i++) {
            const parts = this.partsAt(s, i), all = parts.reduce((sum, p) => sum + p[1], 0) + (s.unknown[i] || 0);
            let y = top + BAND;
            for (const [id, v] of parts) {
                const h = v / all * BAND;
                if (!(h > 0)) continue;
                c.fillStyle = colour(id);
                c.fillRect(Math.round(this.label + i * w), y - h, Math.round(this.label + (i + 1) * w) - Math.round(this.label + i * w), h);
                y -= h;
            }
        }
        if (!s.summed) return;
        c.fillStyle = colour('bg'); // slits: no moment of it is what happened then
        for (let x = this.label + 3; x < this.label + this.plot; x += 6) c.fillRect(x, top, 2, BAND);
    }
    // [colour, nanoseconds] of a bin. What waits do not explain is blocked by something unknown.
    partsAt(s, i) {
        const by = {lock: 0, io: 0, fault: 0, idle: 0};
        let known = 0;
        for (const [reason, bins] of Object.entries(s.reasons)) {
            const family = familyOf.get(reason);
            if (!family) continue;
            by[family] += bins[i];
            known += bins[i];
        }
        const scale = known > s.blocked[i] && known > 0 ? s.blocked[i] / known : 1;
        return [['run', s.running[i]], ['runnable', s.runnable[i]], ...Object.entries(by).map(([id, v]) => [id, v * scale]), ['blocked', Math.max(0, s.blocked[i] - known)]];
    }
    showLegend() {
        const a = this.all, any = a && a.timed && a.states.length;
        this.legend.hidden = !any;
        if (!any) return;
        const seen = new Set(a.states.flatMap(s => Object.keys(s.reasons).map(r => familyOf.get(r) || 'blocked')));
        const item = (id, text) => { const box = el('b'); box.style.background = `var(--${id})`; return el('span', null, box, text); };
        this.legend.replaceChildren(item('run', 'running'), item('runnable', 'runnable, no CPU'), el('span', null, 'blocked by'), ...FAMILIES.filter(([id]) => seen.has(id)).map(([id, text]) => item(id, text)), item('blocked', 'something else or not known'), ...(a.states.some(s => s.summed) ? [el('span', {title: SUMMED}, 'dotted: average over the thread')] : []), ...[...new Set(a.marks.map(m => m.event))].map(event => item('hit', event)));
    }
    // What happened there besides: a tick for each bin with an event, a triangle for what the program names.
    drawMarks(c, row) {
        const w = this.plot / this.all.bins;
        c.fillStyle = colour('hit');
        row.marks.forEach((m, k) => {
            for (const [i] of m.at) c.fillRect(Math.round(this.label + (i + 0.5) * w), row.y + 2 + 5 * (k % 4), 1.5, 4);
        });
        for (const [, s] of row.moments) {
            const x = this.x(s);
            c.beginPath();
            c.moveTo(x - 4, row.y + 1);
            c.lineTo(x + 4, row.y + 1);
            c.lineTo(x, row.y + 8);
            c.fill();
        }
    }
    drawSpans(c, row) {
        const top = row.y + LANE + (row.states ? BAND + 2 : 0);
        useFont(c, fontOf(9.5));
        for (const [, start, length, depth, name] of row.spans) {
            if (depth > 4) continue;
            const x = Math.max(this.label, this.x(start)), end = Math.min(this.label + this.plot, this.x(start + length));
            if (end <= x) continue;
            c.fillStyle = colour(depth % 2 ? 'span' : 'span-in');
            c.fillRect(x, top + (depth - 1) * SPAN, Math.max(1, end - x - 0.5), SPAN - 1);
            c.fillStyle = colour('fg');
            c.fillText(fit(c, name, end - x - 6), x + 3, top + (depth - 1) * SPAN + SPAN / 2);
        }
    }
    drawCounter(c, row) {
        const {counter} = row, points = counter.points, floor = row.y + COUNTER - 3, height = COUNTER - 8;
        const most = points.reduce((m, p) => Math.max(m, p[1]), 1);
        c.fillStyle = colour('fg');
        useFont(c, fontOf(12));
        c.fillText(fit(c, counter.name, this.label - 20), 12, row.y + 11);
        c.fillStyle = colour('faint');
        useFont(c, fontOf(11));
        c.fillText('max ' + (counter.bytes ? bytes(most) : count(most)), 12, row.y + 25);
        c.strokeStyle = colour('runnable');
        c.lineWidth = 1.3;
        c.save();
        c.beginPath();
        c.rect(this.label, row.y, this.plot, COUNTER);
        c.clip();
        c.beginPath();
        points.forEach(([s, v], i) => {
            const x = this.x(s), y = floor - Math.max(0, v) / most * height;
            if (i) { c.lineTo(x, floor - Math.max(0, points[i - 1][1]) / most * height); c.lineTo(x, y); } else c.moveTo(x, y);
        });
        c.stroke();
        c.restore();
        c.fillStyle = colour('line');
        c.fillRect(0, row.y + row.height - 1, this.width, 1);
    }
    range() {
        if (this.drag && Math.abs(this.drag.to - this.drag.from) > 3) return [this.seconds(this.drag.from), this.seconds(this.drag.to)].sort((a, b) => a - b);
        return this.app.range(this.app.state.time, this.all.span_s);
    }
    drawRange(c, height) {
        const paint = (range, name) => {
            const a = Math.max(this.label, this.x(range[0])), b = Math.min(this.label + this.plot, this.x(range[1]));
            c.fillStyle = colour('shade');
            if (name === 'accent') {
                c.fillRect(this.label, 0, Math.max(0, a - this.label), height);
                c.fillRect(b, 0, Math.max(0, this.label + this.plot - b), height);
            }
            c.fillStyle = colour(name);
            c.fillRect(a - 1, 0, 1.5, height);
            c.fillRect(b, 0, 1.5, height);
            useFont(c, fontOf(11, 600));
            const text = time((range[1] - range[0]) * 1e9), w = c.measureText(text).width + 8;
            if (b - a > w) {
                c.fillRect((a + b - w) / 2, 3, w, 14);
                c.fillStyle = colour('bg');
                c.fillText(text, (a + b - w) / 2 + 4, 10);
            }
        };
        const range = this.range(), other = this.app.range(this.app.state.other, this.all.span_s);
        if (range) paint(range, 'accent');
        if (this.mark) { // the event that was chosen below
            const a = Math.max(this.label, this.x(this.mark[0])), b = Math.min(this.label + this.plot, this.x(this.mark[1]));
            c.fillStyle = colour('hit');
            if (b >= this.label && a <= this.label + this.plot) c.fillRect(a - 0.5, 0, Math.max(1.5, b - a), AXIS - 14), c.fillRect(a - 0.5, 0, 1.5, height), c.fillRect(Math.max(a, b - 1), 0, 1.5, height);
        }
        if (other) paint(other, 'grown');
    }
    at(e) {
        const box = this.canvas.getBoundingClientRect();
        return {x: e.clientX - box.left, y: e.clientY - box.top};
    }
    press(e) {
        if (e.button) return;
        const {x, y} = this.at(e);
        const row = this.list && this.list.find(r => y >= r.y && y < r.y + r.height);
        if (x < this.label) {
            if (row && row.process && row.process.pid >= 0) this.app.toggle('process', String(row.process.pid));
            if (row && row.lane) this.app.toggle('thread', String(row.lane.tid >= 0 ? row.lane.tid : row.lane.name));
            return;
        }
        hideCard();
        this.noMoment();
        this.canvas.setPointerCapture(e.pointerId);
        this.drag = {from: x, to: x, other: e.shiftKey};
    }
    move(e) {
        const {x, y} = this.at(e);
        if (this.drag) {
            this.drag.to = Math.max(this.label, Math.min(this.label + this.plot, x));
            this.draw();
            const range = this.range();
            if (range && !this.drag.other && Math.abs(this.drag.to - this.drag.from) > 3) this.app.preview(this.app.timeOf(range));
            return;
        }
        const row = this.list && this.list.find(r => y >= r.y && y < r.y + r.height);
        if (row && row.process) { showCard(e.clientX, e.clientY, row.process.name || 'process', [['process', row.process.pid >= 0 ? String(row.process.pid) : ''], ['threads', count(row.process.threads)], ['total', this.amount(row.process.total)]]); this.noMoment(); return; }
        if (!row || !row.lane) { hideCard(); return; }
        const facts = [['total', this.all.is_time ? time(row.lane.total) : count(row.lane.total)],
            ['samples', row.lane.samples ? count(row.lane.samples) : ''], ['thread', row.lane.tid >= 0 ? `${row.lane.tid} of process ${row.lane.pid}` : '']];
        if (x >= this.label) {
            const s = this.seconds(x);
            facts.unshift(['at', moment(s * 1e9, (this.all.to_s - this.all.from_s) * 1e9)]);
            const span = row.spans.filter(p => s >= p[1] && s <= p[1] + p[2]).sort((p, q) => q[3] - p[3])[0];
            if (span) facts.push(['scope', `${span[4]}, ${time(span[2] * 1e9)}`]);
            if (row.states) {
                const i = Math.min(this.all.bins - 1, Math.floor((x - this.label) / this.plot * this.all.bins));
                for (const part of this.stateFacts(row.states, i)) facts.push(part);
            }
        }
        if (x >= this.label) facts.push(...this.markFacts(row, x));
        showCard(e.clientX, e.clientY, row.lane.name || 'thread', facts);
        if (x >= this.label && row.lane.tid !== undefined) this.moment(row.lane, this.seconds(x), e);
        else this.noMoment();
    }
    // What can be done there: with the lane, the scope at the pointer, and the range. Without E, of what is seen as a whole.
    menu(e) {
        if (!this.all || !this.list) return false;
        const {x, y} = e ? this.at(e) : {x: 0, y: -1}, app = this.app, {from_s: from, to_s: to} = this.all;
        const row = this.list.find(r => y >= r.y && y < r.y + r.height), lane = row && row.lane, s = this.seconds(x);
        const span = lane && x >= this.label && row.spans.filter(p => s >= p[1] && s <= p[1] + p[2]).sort((p, q) => q[3] - p[3])[0];
        const range = app.range(app.state.time, this.all.span_s), id = lane && String(lane.tid >= 0 ? lane.tid : lane.name);
        const look = view => { this.view = view && [Math.max(1e-9, view[0]), view[1]]; this.ask(); };
        const items = [...(lane ? [[app.state.thread.includes(id) ? 'All threads again' : 'Only this thread', () => app.toggle('thread', id), '', '--thread'], ...(lane.pid >= 0 ? [['Only its process', () => app.toggle('process', String(lane.pid)), '', '--process']] : []), null] : []),
            ...(span ? [[`The time of this ${span[4]}`, () => app.change({time: app.timeOf([span[1], span[1] + span[2]])}), '', '--time'], [`All that happened inside ${span[4]}`, () => app.add('scope', span[4]), '', '--scope'], null] : []),
            ...(range ? [['Zoom to the range', () => look(range), 'Enter'], ['Clear the range', () => app.change({time: null, other: null})]] : []),
            ...(this.view ? [['Zoom out', () => look(null)]] : []),
            ['Select the visible time', () => app.change({time: app.timeOf([from, to])}), '', '--time'], ...(!app.has('events') ? [] : [['Events there', () => app.change({tab: 'events', time: app.timeOf(range || [from, to])})]])];
        hideCard();
        const box = this.box.getBoundingClientRect();
        openMenu(e ? e.clientX : box.left + this.label, e ? e.clientY : box.top + 20, lane ? `${lane.name || 'thread'} ${lane.tid >= 0 ? lane.tid : ''}`.trim() : 'Timeline', items);
        return true;
    }
    // Bring a moment into sight, and mark it until the next.
    jump(from, to) {
        this.mark = [from, to];
        const a = this.all;
        if (!a || !a.timed) return;
        if (from < a.from_s || to > a.to_s) {
            const length = Math.min(a.span_s, Math.max((to - from) * 3, a.to_s - a.from_s)), start = Math.max(1e-9, Math.min(a.span_s - length, (from + to) / 2 - length / 2));
            this.view = length >= a.span_s ? null : [start, start + length];
            this.ask();
        } else this.draw();
    }
    stateFacts(s, i) {
        const whole = s.running[i] + s.runnable[i] + s.blocked[i], of = v => `${(100 * v / whole).toFixed(0)}%`;
        if (!whole) return [];
        const reasons = Object.entries(s.reasons).filter(([, bins]) => bins[i] > 0).sort((p, q) => q[1][i] - p[1][i]).map(([reason]) => reason);
        const parts = [['running', s.running[i]], ['runnable', s.runnable[i]], ['blocked', s.blocked[i]]].filter(([, v]) => v > 0).map(([k, v]) => [k, of(v) + (k === 'blocked' && reasons.length ? ': ' + reasons.join(', ') : '')]);
        return s.summed ? [['on average', SUMMED], ...parts] : parts;
    }
    // Events within three pixels.
    markFacts(row, x) {
        const w = this.plot / this.all.bins, near = i => Math.abs(this.label + (i + 0.5) * w - x) < Math.max(3, w);
        const facts = row.marks.map(m => [m.event, m.at.reduce((n, [i, k]) => n + (near(i) ? k : 0), 0)]).filter(([, n]) => n).map(([event, n]) => [event, `${count(n)} here`]);
        for (const [, s, name] of row.moments.filter(m => Math.abs(this.x(m[1]) - x) < 5).slice(0, 4)) facts.push(['event', `${name} at ${moment(s * 1e9, (this.all.to_s - this.all.from_s) * 1e9)}`]);
        return facts;
    }
    // What the thread was doing there: its call stack in the card, its frames lit below.
    moment(lane, s, e) {
        clearTimeout(this.asking);
        this.asking = setTimeout(async () => {
            const mine = this.asking, reach = 3 * (this.all.to_s - this.all.from_s) / this.plot;
            const answer = await this.app.ask('moment', {...this.app.selection(), ask: 'moment', pid: lane.pid, tid: lane.tid, from_s: Math.max(0, s)});
            if (!answer || answer.error || mine !== this.asking) return;
            const near = answer.stack.length && answer.off_s <= Math.max(reach, 0.003);
            this.app.lightStack(near ? answer.stack : null, lane.name);
            if (near) addToCard('stack', answer.stack.slice(0, 9).join('\n') + (answer.stack.length > 9 ? `\n… ${answer.stack.length - 9} more` : ''));
        }, 60);
    }
    noMoment() {
        clearTimeout(this.asking);
        this.asking = null;
        this.app.lightStack(null);
    }
    release() {
        const drag = this.drag;
        if (!drag) return;
        const range = this.range();
        this.drag = null;
        if (Math.abs(drag.to - drag.from) <= 3) {
            this.app.preview(null);
            if (this.app.state.time) this.app.change({time: null, other: null});
            else this.draw();
        } else if (drag.other && this.app.state.time) {
            this.app.change({other: this.app.timeOf(range), tab: 'compare'});
        } else {
            this.app.change({time: this.app.timeOf(range)});
        }
    }
    zoom(factor, at) {
        if (!this.all) return;
        const {from_s: from, to_s: to, span_s: span} = this.all;
        const a = at - (at - from) * factor, b = at + (to - at) * factor;
        this.view = b - a >= span ? null : [Math.max(1e-9, a), Math.min(span, b)];
        if (this.view && this.view[1] - this.view[0] < span / 1e6) return;
        [this.all.from_s, this.all.to_s] = this.view || [0, span];
        this.all.lanes.forEach(l => { l.bins = []; });
        this.all.states = [];
        this.all.marks = [];
        this.ask();
    }
    pan(part) {
        if (!this.view) return;
        const length = this.view[1] - this.view[0], from = Math.max(1e-9, Math.min(this.all.span_s - length, this.view[0] + part * length));
        this.view = [from, from + length];
        this.ask();
    }
    wheel(e) {
        if (!this.all || !this.all.timed) return;
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
            e.preventDefault();
            this.pan((e.deltaX || e.deltaY) / 600);
        } else if (e.ctrlKey || e.metaKey || this.box.scrollHeight <= this.box.clientHeight) {
            e.preventDefault();
            this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.seconds(Math.max(this.label, this.at(e).x)));
        }
    }
    key(e) {
        if (!this.all || e.ctrlKey || e.metaKey || e.altKey) return;
        const {from_s: a, to_s: b, span_s: span} = this.all, step = (b - a) / 20;
        const range = this.app.range(this.app.state.time, span);
        const act = {
            '+': () => this.zoom(0.5, range ? (range[0] + range[1]) / 2 : (a + b) / 2),
            '-': () => this.zoom(2, (a + b) / 2),
            ArrowLeft: () => e.shiftKey ? this.nudge(range, -step) : this.pan(-0.2),
            ArrowRight: () => e.shiftKey ? this.nudge(range, step) : this.pan(0.2),
            Enter: () => { if (range) { this.view = [Math.max(1e-9, range[0]), range[1]]; this.ask(); } },
        }[e.key];
        if (!act) return;
        e.preventDefault();
        e.stopPropagation();
        act();
    }
    // A range by keyboard: the first arrow makes one, the others move its end.
    nudge(range, by) {
        const {from_s: a, to_s: b, span_s: span} = this.all;
        const now = range || [a, a + (b - a) / 10];
        const end = Math.max(now[0] + (b - a) / 200, Math.min(span, now[1] + (range ? by : 0)));
        this.app.change({time: this.app.timeOf([now[0], end])});
    }
}
