// The core: files in, questions in, JSON out. src/page/core.h in WebAssembly.
const decoder = new TextDecoder(), encoder = new TextEncoder();

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
    static async start(module) {
        const core = new Core();
        const instance = await WebAssembly.instantiate(module,
            {wasi_snapshot_preview1: system(module, () => core.c.memory)});
        core.c = instance.exports;
        core.c._initialize();
        return core;
    }
    // Call WHAT with the bytes of PARTS one after the other, which are the core's while it runs.
    call(what, parts) {
        const n = parts.reduce((sum, part) => sum + part.length, 0), at = this.c.wasm_bytes(n);
        if (!at) throw new Error('the page has no memory left for this file');
        let to = at;
        for (const part of parts) {
            new Uint8Array(this.c.memory.buffer, to, part.length).set(part);
            to += part.length;
        }
        const rc = what(at, n);
        this.c.wasm_free(at);
        return rc;
    }
    answer() {
        return decoder.decode(new Uint8Array(this.c.memory.buffer, this.c.wasm_answer(), this.c.wasm_answer_bytes()));
    }
    load(file, parts) {
        if (this.call((at, n) => this.c.wasm_load(file, at, n), parts) !== 0) throw new Error(this.answer());
    }
    loadCode(file, parts) {
        if (this.call((at, n) => this.c.wasm_load_code(file, at, n), parts) !== 0) throw new Error(this.answer());
    }
    ask(question) {
        this.call(this.c.wasm_ask, [encoder.encode(JSON.stringify(question))]);
        return this.answer();
    }
    // The same as bytes of their own, to be handed over without a copy, and the columns that go with them.
    askBytes(question) {
        this.call(this.c.wasm_ask, [encoder.encode(JSON.stringify(question))]);
        const part = (from, n) => this.c.memory.buffer.slice(from, from + n), n = this.c.wasm_columns_bytes();
        return {answer: part(this.c.wasm_answer(), this.c.wasm_answer_bytes()), columns: n ? part(this.c.wasm_columns(), n) : null};
    }
}
