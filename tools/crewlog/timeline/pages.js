// Drawing what goes between threads, and who owns which page.
'use strict';

// --- transfers ---

function arrowEnds(transfer) {
    const [fromSlot, from, toSlot, to] = transfer;
    return [threads[fromSlot][view.axis][from], threads[toSlot][view.axis][to]];
}

// One arrow for each pair of threads and column: [transfer, how many].
function arrowsInView() {
    const groups = new Map();
    let count = 0;
    for (const transfer of transfers) {
        const [from, to] = arrowEnds(transfer);
        if ((from < view.from || from > view.to) && (to < view.from || to > view.to))
            continue; /* one that only passes by says nothing here */
        count++;
        const column = Math.floor(px(to) / ARROW_COLUMN);
        const key = ((transfer[0] * 64 + transfer[2]) * 2 + transfer[4]) * 65536 + column;
        const group = groups.get(key);
        if (group)
            group[1]++;
        else
            groups.set(key, [transfer, 1]);
    }
    const list = [...groups.values()].sort((a, b) => b[1] - a[1]);
    return { count, list: list.slice(0, MOST_ARROWS) };
}

function arrowPath(transfer) {
    const [from, to] = arrowEnds(transfer), down = transfer[2] > transfer[0] ? 1 : -1;
    const x0 = px(from), x1 = px(to);
    const y0 = rowTop(transfer[0]) + ROW / 2 + 6 * down, y1 = rowTop(transfer[2]) + ROW / 2 - 7 * down;
    const bend = (y1 - y0) * .45;
    const f = value => value.toFixed(1);
    return {
        line: `M${f(x0)} ${f(y0)}C${f(x0)} ${f(y0 + bend)} ${f(x1)} ${f(y1 - bend)} ${f(x1)} ${f(y1)}`,
        head: `M${f(x1 - 3.2)} ${f(y1 - 5 * down)}h6.4l-3.2 ${5.5 * down}z`,
    };
}

function drawTransfers(parent) {
    const { count, list } = arrowsInView(), lines = new Paths(), heads = new Paths();
    for (const [transfer, times] of list) {
        const path = arrowPath(transfer), weight = Math.min(3, Math.floor(Math.log2(times) / 2));
        lines.draw(`${transfer[0]} ${transfer[4]} ${weight}`, path.line);
        heads.draw(`${transfer[0]} ${transfer[4]}`, path.head);
    }
    const faint = data => data === '1' ? 1 : .55;
    const crowd = list.length > 250 ? .55 : 1;
    lines.flush(parent, key => {
        const [slot, data, weight] = key.split(' ');
        return { fill: 'none', stroke: color(+slot), 'stroke-width': 1.1 + .7 * weight,
                 style: `stroke-opacity: calc(var(--arrow) * ${faint(data) * crowd})`,
                 ...(data === '1' ? {} : { 'stroke-dasharray': '3 3' }) };
    });
    heads.flush(parent, key => {
        const [slot, data] = key.split(' ');
        return { fill: color(+slot), 'fill-opacity': faint(data) * .9 };
    });
    return { count, drawn: list.length };
}

// --- pages ---

function bandTop(row) {
    return AXIS + threads.length * ROW + GAP + row * BAND;
}

function intervalEnds(interval) {
    const xs = threads[interval[0]][view.axis];
    return [xs[interval[2]], xs[interval[3] < 0 ? xs.length - 1 : interval[3]]];
}

// Columns' owners where intervals are too narrow to be seen: who had most of it, so far.
class Columns {
    constructor() {
        this.count = Math.ceil(plotWidth()) + 1;
        this.slot = new Int16Array(this.count).fill(-1);
        this.weight = new Float32Array(this.count);
    }
    put(slot, from, to) {
        const column = Math.max(0, Math.min(this.count - 1, from - GUTTER | 0));
        const length = Math.max(to - from, .05);
        if (this.slot[column] === slot)
            this.weight[column] += length;
        else if (length >= this.weight[column])
            [this.slot[column], this.weight[column]] = [slot, length - this.weight[column]];
        else
            this.weight[column] -= length;
    }
    runs(draw) {
        for (let start = 0, at = 1; at <= this.count; at++) {
            if (at < this.count && this.slot[at] === this.slot[start])
                continue;
            if (this.slot[start] >= 0)
                draw(this.slot[start], GUTTER + start, GUTTER + at);
            start = at;
        }
    }
}

function drawBand(page, row) {
    const top = bandTop(row) + 2, height = BAND - 5, lane = height / Math.max(1, threads.length);
    const paths = new Paths(), writers = new Columns(), readers = new Columns();
    const put = (slot, writes, from, to) => paths.draw(`${slot} ${writes ? 1 : 0}`,
        box(from, writes ? top : top + slot * lane, to - from, writes ? height : Math.max(lane, 1.5)));
    for (const interval of page.intervals) {
        const [start, end] = intervalEnds(interval);
        if (end < view.from || start > view.to)
            continue;
        const from = Math.max(px(start), GUTTER), to = Math.min(px(end), width - RIGHT);
        if (to - from >= 1.2)
            put(interval[0], interval[1], from, to);
        else
            (interval[1] ? writers : readers).put(interval[0], from, to);
    }
    readers.runs((slot, from, to) => put(slot, false, from, to));
    writers.runs((slot, from, to) => put(slot, true, from, to));
    paths.flush(picture, key => {
        const [slot, writes] = key.split(' ');
        return { fill: color(+slot),
                 style: writes === '1' ? 'fill-opacity: .92' : 'fill-opacity: var(--reader)' };
    });
    drawHeat(page, top + height);
}

// How many transfers each column has, below the band.
function drawHeat(page, y) {
    const columns = new Map(), paths = new Paths();
    for (const number of page.into) {
        const x = arrowEnds(transfers[number])[1];
        if (x >= view.from && x <= view.to)
            columns.set(px(x) / COLUMN | 0, (columns.get(px(x) / COLUMN | 0) || 0) + 1);
    }
    for (const [column, count] of columns)
        paths.draw(Math.min(3, Math.floor(Math.log2(count) / 2)), box(column * COLUMN, y, COLUMN - .5, 2));
    paths.flush(picture, level => ({ class: 'heat', 'fill-opacity': .4 + .2 * level }));
}

function drawPages() {
    const shown = listed.slice(view.first, view.first + bands);
    add(picture, 'text', { x: 14, y: bandTop(0) - 9, class: 'head' }, 'pages, by owner');
    shown.forEach((page, row) => {
        add(picture, 'rect', { class: 'rowback', x: GUTTER, y: bandTop(row) + 2,
                               width: plotWidth(), height: BAND - 5 });
        add(picture, 'text', { x: 14, y: bandTop(row) + 14, class: 'mono' },
            shorten(page.names ? `${page.address} ${page.names}` : page.address, 27));
        drawBand(page, row);
    });
}
