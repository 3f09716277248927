// Drawing: everything in view as few SVG paths, whatever the number of events. What is narrower
// than some pixels is put together: events into columns, ownership into the owner that had most of
// a column, transfers into one arrow for each pair of threads and column.
'use strict';

const GUTTER = 218, RIGHT = 18, AXIS = 26, ROW = 36, BAND = 20, GAP = 30;
const COLUMN = 3, ARROW_COLUMN = 9, MOST_ARROWS = 700, GLYPH_ROOM = 8;
const picture = document.getElementById('picture'), overview = document.getElementById('overview');
const SVG = picture.namespaceURI;

const view = { axis: 'order', from: 0, to: 1, first: 0, sort: 'transfers', search: '', picked: null };
let width = 1200, bands = 10, listed = pages, elements = 0;

// --- scales ---

function extent(axis) {
    let most = 1;
    for (const thread of threads)
        if (thread[axis].length)
            most = Math.max(most, thread[axis][thread[axis].length - 1]);
    return most;
}
const EXTENT = { order: extent('order'), ticks: extent('ticks') };

function plotWidth() {
    return width - GUTTER - RIGHT;
}

function px(x) {
    return GUTTER + (x - view.from) / (view.to - view.from) * plotWidth();
}

function unpx(x) {
    return view.from + (x - GUTTER) / plotWidth() * (view.to - view.from);
}

// The first index whose value is at least x.
function lowerBound(list, x) {
    let low = 0, high = list.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// --- elements ---

function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes)
        element.setAttribute(key, attributes[key]);
    if (text !== undefined)
        element.textContent = text;
    parent.appendChild(element);
    elements++;
    return element;
}

// Paths by key, put into the picture together.
class Paths {
    constructor() {
        this.map = new Map();
    }
    draw(key, d) {
        const list = this.map.get(key);
        if (list)
            list.push(d);
        else
            this.map.set(key, [d]);
    }
    flush(parent, attributes) {
        for (const [key, list] of this.map)
            add(parent, 'path', { d: list.join(''), ...attributes(key) });
    }
}

function box(x, y, w, h) {
    return `M${x.toFixed(1)} ${y.toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`;
}

function shorten(text, most) {
    return text.length > most ? text.slice(0, most - 1) + '…' : text;
}

// --- axis ---

function niceStep(span, most) {
    const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find(factor => factor * power >= raw) * power;
    return Math.max(1, step);
}

function drawAxis(height) {
    const step = niceStep(view.to - view.from, plotWidth() / 110);
    const lines = [];
    for (let x = Math.ceil(view.from / step) * step; x <= view.to; x += step) {
        lines.push(`M${px(x).toFixed(1)} ${AXIS - 4}V${height}`);
        add(picture, 'text', { x: px(x), y: AXIS - 10, class: 'soft',
                               'text-anchor': px(x) > width - 60 ? 'end' : 'middle' },
            x.toLocaleString('en'));
    }
    add(picture, 'path', { class: 'grid', d: lines.join('') });
    add(picture, 'text', { x: 14, y: AXIS - 10, class: 'head' },
        view.axis === 'order' ? 'threads, in order' : 'threads, by own ticks');
}

// --- threads ---

function rowTop(slot) {
    return AXIS + slot * ROW;
}

