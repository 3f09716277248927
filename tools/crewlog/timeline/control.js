// Mouse, keys, search, what the address (#zoom=from,to&axis=…&page=…&event=…&theme=…) says.
'use strict';

const byId = id => document.getElementById(id);
const tip = byId('tip');
let scheduled = false, drag = null;

function later() {
    if (scheduled)
        return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; redraw(); });
}

function redraw() {
    const done = draw(), number = value => value.toLocaleString('en');
    const { count, drawn } = done.arrows;
    byId('count').textContent = `${number(done.events)} events and ${number(count)} transfers in view` +
        (drawn < count ? `, drawn as ${number(drawn)} arrows` : '');
    document.body.dataset.elements = done.elements;
    document.body.dataset.milliseconds = done.milliseconds.toFixed(0);
    if (!document.body.dataset.loaded) /* milliseconds until something was to be seen */
        document.body.dataset.loaded = performance.now().toFixed(0);
    const more = listed.length > bands;
    byId('paging').replaceChildren();
    byId('paging').append(listed.length ? `pages ${view.first + 1}–` +
        `${Math.min(listed.length, view.first + bands)} of ${listed.length}` : 'no such page');
    if (more)
        for (const [text, step] of [['▲', -bands], ['▼', bands]]) {
            const button = byId('paging').appendChild(document.createElement('button'));
            button.textContent = text;
            button.onclick = () => scrollPages(step);
        }
    for (const axis of ['order', 'ticks'])
        byId(`axis-${axis}`).classList.toggle('on', view.axis === axis);
    writeAddress();
}

// --- changing the view ---

function setView(from, to) {
    const whole = EXTENT[view.axis] * 1.01, least = Math.min(whole, view.axis === 'order' ? 8 : 20);
    const span = Math.min(whole, Math.max(least, to - from));
    const middle = (from + to) / 2;
    view.from = Math.max(0, Math.min(whole - span, middle - span / 2));
    view.to = view.from + span;
    later();
}

function zoom(factor, x = (view.from + view.to) / 2) {
    const from = x - (x - view.from) * factor;
    setView(from, from + (view.to - view.from) * factor);
}

function showAll() {
    setView(0, EXTENT[view.axis] * 1.01);
}

// Stays where it is: around the event in the middle.
function setAxis(axis) {
    if (axis === view.axis)
        return;
    let best = null;
    for (const thread of threads) {
        const low = lowerBound(thread[view.axis], view.from);
        const high = lowerBound(thread[view.axis], view.to);
        if (high > low)
            best = [Math.min(best ? best[0] : Infinity, thread[axis][low]),
                    Math.max(best ? best[1] : 0, thread[axis][high - 1])];
    }
    view.axis = axis;
    drawOverview();
    if (best)
        setView(best[0] - (best[1] - best[0]) * .01, best[1] + (best[1] - best[0]) * .01);
    else
        showAll();
}

function scrollPages(step) {
    view.first = Math.max(0, Math.min(listed.length - bands, view.first + step));
    later();
}

function listPages() {
    const word = view.search.trim().toLowerCase();
    const address = /^(0x)?[0-9a-f]+$/.test(word) ? parseInt(word, 16) : NaN;
    const fits = page => !word || page.names.toLowerCase().includes(word) ||
        page.address.includes(word) || Math.floor(address / 4096) * 4096 === parseInt(page.address, 16);
    const byAddress = (a, b) => parseInt(a.address, 16) - parseInt(b.address, 16);
    listed = pages.filter(fits).sort(view.sort === 'address' ? byAddress :
        (a, b) => b.transfers - a.transfers || b.intervals.length - a.intervals.length || byAddress(a, b));
    view.first = 0;
    later();
}

function pick(slot, index, centre) {
    view.picked = [slot, index];
    const x = threads[slot][view.axis][index], span = view.to - view.from;
    if (centre && (x < view.from || x > view.to))
        setView(x - span / 2, x + span / 2);
    showDetails();
    later();
}

// --- descriptions ---

function fill(parent, { what, rows }) {
    parent.replaceChildren();
    const head = parent.appendChild(document.createElement('div'));
    head.className = 'what';
    head.textContent = what;
    const list = parent.appendChild(document.createElement('dl'));
    list.className = 'pair';
    for (const [name, text] of rows) {
        list.appendChild(document.createElement('dt')).textContent = name;
        list.appendChild(document.createElement('dd')).append(text);
    }
}

function jumps(list) {
    const span = document.createElement('span');
    for (const [slot, index] of list) {
        const link = span.appendChild(document.createElement('a'));
        link.className = 'jump';
        link.textContent = `${eventName(slot, index)} ${D.kinds[threads[slot].k[index]]}`;
        link.onclick = () => pick(slot, index, true);
    }
    return span;
}

function showDetails() {
    const [slot, index] = view.picked, text = describe(slot, index);
    if (before(slot, index).length)
        text.rows.push(['after', jumps(before(slot, index))]);
    if (after(slot, index).length)
        text.rows.push(['before', jumps(after(slot, index))]);
    fill(byId('details'), text);
}

