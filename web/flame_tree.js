// The tree behind a flame graph: read back from the drawing and its numbers, and turned into other
// trees: inverted, without recursion, with chains folded. Together with flame.js this is the body
// of one function, which keeps everything to itself. The bytes "]]>" must not occur in either.
const script = document.currentScript;
const svg = script && script.closest ? script.closest('svg')
    : document.querySelector('svg[data-kelvin=flame]:not([data-ready])');
if (!svg || svg.dataset.ready) return;
svg.dataset.ready = '1';
const graph = svg.querySelector('.kg');

const KINDS = {kernel: 1, JIT: 1, inlined: 1, waker: 1};
function newNode(from) {
    return Object.assign({parent: null, kids: [], total: 0, self: 0, count: 0, selfCount: 0,
        time: 0, selfTime: 0, kind: '', names: null, about: '', place: '', sure: null, group: false, el: null,
        rect: null, text: null, x: 0, w: 0, depth: 0, row: 0, shown: false, hit: false}, from);
}
// What is drawn comes first, in the order of the document; then what is too narrow to be drawn.
function readDrawn(data) {
    const counted = data.counted ? 5 : 3;
    return Array.from(graph.querySelectorAll(':scope>g>g'), (el, i) => {
        const title = el.firstChild, about = title.textContent, at = about.lastIndexOf(' (');
        const rect = el.querySelector('rect'), last = about.slice(about.lastIndexOf(', ') + 2, -1);
        const [, total, self, count, selfCount] = data.frames.slice(i * counted, (i + 1) * counted);
        const sure = data.sure && data.sure.slice(i * 4, i * 4 + 4);
        // The card at the pointer takes the place of the browser's own tooltip.
        const desc = document.createElementNS(svg.namespaceURI, 'desc');
        desc.textContent = about;
        title.replaceWith(desc);
        return newNode({el, rect, about, total, self, count, selfCount, name: about.slice(0, at),
            text: el.querySelector('text'), kind: KINDS[last] ? last : '', shown: true,
            x: +rect.getAttribute('x'), w: +rect.getAttribute('width'),
            sure: sure && sure[1] >= 0 ? sure : null,
            place: data.place ? data.places[data.place[i]] : ''});
    });
}
function readTree() {
    const data = JSON.parse(svg.querySelector('metadata').textContent);
    const nodes = readDrawn(data), step = data.counted ? 5 : 3;
    for (let i = 0; i < data.rest.length; i += 6) {
        const [, name, total, self, count, selfCount] = data.rest.slice(i, i + 6);
        nodes.push(newNode({name: data.names[name], total, self, count, selfCount}));
    }
    const drawn = data.frames.length / step;
    nodes.forEach((n, i) => {
        if (!i) return;
        n.parent = nodes[i < drawn ? data.frames[i * step] : data.rest[(i - drawn) * 6]];
        n.parent.kids.push(n);
        n.depth = n.parent.depth + 1;
    });
    if (data.time) nodes.forEach((n, i) => { [n.time, n.selfTime] = data.time.slice(2 * i, 2 * i + 2); });
    for (const i of data.groups) nodes[i].group = true;
    const rows = Array.from(graph.children, row => Array.from(row.children, () => null));
    let i = 0;
    rows.forEach((row, r) => row.forEach((_, k) => { nodes[i].row = r; row[k] = nodes[i++]; }));
    return {nodes, rows, root: nodes[0], unit: data.unit, counted: data.counted,
        timed: !!data.time, chart: data.chart};
}

// --- other trees of the same samples ---

