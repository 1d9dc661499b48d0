// The core: files in, questions in, JSON out. src/page/core.h in WebAssembly.
const decoder = new TextDecoder(), encoder = new TextEncoder();

export async function unzip(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The core has no files and no clock: all that it may ask a system for fails, but an end with a reason.
function system(module, memory) {
    let said = '';
    const own = {
        proc_exit() {
            throw new Error(said.trim() || 'the core ended');
        },
        fd_write(fd, list, n, written) {
            const view = new DataView(memory().buffer);
            let all = 0;
            for (let i = 0; i < n; i++) {
                const at = view.getUint32(list + 8 * i, true), length = view.getUint32(list + 8 * i + 4, true);
                said += decoder.decode(new Uint8Array(memory().buffer, at, length));
                all += length;
            }
            view.setUint32(written, all, true);
            return 0;
        },
    };
    const calls = {};
    for (const {name} of WebAssembly.Module.imports(module)) calls[name] = own[name] || (() => 52);
    return calls;
}

export class Core {
    static async start(bytes) {
        const core = new Core();
        const module = await WebAssembly.compile(bytes);
        const instance = await WebAssembly.instantiate(module,
            {wasi_snapshot_preview1: system(module, () => core.c.memory)});
        core.c = instance.exports;
        core.c._initialize();
        return core;
    }
    give(bytes) {
        const at = this.c.wasm_bytes(bytes.length);
        if (!at) throw new Error('the page has no memory left for this file');
        new Uint8Array(this.c.memory.buffer, at, bytes.length).set(bytes);
        return at;
    }
    answer() {
        return decoder.decode(new Uint8Array(this.c.memory.buffer, this.c.wasm_answer(), this.c.wasm_answer_bytes()));
    }
    load(file, bytes) {
        const at = this.give(bytes);
        const rc = this.c.wasm_load(file, at, bytes.length);
        this.c.wasm_free(at);
        if (rc !== 0) throw new Error(this.answer());
    }
    loadCode(file, bytes) {
        const at = this.give(bytes);
        const rc = this.c.wasm_load_code(file, at, bytes.length);
        this.c.wasm_free(at);
        if (rc !== 0) throw new Error(this.answer());
    }
    ask(question) {
        const bytes = encoder.encode(JSON.stringify(question));
        const at = this.give(bytes);
        this.c.wasm_ask(at, bytes.length);
        this.c.wasm_free(at);
        return this.answer();
    }
    // The same as bytes of their own, to be handed over without a copy.
    askBytes(question) {
        const bytes = encoder.encode(JSON.stringify(question));
        const at = this.give(bytes);
        this.c.wasm_ask(at, bytes.length);
        this.c.wasm_free(at);
        const answer = this.c.wasm_answer();
        return this.c.memory.buffer.slice(answer, answer + this.c.wasm_answer_bytes());
    }
}