function nearest(thread, x) {
    const xs = thread[view.axis], at = lowerBound(xs, unpx(x));
    let best = -1;
    for (const i of [at - 1, at])
        if (i >= 0 && i < xs.length && (best < 0 || Math.abs(px(xs[i]) - x) < Math.abs(px(xs[best]) - x)))
            best = i;
    return best >= 0 && Math.abs(px(xs[best]) - x) <= 7 ? best : -1;
}

// Many events in a column: how many of each kind.
function columnText(thread, x) {
    const xs = thread[view.axis], low = lowerBound(xs, unpx(x - COLUMN)), high = lowerBound(xs, unpx(x + COLUMN));
    const counts = new Map();
    for (let i = low; i < high; i++)
        counts.set(D.kinds[thread.k[i]], (counts.get(D.kinds[thread.k[i]]) || 0) + 1);
    return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}

function threadText(slot, x) {
    const thread = threads[slot], index = nearest(thread, x);
    if (index < 0)
        return null;
    const text = describe(slot, index), deps = before(slot, index);
    if (deps.length)
        text.rows.push(['after', deps.map(([s, i]) => eventName(s, i)).join('  ')]);
    const near = lowerBound(thread[view.axis], unpx(x + COLUMN)) - lowerBound(thread[view.axis], unpx(x - COLUMN));
    if (near > 3)
        text.rows.push(['around', columnText(thread, x)]);
    return text;
}

function pageTip(page, x) {
    const at = unpx(x), margin = unpx(x + 1) - at, owners = new Map();
    for (const interval of page.intervals) {
        const [start, end] = intervalEnds(interval);
        if (start > at + margin || end < at - margin)
            continue;
        const name = `thread ${interval[0]} ${interval[1] ? 'writes' : 'reads'}`;
        const list = owners.get(name) || [];
        list.push(`events ${interval[2] + 1}–${interval[3] < 0 ? 'end' : interval[3] + 1}`);
        owners.set(name, list);
    }
    const rows = [...owners].slice(0, 12).map(([name, list]) =>
        [name, list.length > 2 ? `${list.length} times here` : list.join(', ')]);
    rows.push(['transfers', page.transfers.toLocaleString('en')]);
    return { what: `page ${pageText(page.number)}`, rows };
}

function textAt(x, y) {
    const slot = Math.floor((y - AXIS) / ROW), row = Math.floor((y - bandTop(0)) / BAND);
    if (slot >= 0 && slot < threads.length && y >= AXIS)
        return x >= GUTTER ? threadText(slot, x) : null;
    const page = row >= 0 && row < bands ? listed[view.first + row] : null;
    return page ? pageTip(page, Math.max(x, GUTTER)) : null;
}

function showTip(event) {
    const text = drag ? null : textAt(event.offsetX, event.offsetY);
    tip.hidden = !text;
    if (!text)
        return;
    fill(tip, text);
    const left = event.clientX + 16, top = event.clientY + 14;
    tip.style.left = `${Math.min(left, innerWidth - tip.offsetWidth - 12)}px`;
    tip.style.top = `${Math.min(top, innerHeight - tip.offsetHeight - 12)}px`;
}

// --- events ---

picture.addEventListener('wheel', event => {
    event.preventDefault();
    if (event.offsetX < GUTTER)
        scrollPages(Math.sign(event.deltaY) * 3);
    else if (event.shiftKey)
        setView(view.from + event.deltaY * (view.to - view.from) / 900, view.to + event.deltaY * (view.to - view.from) / 900);
    else
        zoom(Math.exp(event.deltaY * .0016), unpx(event.offsetX));
}, { passive: false });

picture.addEventListener('pointerdown', event => {
    drag = { x: event.clientX, from: view.from, moved: false };
    picture.setPointerCapture(event.pointerId);
});
picture.addEventListener('pointermove', event => {
    if (drag && Math.abs(event.clientX - drag.x) > 3) {
        drag.moved = true;
        picture.classList.add('dragged');
        const from = drag.from - (event.clientX - drag.x) / plotWidth() * (view.to - view.from);
        setView(from, from + view.to - view.from);
    }
    showTip(event);
});
picture.addEventListener('pointerup', event => {
    const slot = Math.floor((event.offsetY - AXIS) / ROW);
    if (drag && !drag.moved && slot >= 0 && slot < threads.length) {
        const index = nearest(threads[slot], event.offsetX);
        if (index >= 0)
            pick(slot, index, false);
    }
    drag = null;
    picture.classList.remove('dragged');
});
picture.addEventListener('pointerleave', () => { tip.hidden = true; });
picture.addEventListener('dblclick', event => zoom(.4, unpx(event.offsetX)));

function moveTo(event) {
    const x = (event.offsetX - GUTTER) / plotWidth() * EXTENT[view.axis], span = view.to - view.from;
    setView(x - span / 2, x + span / 2);
}
overview.addEventListener('pointerdown', event => { overview.setPointerCapture(event.pointerId); moveTo(event); });
overview.addEventListener('pointermove', event => { if (event.buttons) moveTo(event); });