// An inlined call and a real one are calls of the same function, as in the tables.
const keyOfName = n => (n.kind === 'kernel' ? 'k' : '') + '\n' + n.name;
const byName = (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : a.kind < b.kind ? -1 : 1;
function childOf(parent, like) {
    const key = keyOfName(like);
    parent.byKey = parent.byKey || new Map();
    let kid = parent.byKey.get(key);
    if (!kid) {
        kid = newNode({name: like.name, kind: like.kind, group: like.group, parent,
            place: like.place, like});
        parent.byKey.set(key, kid);
        parent.kids.push(kid);
    }
    return kid;
}
function addTo(node, from) {
    node.total += from.total;
    node.self += from.self;
    node.count += from.count;
    node.selfCount += from.selfCount;
    node.time += from.time;
    node.selfTime += from.selfTime;
}
// From the functions that ran to their callers. What was too narrow even to be kept has a name
// that says so.
function invert(base) {
    const root = newNode({name: base.root.name, like: base.root, self: null});
    const add = (n, [value, count, time], first) => {
        let at = root;
        root.total += value;
        root.count += count;
        root.time += time;
        for (let up = first || n; up !== base.root; up = up === first ? n : up.parent) {
            at = childOf(at, up);
            at.total += value;
            at.count += count;
            at.time += time;
            at.self = null;
        }
    };
    for (const n of base.nodes) {
        const below = k => n.kids.reduce((sum, kid) => sum + kid[k], 0);
        const missing = n.total - n.self - below('total');
        if (n.self > 0) add(n, [n.self, n.selfCount, n.selfTime]);
        if (missing > 0)
            add(n, [missing, n.count - n.selfCount - below('count'), n.time - n.selfTime - below('time')],
                {name: '[too narrow]', kind: ''});
    }
    return root;
}
// A function that calls itself directly stands once.
function mergeRecursion(base) {
    const root = newNode({name: base.root.name, like: base.root}), to = new Map([[base.root, root]]);
    addTo(root, base.root);
    for (const n of base.nodes.slice(1)) {
        const above = to.get(n.parent);
        const same = above !== root && keyOfName(above) === keyOfName(n) && !above.group;
        const node = same ? above : childOf(above, n);
        to.set(n, node);
        if (!same) addTo(node, n);
        else { node.self += n.self; node.selfCount += n.selfCount; node.selfTime += n.selfTime; }
        node.merged = (node.merged || 0) + 1;
        if (!same && node.merged === 1) node.sure = n.sure;
        else if (!same || node.sure) node.sure = null;
    }
    return root;
}
// A frame that does nothing but call the one below it, always the same, stands in one box with it.
function foldChains(base, inverted) {
    const root = newNode({name: base.root.name, like: base.root}), to = new Map([[base.root, root]]);
    addTo(root, base.root);
    for (const n of base.nodes.slice(1)) {
        const p = n.parent, above = to.get(p);
        const chain = p !== base.root && !p.group && !n.group && p.kids.length === 1 && p.total === n.total;
        if (!chain) {
            const node = newNode({...n, about: '', el: null, rect: null, text: null, kids: [], byKey: null,
                parent: above, names: [n.name], like: n.like || n});
            above.kids.push(node);
            to.set(n, node);
            continue;
        }
        to.set(n, above);
        above.names.push(n.name);
        Object.assign(above, {self: n.self, selfCount: n.selfCount, selfTime: n.selfTime, sure: n.sure});
        if (!inverted) Object.assign(above, {place: n.place, kind: n.kind, like: n.like || n});
        const k = above.names.length;
        above.name = k > 3 ? above.names[0] + ' \u203a \u2026 \u203a ' + n.name : above.names.join(' \u203a ');
    }
    return root;
}
function listNodes(root, sorted) {
    const nodes = [root];
    for (let i = 0; i < nodes.length; i++) {
        if (sorted) nodes[i].kids.sort(byName);
        for (const k of nodes[i].kids) { k.depth = nodes[i].depth + 1; nodes.push(k); }
    }
    return nodes;
}
// Where frames stand: those too narrow to be drawn are left out at the right end of their parent.
function layOut(base, root, nodes) {
    const rows = [], left = base.root.x, scale = base.root.w / (root.total || 1);
    const next = new Map([[root, left]]);
    for (const n of nodes) {
        n.w = n.total * scale;
        n.row = n.depth;
        if (n.w < 0.1 || (n.parent && !n.parent.drawn)) continue;
        n.drawn = true;
        n.x = n.parent ? next.get(n.parent) : left;
        if (n.parent) next.set(n.parent, n.x + n.w);
        next.set(n, n.x);
        (rows[n.depth] = rows[n.depth] || []).push(n);
    }
    for (const row of rows) row.sort((a, b) => a.x - b.x);
    return rows;
}
function deriveTree(base, how) {
    let tree = base;
    const take = (root, sorted) => { tree = {...base, root, nodes: listNodes(root, sorted)}; };
    if (how.recursion) take(mergeRecursion(tree), true);
    if (how.invert) take(invert(tree), true);
    if (how.chains) take(foldChains(tree, how.invert), false);
    if (tree === base) return base;
    return {...tree, rows: layOut(base, tree.root, tree.nodes)};
}

// --- numbers as the rest of Kelvin writes them ---

const TIMES = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
const SIZES = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B']];
function scaled(v, scales) {
    const [from, name] = scales.find(s => v >= s[0]) || scales[scales.length - 1];
    const n = v / from;
    return (n < 100 ? String(+n.toPrecision(3)) : n.toFixed(0)) + ' ' + name;
}
const grouped = v => v.toLocaleString('en-US', {maximumFractionDigits: 6});
function plural(n, word) {
    return grouped(n) + ' ' + (n === 1 && word.length > 1 && word.endsWith('s') ? word.slice(0, -1) : word);
}
function valueText(unit, value) {
    const v = value / 10 ** unit.decimals * unit.factor;
    if (unit.kind === 'time') return scaled(v, TIMES);
    if (unit.kind === 'bytes') return scaled(v, SIZES);
    return unit.name ? plural(+v.toFixed(unit.factor === 1 ? unit.decimals : 2), unit.name) : grouped(v);
}
const percent = (part, whole, digits = 2) => (whole > 0 ? 100 * part / whole : 0).toFixed(digits) + '%';
