// The worker: one core, questions in the order they come.
import { Core, unzip } from './view_wasm.js';

let core;

const work = {
    async start({wasm}) {
        core = await Core.start(await unzip(wasm));
    },
    async load({file, bytes}) {
        bytes = new Uint8Array(bytes);
        core.load(file, bytes[0] === 0x1f && bytes[1] === 0x8b ? await unzip(bytes) : bytes);
    },
    async code({file, bytes}) {
        core.loadCode(file, await unzip(new Uint8Array(bytes)));
    },
    ask({question}) {
        return core.askBytes(question);
    },
};

// One after the other: a question must not overtake the file it is about.
let last = Promise.resolve();
self.onmessage = ({data}) => {
    last = last.then(async () => {
        try {
            const answer = await work[data.what](data);
            self.postMessage({id: data.id, answer}, answer ? [answer] : []);
        } catch (e) {
            self.postMessage({id: data.id, failed: e.message || String(e)});
        }
    });
};