function setTheme(name) {
    document.documentElement.dataset.theme = name;
}

const actions = {
    '+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2), '0': showAll,
    o: () => setAxis('order'), t: () => setAxis('ticks'),
    d: () => { setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'); later(); },
    ArrowLeft: () => setView(view.from - (view.to - view.from) / 5, view.to - (view.to - view.from) / 5),
    ArrowRight: () => setView(view.from + (view.to - view.from) / 5, view.to + (view.to - view.from) / 5),
};
document.addEventListener('keydown', event => {
    if (event.target.matches('input, select') || event.ctrlKey || event.metaKey || !actions[event.key])
        return;
    event.preventDefault();
    actions[event.key]();
});
byId('axis-order').onclick = actions.o;
byId('axis-ticks').onclick = actions.t;
byId('zoom-in').onclick = actions['+'];
byId('zoom-out').onclick = actions['-'];
byId('zoom-all').onclick = showAll;
byId('theme').onclick = actions.d;
byId('search').oninput = event => { view.search = event.target.value; listPages(); };
byId('sort').onchange = event => { view.sort = event.target.value; listPages(); };

// --- the address ---

function writeAddress() {
    const words = [`zoom=${+view.from.toFixed(2)},${+view.to.toFixed(2)}`, `axis=${view.axis}`];
    if (view.search)
        words.push(`page=${encodeURIComponent(view.search)}`);
    if (view.picked)
        words.push(`event=${eventName(...view.picked)}`);
    if (view.sort !== 'transfers')
        words.push(`sort=${view.sort}`);
    words.push(`theme=${document.documentElement.dataset.theme}`);
    try {
        history.replaceState(null, '', '#' + words.join('&'));
    } catch { /* a place that has no address of its own */ }
}

function readAddress() {
    const words = new Map(location.hash.slice(1).split('&').map(word => {
        const at = word.indexOf('=');
        return at < 0 ? [word, ''] : [word.slice(0, at), decodeURIComponent(word.slice(at + 1))];
    }));
    if (words.get('axis') === 'ticks')
        view.axis = 'ticks';
    if (['dark', 'light'].includes(words.get('theme')))
        setTheme(words.get('theme'));
    if (words.get('sort') === 'address')
        view.sort = byId('sort').value = 'address';
    view.search = byId('search').value = words.get('page') || '';
    const [from, to] = (words.get('zoom') || '').split(',').map(Number);
    drawOverview();
    listPages();
    if (to > from)
        setView(from, to);
    else
        showAll();
    const [slot, number] = (words.get('event') || '').split(':').map(Number);
    if (threads[slot] && number >= 1 && number <= threads[slot].k.length)
        pick(slot, number - 1, true);
}

// --- legend, title, size ---

function legend() {
    const box = byId('legend');
    for (const thread of threads.slice(0, 16)) {
        const item = box.appendChild(document.createElement('span'));
        const swatch = item.appendChild(document.createElement('span'));
        swatch.className = 'swatch';
        swatch.style.background = color(thread.slot);
        item.append(`thread ${thread.slot}`);
    }
    for (const kind of ['promote', 'demote', 'syscall', 'result', 'order', 'access', 'value', 'revoke', 'stop']) {
        const item = box.appendChild(document.createElement('span'));
        const svg = item.appendChild(document.createElementNS(SVG, 'svg'));
        svg.setAttribute('viewBox', '0 0 22 14');
        add(svg, 'path', { d: (GLYPHS[kind] || DOT)(11, 7), ...glyphStyle(kind, 'var(--soft)') });
        item.append(kind);
    }
    for (const text of ['bands: solid the writer, light the readers', 'arrows: solid data that was written, dashed a reader gives up',
                        'orange below a band: transfers'])
        box.appendChild(document.createElement('span')).textContent = text;
}

function heading() {
    const number = value => value.toLocaleString('en');
    byId('title').textContent = D.command || D.program;
    document.title = `${D.program}: timeline`;
    byId('facts').textContent = `${D.name} · ${number(D.events)} events of ${threads.length} ` +
        `thread${threads.length === 1 ? '' : 's'} · ${number(transfers.length)} transfers of ${number(pages.length)} pages · ` +
        `ticks: ${D.unit}, by ${D.source} · ${D.verdict}`;
    const notices = [];
    if (!D.complete)
        notices.push(`The recording is not complete: ${D.verdict}.`);
    if (D.left_out)
        notices.push(`${number(D.left_out)} events are not shown: they depend on what is not in the file, or are too many.`);
    byId('notice').textContent = notices.join(' ');
    byId('notice').hidden = !notices.length;
}

function resize() {
    width = Math.max(640, picture.clientWidth || innerWidth - 50);
    const room = innerHeight - 330 - threads.length * ROW - AXIS - GAP;
    bands = Math.max(6, Math.min(40, Math.floor(room / BAND)));
    view.first = Math.max(0, Math.min(view.first, listed.length - bands));
    drawOverview();
    later();
}

setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
heading();
legend();
resize();
readAddress();
addEventListener('resize', resize);
addEventListener('hashchange', readAddress);
