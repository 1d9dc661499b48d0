// In reports: a click on the title of a column sorts its table by it, and so do Enter and Space. Numbers begin with the largest, words
// with A; a second time turns the order round. Cells without a number come last either way. Trees keep their order.
(() => {
    const UNITS = {ns: 1e-9, us: 1e-6, 'µs': 1e-6, ms: 1e-3, min: 60, h: 3600, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, M: 1e6, G: 1e9, T: 1e12};
    const number = text => {
        const m = /^[<~x]?([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)%? ?([^\d\s±(]*)/.exec(text);
        return m ? parseFloat(m[1].replace(/,/g, '')) * (UNITS[m[2]] || 1) : NaN;
    };
    for (const table of document.querySelectorAll('table:not(.t)')) {
        const titles = table.querySelectorAll('th');
        titles.forEach((title, i) => {
            const numeric = title.className === 'r';
            const sort = () => {
                const before = title.getAttribute('aria-sort'), down = before ? before === 'ascending' : numeric, sign = down ? -1 : 1;
                const rows = [...table.rows].slice(1).map(row => ({row, text: row.cells[i].textContent.trim()})).map(r => ({...r, number: number(r.text)}));
                rows.sort(numeric ? (a, b) => isNaN(a.number) - isNaN(b.number) || sign * (a.number - b.number) || 0 : (a, b) => sign * a.text.localeCompare(b.text));
                for (const {row} of rows) row.parentNode.append(row);
                for (const t of titles) t.removeAttribute('aria-sort');
                title.setAttribute('aria-sort', down ? 'descending' : 'ascending');
            };
            title.tabIndex = 0;
            title.style.cursor = 'pointer';
            title.onclick = sort;
            title.onkeydown = e => {
                if (e.key !== 'Enter' && e.key !== ' ') return;
                e.preventDefault();
                sort();
            };
        });
    }
})();
