// The page's side of the worker. Of questions on one channel that wait, only the newest is asked.

const decoder = new TextDecoder();
const part = id => document.getElementById(id);

// Bytes that are in the page itself, or beside it on the server.
async function bytesOf(id, name) {
    const inside = part(id);
    if (inside) {
        const text = atob(inside.textContent), bytes = new Uint8Array(text.length);
        for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
        inside.remove();
        return bytes.buffer;
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

export class Link {
    constructor() {
        this.waiting = new Map();
        this.queue = new Map();
        this.next = 1;
        this.busy = 0;
    }
    async start(files) {
        this.worker = workerOf();
        this.worker.onmessage = ({data}) => this.take(data);
        this.worker.onerror = e => this.fail(e.message || 'the worker could not be started');
        // The core is compiled while the data is still on its way.
        let started;
        const posted = bytesOf('core', 'core.wasm.gz').then(wasm => { started = this.send({what: 'start', wasm}, [wasm]); });
        await Promise.resolve();
        const load = async i => {
            const bytes = await bytesOf('data' + i, `data${i}.gz`);
            await posted;
            await this.load(i, bytes);
        };
        await Promise.all([posted.then(() => started), ...Array.from({length: files}, (_, i) => load(i))]);
        this.code(files);
    }
    load(file, bytes) {
        return this.send({what: 'load', file, bytes}, [bytes]);
    }
    // Source and instructions come behind the first picture: nothing waits for them.
    code(files) {
        const has = document.body.dataset.code || '';
        this.coded = Promise.all([...has.slice(0, files)].map(async (on, i) => {
            if (on !== '1') return;
            const bytes = await bytesOf('code' + i, `code${i}.gz`);
            await this.send({what: 'code', file: i, bytes}, [bytes]);
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
    take({id, answer, failed}) {
        const w = this.waiting.get(id);
        this.waiting.delete(id);
        if (failed !== undefined) w.reject(new Error(failed));
        else w.resolve(answer);
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
        if (this.busy) return;
        const first = this.queue.entries().next();
        if (first.done) return;
        const [channel, {question, resolve, reject}] = first.value;
        this.queue.delete(channel);
        this.busy = 1;
        try {
            const answer = JSON.parse(decoder.decode(await this.send({what: 'ask', question})));
            if (this.queue.has(channel)) resolve(null);
            else resolve(answer);
        } catch (e) {
            reject(e);
        }
        this.busy = 0;
        this.pump();
    }
}
