// The worker: one core, questions in the order they come.
import { Core } from './view_wasm.js';

let core;

const work = {
    async start({module}) {
        core = await Core.start(module);
    },
    load({file, parts}) {
        core.load(file, parts);
    },
    code({file, parts}) {
        core.loadCode(file, parts);
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
            const {answer, columns} = await work[data.what](data) || {};
            self.postMessage({id: data.id, answer, columns}, [answer, columns].filter(b => b));
        } catch (e) {
            self.postMessage({id: data.id, failed: e.message || String(e)});
        }
    });
};
