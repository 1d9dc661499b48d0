// The menu of what can be done with a frame, a row or a lane: by right click, by the menu key, or by Shift F10.
import { el } from './view_text.js';

let shownMenu = null;

export function closeMenu() {
    if (!shownMenu) return;
    const {menu, from} = shownMenu, held = menu.contains(document.activeElement);
    shownMenu = null;
    menu.remove();
    if (held && from && from.isConnected) from.focus({preventScroll: true});
}
export const menuIsOpen = () => !!shownMenu;

// ITEMS: [text, what it does, key, what the terminal calls it]; null is a line between two groups.
export function openMenu(x, y, title, items) {
    closeMenu();
    const from = document.activeElement;
    const entries = items.map(item => item && el('button', {type: 'button', role: 'menuitem', tabindex: -1, onclick: () => { closeMenu(); item[1](); }},
        el('span', null, item[0]), item[3] ? el('code', null, item[3]) : null, item[2] ? el('kbd', null, item[2]) : null));
    const menu = el('div.menu', {role: 'menu', 'aria-label': title, onkeydown: e => key(e), oncontextmenu: e => e.preventDefault()},
        el('h3', {title}, title), ...entries.map(entry => entry || el('hr', {role: 'separator'})));
    const buttons = entries.filter(entry => entry);
    const step = by => buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length].focus();
    const key = e => {
        const act = {ArrowDown: () => step(1), ArrowUp: () => step(buttons.includes(document.activeElement) ? -1 : 0), Home: () => buttons[0].focus(), End: () => buttons[buttons.length - 1].focus(), Escape: closeMenu, Tab: closeMenu}[e.key];
        e.stopPropagation(); // letters are those of the menu
        if (e.key === 'Enter' || e.key === ' ') return;
        e.preventDefault();
        const own = items.find(item => item && item[2] === e.key);
        if (act) act();
        else if (own) { closeMenu(); own[1](); }
    };
    document.getElementById('app').append(menu);
    const box = menu.getBoundingClientRect();
    menu.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 6)) + 'px';
    menu.style.top = Math.max(4, y + box.height > innerHeight - 6 ? Math.min(y - box.height, innerHeight - box.height - 6) : y) + 'px';
    shownMenu = {menu, from};
    buttons[0].focus({preventScroll: true});
}

for (const what of ['pointerdown', 'wheel']) addEventListener(what, e => { if (shownMenu && !shownMenu.menu.contains(e.target)) closeMenu(); }, {capture: true, passive: true});
for (const what of ['blur', 'resize', 'popstate']) addEventListener(what, () => closeMenu());
