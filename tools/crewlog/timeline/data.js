// What is drawn: threads, pages and transfers, out of the data that crewlog wrote.
// Threads' events are columns: x position, t ticks, k kind, r place, c RCX, p page, g rights.
'use strict';

const D = JSON.parse(document.getElementById('data').textContent);
const KIND = Object.fromEntries(D.kinds.map((name, number) => [name, number]));

const PALETTE = ['#3b7dd8', '#e07b27', '#2f9e6e', '#c94a64', '#8a63c9', '#a3842c', '#1fa0b0',
                 '#d068b8', '#6b8e23', '#8c6a5a'];

function color(slot) {
    if (slot < PALETTE.length)
        return PALETTE[slot];
    return `hsl(${(slot * 137.5 + 20) % 360} 55% ${slot % 2 ? 44 : 56}%)`;
}

function undelta(list) {
    const out = new Float64Array(list.length);
    let sum = 0;
    for (let i = 0; i < list.length; i++)
        out[i] = sum += Number(list[i]);
    return out;
}

// How often each word of an event's class is found: what histograms stack.
const CLASSES = ['pages', 'calls', 'rest'];
function classOf(kind) {
    switch (D.kinds[kind]) {
    case 'promote': case 'demote': case 'revoke': case 'refused': case 'access':
        return 0;
    case 'syscall': case 'result': case 'order':
        return 1;
    default:
        return 2;
    }
}

const threads = D.threads.map((raw, slot) => ({
    slot, k: raw.k, r: raw.r, c: raw.c, p: raw.p, g: raw.g,
    order: undelta(raw.x), ticks: undelta(raw.t),
    ab: new Map(raw.ab.map(([index, a, b]) => [index, [a, b]])),
    deps: new Map(raw.d.map(list => [list[0], list.slice(1)])),
}));

// What depends on an event: [slot, index, slot, index …].
for (const thread of threads)
    thread.after = new Map();
for (const thread of threads)
    for (const [index, list] of thread.deps)
        for (let i = 0; i < list.length; i += 2) {
            const map = threads[list[i]].after, known = map.get(list[i + 1]);
            if (known)
                known.push(thread.slot, index);
            else
                map.set(list[i + 1], [thread.slot, index]);
        }

// --- ownership: intervals [slot, writes, first event, last event or -1], all of one thread ---

const pages = D.pages.map(([address, names], number) =>
    ({ number, address, names, intervals: [], transfers: 0, into: [] }));

function readIntervals(thread) {
    const open = new Map();
    const close = (page, index) => {
        const interval = open.get(page);
        if (interval)
            interval[3] = index;
        open.delete(page);
    };
    const begin = (page, index, writes) => {
        const interval = [thread.slot, writes, index, -1];
        pages[page].intervals.push(interval);
        open.set(page, interval);
    };
    for (let i = 0; i < thread.k.length; i++) {
        const kind = thread.k[i], page = thread.p[i];
        if (kind !== KIND.promote && kind !== KIND.demote && kind !== KIND.revoke)
            continue;
        close(page, i);
        const rights = kind === KIND.revoke ? 0 : thread.g[i] & 3;
        if (rights)
            begin(page, i, rights === 2);
    }
}
threads.forEach(readIntervals);

// --- transfers: [slot, event, slot, event, whether data goes with it] ---

const transfers = [];
for (let i = 0; i < D.transfers.length; i += 5) {
    const one = D.transfers.slice(i, i + 5);
    const page = threads[one[2]].p[one[3]];
    pages[page].transfers++;
    pages[page].into.push(transfers.length);
    transfers.push(one);
}

// --- words ---

function eventName(slot, index) {
    return `${slot}:${index + 1}`;
}

// Numbers beyond 2^53 are hexadecimal text already.
function hex(number) {
    return typeof number === 'number' ? `0x${number.toString(16)}` : number;
}

function place(thread, index) {
    return D.places[thread.r[index]];
}

function pageText(number) {
    const page = pages[number];
    return page.names ? `${page.address} (${page.names})` : page.address;
}

const RIGHTS = ['none', 'read', 'write'];

// The rows of a description: [name, text].
function describe(slot, index) {
    const thread = threads[slot], kind = D.kinds[thread.k[index]];
    const [address, symbol, line] = place(thread, index);
    const rows = [];
    const page = thread.p[index];
    const [a, b] = thread.ab.get(index) || [null, null];
    if (page >= 0)
        rows.push(['page', pageText(page)]);
    if (['promote', 'demote', 'access', 'refused'].includes(kind))
        rows.push(['rights', RIGHTS[thread.g[index] & 3] + (thread.g[index] & 4 ? ', execute' : '')]);
    if (a !== null)
        rows.push([kind === 'syscall' ? 'call' : kind === 'result' ? 'RAX' : 'a', a]);
    if (b !== null)
        rows.push(['b', b]);
    rows.push(['ticks', thread.ticks[index].toLocaleString('en')]);
    rows.push(['at', (symbol || address) + (line ? `, ${line}` : '')]);
    if (symbol)
        rows.push(['RIP', address]);
    rows.push(['RCX', hex(thread.c[index])]);
    rows.push(['position', thread.order[index].toLocaleString('en')]);
    return { what: `thread ${slot}, event ${index + 1}: ${kind}`, rows };
}
