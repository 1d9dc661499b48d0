// The page's side of the worker. Of questions on one channel that wait, only the newest is asked.

const decoder = new TextDecoder();
const part = id => document.getElementById(id);

function decoded(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes.buffer;
}

// In one file, recordings stand behind this script: the core is compiled while they are still read.
const whole = new Promise(done => document.readyState === 'loading' ? document.addEventListener('DOMContentLoaded', done, {once: true}) : done());

// The worker's script comes by way of this thread, which to unpack would keep busy.
const breath = () => new Promise(done => setTimeout(done));

const MAGIC = 'KELVIN\r\n', UNPACKED_MAX = 2 ** 30;

// Bytes in memory go straight in: a Blob of them would come back in small pieces from another process.
function fed(gzip, bytes) {
    const writer = gzip.writable.getWriter();
    writer.write(bytes).then(() => writer.close()).catch(() => null); // the reader gets the error
    return gzip.readable;
}

// Browsers unpack gzip by themselves. Here and not in the worker, which is being started meanwhile. Gives pieces: to join them
// would copy them once more.
async function unzip(packed) {
    const parts = [], gzip = new DecompressionStream('gzip'), reader = (packed instanceof Blob ? packed.stream().pipeThrough(gzip) : fed(gzip, packed)).getReader();
    let n = 0;
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
        parts.push(step.value);
        n += step.value.length;
        if (n > UNPACKED_MAX) throw new Error('unpacked, it has more than a page can hold');
    }
    return parts;
}

// Bytes that are in the page itself, or beside it on the server, packed.
async function packedBytes(id, name) {
    if (!part(id) && part('worker')) await whole.then(breath);
    const inside = part(id);
    if (inside) {
        const text = inside.textContent;
        inside.remove();
        return decoded(text);
    }
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: the server answers ${answer.status}. Is 'kelvin view' still running?`);
    return answer.arrayBuffer();
}

function workerOf() {
    const inside = part('worker');
    if (!inside) return new Worker('view_worker.js', {type: 'module'});
    return new Worker(URL.createObjectURL(new Blob([inside.textContent], {type: 'text/javascript'})));
}

// Columns of numbers that came as bytes beside an answer: ids in four, all others in eight.
function unpacked(answer, columns) {
    let at = 0;
    for (const name of answer.columns || []) {
        const Kind = name === 'parent' || name === 'label' ? Uint32Array : Float64Array;
        answer[name] = new Kind(columns, at, answer.n);
        at += answer[name].byteLength;
    }
    return answer;
}

const AT_ONCE = 4; // the worker has the next questions while the last answer is read

export class Link {
    constructor() {
        this.waiting = new Map();
        this.queue = new Map();
        this.next = 1;
        this.asked = new Set(); // channels whose question the worker has
    }
    // The worker comes up, the core is compiled and the data unpacked, all at the same time. 'sent' resolves when all of it is on
    // its way: the worker reads it before it answers questions, so these need not wait until it has. MEANWHILE is done while it
    // does; not before it is up, as what is sent to it comes by way of this thread.
    start(files, meanwhile) {
        this.worker = workerOf();
        this.worker.onmessage = ({data}) => this.take(data);
        this.worker.onerror = e => this.fail(e.message || 'the worker could not be started');
        const compiled = packedBytes('core', 'core.wasm.gz').then(unzip).then(parts => new Blob(parts).arrayBuffer()).then(bytes => WebAssembly.compile(bytes));
        const started = compiled.then(module => this.send({what: 'start', module}));
        const loads = Array.from({length: files}, async (_, i) => {
            const parts = await unzip(await packedBytes('data' + i, `data${i}.gz`));
            await compiled; // it is posted before the data
            return {loaded: this.load(i, parts)};
        });
        this.sent = Promise.all(loads);
        this.loaded = Promise.all([started, this.sent.then(all => Promise.all(all.map(l => l.loaded)))]).then(() => this.code(files));
        Promise.all([started, this.sent]).then(meanwhile).catch(() => null); // 'loaded' has the reason
    }
    load(file, parts) {
        return this.send({what: 'load', file, parts}, parts.map(part => part.buffer));
    }
    // A file of the user's own; one that is no recording is not read to its end.
    async open(file, blob) {
        const head = new Uint8Array(await blob.slice(0, 8).arrayBuffer()), packed = head[0] === 0x1f && head[1] === 0x8b;
        if (!packed && decoder.decode(head) !== MAGIC) throw new Error('not a recording');
        return this.load(file, packed ? await unzip(blob) : [new Uint8Array(await blob.arrayBuffer())]);
    }
    // Source and instructions come behind the first picture: nothing waits for them.
    code(files) {
        const has = document.body.dataset.code || '';
        this.coded = Promise.all([...has.slice(0, files)].map(async (on, i) => {
            if (on !== '1') return;
            const parts = await unzip(await packedBytes('code' + i, `code${i}.gz`));
            await this.send({what: 'code', file: i, parts}, parts.map(part => part.buffer));
        })).catch(() => null);
    }
    send(message, transfer) {
        return new Promise((resolve, reject) => {
            const id = this.next++;
            this.waiting.set(id, {resolve, reject});
            this.worker.postMessage({...message, id}, transfer || []);
        });
    }
    fail(why) {
        for (const {reject} of this.waiting.values()) reject(new Error(why));
        this.waiting.clear();
    }
    take({id, answer, columns, failed}) {
        const w = this.waiting.get(id);
        this.waiting.delete(id);
        if (failed !== undefined) w.reject(new Error(failed));
        else w.resolve({answer, columns});
    }
    // The answer, or null when a newer question of the channel came first.
    ask(channel, question) {
        return new Promise((resolve, reject) => {
            const older = this.queue.get(channel);
            if (older) older.resolve(null);
            this.queue.delete(channel);
            this.queue.set(channel, {question, resolve, reject});
            this.pump();
        });
    }
    async pump() {
        const first = this.asked.size < AT_ONCE && [...this.queue].find(([channel]) => !this.asked.has(channel));
        if (!first) return;
        const [channel, {question, resolve, reject}] = first;
        this.queue.delete(channel);
        this.asked.add(channel);
        const sent = this.send({what: 'ask', question});
        this.pump();
        try {
            const {answer, columns} = await sent;
            if (this.queue.has(channel)) resolve(null);
            else resolve(unpacked(JSON.parse(decoder.decode(answer)), columns));
        } catch (e) {
            reject(e);
        }
        this.asked.delete(channel);
        this.pump();
    }
}