const GLYPHS = {
    promote: (x, y) => `M${x - 4} ${y + 3.5}h8l-4 -8z`,
    demote: (x, y) => `M${x - 4} ${y - 3.5}h8l-4 8z`,
    revoke: (x, y) => `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`,
    refused: (x, y) => `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`,
    access: (x, y) => `M${x} ${y - 3.5}l3.5 3.5l-3.5 3.5l-3.5 -3.5z`,
    syscall: (x, y) => `M${x - 3.5} ${y - 3.5}h7v7h-7z`,
    result: (x, y) => `M${x - 1} ${y - 5}h2v10h-2z`,
    order: (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
    exit: (x, y) => `M${x - 1.5} ${y - 9}h3v18h-3z`,
    stop: (x, y) => `M${x - 1.5} ${y - 9}h3v18h-3z`,
    fatal: (x, y) => `M${x - 1.5} ${y - 9}h3v18h-3z`,
};
const DOT = (x, y) => `M${x - 2.5} ${y}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z`;
const HOLLOW = { order: true, access: true };
const CROSS = { revoke: true, refused: true };

function glyphStyle(kind, paint) {
    if (CROSS[kind])
        return { stroke: 'var(--accent)', 'stroke-width': 2, fill: 'none' };
    if (HOLLOW[kind])
        return { stroke: paint, 'stroke-width': 1.5, fill: 'var(--panel)' };
    return { fill: kind === 'fatal' ? 'var(--accent)' : paint };
}

function drawGlyphs(thread, low, high) {
    const xs = thread[view.axis], y = rowTop(thread.slot) + ROW / 2;
    const paths = new Paths(), calls = [];
    for (let i = low; i < high; i++) {
        const kind = D.kinds[thread.k[i]], x = Math.round(px(xs[i]) * 10) / 10;
        paths.draw(kind, (GLYPHS[kind] || DOT)(x, y));
        if (kind === 'syscall' || i === low)
            calls.push(callSpan(thread, i, y));
    }
    add(picture, 'path', { d: calls.join(''), fill: color(thread.slot), 'fill-opacity': .25 });
    paths.flush(picture, kind => glyphStyle(kind, color(thread.slot)));
}

// The bar of the system call that begins at, or goes on behind, event i.
function callSpan(thread, i, y) {
    const xs = thread[view.axis];
    let first = i, last = i;
    if (thread.k[i] !== KIND.syscall)
        while (first >= 0 && thread.k[first] !== KIND.syscall && thread.k[first] !== KIND.result)
            first--;
    if (first < 0 || thread.k[first] !== KIND.syscall)
        return '';
    while (last + 1 < xs.length && (last === first || thread.k[last] !== KIND.result) &&
           (last === first || thread.k[last] !== KIND.syscall))
        last++;
    const from = Math.max(px(xs[first]), GUTTER), to = Math.min(px(xs[last]), width - RIGHT);
    return to > from ? box(from, y - 10, to - from, 20) : '';
}

function histogram(thread, low, high, count) {
    const xs = thread[view.axis], columns = Math.ceil(plotWidth() / COLUMN);
    const bins = CLASSES.map(() => new Uint32Array(columns + 1));
    const scale = columns / (view.to - view.from);
    for (let i = low; i < high; i++)
        bins[classOf(thread.k[i])][Math.min(columns, (xs[i] - view.from) * scale | 0)]++;
    for (let column = 0; column <= columns; column++)
        count.most = Math.max(count.most, bins[0][column] + bins[1][column] + bins[2][column]);
    return bins;
}

function drawHistogram(thread, bins, most) {
    const bottom = rowTop(thread.slot) + ROW - 4, room = ROW - 8;
    const lists = CLASSES.map(() => []);
    for (let column = 0; column < bins[0].length; column++) {
        const sum = bins[0][column] + bins[1][column] + bins[2][column];
        if (!sum)
            continue;
        const height = Math.max(2, room * Math.log1p(sum) / Math.log1p(most));
        let y = bottom;
        for (let c = 0; c < CLASSES.length; c++) {
            const part = height * bins[c][column] / sum;
            y -= part;
            if (part)
                lists[c].push(box(GUTTER + column * COLUMN, y, COLUMN - .4, part));
        }
    }
    [1, .6, .3].forEach((opacity, c) => add(picture, 'path',
        { d: lists[c].join(''), fill: color(thread.slot), 'fill-opacity': opacity }));
}

function drawThread(thread) {
    const xs = thread[view.axis], top = rowTop(thread.slot);
    if (thread.slot % 2 === 0)
        add(picture, 'rect', { class: 'rowback', x: 0, y: top, width, height: ROW });
    add(picture, 'rect', { x: 14, y: top + 11, width: 11, height: 11, rx: 3, fill: color(thread.slot) });
    add(picture, 'text', { x: 32, y: top + 21 }, `thread ${thread.slot}`);
    add(picture, 'text', { x: GUTTER - 14, y: top + 21, class: 'soft', 'text-anchor': 'end' },
        `${xs.length.toLocaleString('en')} events`);
    if (!xs.length)
        return;
    const from = Math.max(px(xs[0]), GUTTER), to = Math.min(px(xs[xs.length - 1]), width - RIGHT);
    if (to >= from)
        add(picture, 'rect', { x: from, y: top + ROW / 2 - .75, width: to - from, height: 1.5,
                               fill: color(thread.slot), 'fill-opacity': .5 });
}

function drawThreads() {
    const dense = [], count = { most: 1 };
    let events = 0;
    for (const thread of threads) {
        drawThread(thread);
        const low = lowerBound(thread[view.axis], view.from);
        const high = lowerBound(thread[view.axis], view.to + 1e-9);
        events += high - low;
        if ((high - low) * GLYPH_ROOM > plotWidth())
            dense.push([thread, histogram(thread, low, high, count)]);
        else
            drawGlyphs(thread, low, high);
    }
    for (const [thread, bins] of dense)
        drawHistogram(thread, bins, count.most);
    return events;
}

// --- the selected event ---

function drawPicked() {
    if (!view.picked)
        return;
    const [slot, index] = view.picked, x = px(threads[slot][view.axis][index]);
    for (const [otherSlot, other] of before(slot, index))
        add(picture, 'path', { class: 'chain', d: arrowPath([otherSlot, other, slot, index, 1]).line });
    for (const [otherSlot, other] of after(slot, index))
        add(picture, 'path', { class: 'chain', d: arrowPath([slot, index, otherSlot, other, 1]).line });
    if (x >= GUTTER - 5 && x <= width)
        add(picture, 'circle', { class: 'selected', cx: x, cy: rowTop(slot) + ROW / 2, r: 9 });
}

function pairs(list) {
    const out = [];
    for (let i = 0; list && i < list.length && i < 128; i += 2)
        out.push([list[i], list[i + 1]]);
    return out;
}

// What the event depends on, and what depends on it: [slot, index] each.
function before(slot, index) {
    return pairs(threads[slot].deps.get(index));
}

function after(slot, index) {
    return pairs(threads[slot].after.get(index));
}

// --- all of it ---

function drawOverview() {
    overview.replaceChildren();
    overview.setAttribute('viewBox', `0 0 ${width} 40`);
    const columns = Math.ceil(plotWidth() / 2), bins = new Uint32Array(columns + 1);
    let most = 1;
    for (const thread of threads)
        for (const x of thread[view.axis]) {
            const column = x / EXTENT[view.axis] * columns | 0;
            most = Math.max(most, ++bins[column]);
        }
    const list = [];
    bins.forEach((count, column) => count && list.push(
        box(GUTTER + column * 2, 34 - 28 * count / most, 2, 28 * count / most)));
    add(overview, 'path', { class: 'density', d: list.join('') });
    add(overview, 'text', { x: 14, y: 24, class: 'head' }, 'events');
    add(overview, 'rect', { class: 'window', id: 'window', y: 3, height: 34, rx: 3 });
}

function drawWindow() {
    const scale = plotWidth() / EXTENT[view.axis], element = document.getElementById('window');
    const from = Math.min(view.from * scale, plotWidth() - 3);
    element.setAttribute('x', GUTTER + from);
    element.setAttribute('width', Math.max(3, Math.min(plotWidth(), view.to * scale) - from));
}

function draw() {
    const started = performance.now();
    const height = bandTop(Math.min(bands, Math.max(1, listed.length))) + 6;
    elements = 0;
    picture.replaceChildren();
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('height', height);
    const defs = add(picture, 'defs', {});
    const clip = add(defs, 'clipPath', { id: 'plot' });
    add(clip, 'rect', { x: GUTTER - 6, y: 0, width: plotWidth() + 12, height });
    const events = drawThreads();
    drawAxis(height);
    const arrows = drawTransfers(add(picture, 'g', { 'clip-path': 'url(#plot)' }));
    drawPages();
    drawPicked();
    drawWindow();
    return { events, arrows, elements, milliseconds: performance.now() - started };
}
