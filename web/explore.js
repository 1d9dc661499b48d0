// In a report: a button that opens the page of `kelvin view`, which lies packed in the report, in a tab of its own.
(() => {
    const packed = document.getElementById('explore');
    if (!packed || typeof DecompressionStream !== 'function') return;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Explore this recording';
    button.title = 'Timeline, flame graph, functions, call tree, callers and source, in a new tab';
    button.className = 'explore';
    let address = null;
    button.onclick = async () => {
        if (!address) {
            const bytes = Uint8Array.from(atob(packed.textContent), c => c.charCodeAt(0));
            const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
            address = URL.createObjectURL(new Blob([text], {type: 'text/html'}));
        }
        const link = document.createElement('a');
        link.href = address;
        link.target = '_blank';
        link.click();
    };
    document.querySelector('h1').after(button);
})();
