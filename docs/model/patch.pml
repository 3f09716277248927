/* SPDX-License-Identifier: MIT */
/*
 * How text is patched while CPUs run it (arch/x86/text_patch.c), as a Promela model.
 *
 * One place of BYTES bytes is turned on, then off again. CPUS CPUs run it again and again: in
 * threads with interrupts on and off, in NMIs, and in NMIs that hit the handler of #BP. The patcher
 * is a thread of CPU 0.
 *
 * What a CPU executes are bytes that it fetched at any time before, in any order, each by itself,
 * unless it has serialised since: an interrupt's or exception's IRET, CPUID. So neither the order
 * of the patcher's stores nor the size of a cache line helps.
 *
 * TRANSLATOR: the CPUs are QEMU's instead. Each translates the place as a whole, keeps what came of
 * it over any serialisation, and loses it only to a store that finds it there. Such a store first
 * removes the translations, then writes; a CPU may translate in between.
 *
 * README.md says what is claimed. ONLY_CLAIM and the numbers above 20 are as in crew.pml.
 */

#ifndef CPUS
#define CPUS 2
#endif
#ifndef BYTES
#define BYTES 2
#endif
#ifndef BATCHES
#define BATCHES 1
#endif
#ifdef TRANSLATOR
#define REPEAT /* the last step is done twice; a CPU does not need that */
#endif

/*
 * Rules taken out, one at a time:
 *   NO_INT3       the bytes are stored one after the other
 *   NO_SYNC1      no synchronisation after the int3, NO_SYNC2: after the tail,
 *   NO_SYNC3      after the first byte, NO_SYNC4: after it was stored once more
 *   NO_REPEAT     the first byte is stored once, though CPUs translate
 *   NO_SERIALISE  the synchronisation's handler does not serialise
 *   LATE_BATCH    the handler of #BP is told after the int3 is there
 *   EARLY_END     the handler of #BP is told of the end before the last synchronisation
 */

/* --- Claims -------------------------------------------------------------------------------- */

#define WHOLE 1   /* what runs is the old instruction, the new one, or int3: no mixture */
#define FOUND 2   /* whoever meets the int3 finds the batch that it belongs to */
#define SETTLED 3 /* when the patcher has returned, every CPU runs what it wanted */
#ifdef ONLY_CLAIM
#define CLAIM(n, holds) assert(ONLY_CLAIM != n || (holds))
#define NEVER(n, what) assert(ONLY_CLAIM != n || !(what))
#else
#define CLAIM(n, holds) assert(n > 0 && (holds))
#define NEVER(n, what) skip
#endif

/* Wrong claims: that this never happens. */
#define SEEN_INT3 21   /* a thread meets the int3 */
#define SEEN_NESTED 22 /* an NMI meets it in the handler of #BP */
#define SEEN_STALE 23  /* the old instruction runs while an int3 stands there */
#define SEEN_OFF 24    /* a CPU with interrupts off keeps the patcher waiting */

/* --- State --------------------------------------------------------------------------------- */

#define OFF 0 /* a byte, or the whole, of either instruction */
#define ON 1
#define INT3 2
#define MIXED 3
#define NONE 4

#define RUN 0    /* contexts: runs the place, or something else */
#define TRAP 1   /* the CPU has taken #BP, its handler has not yet looked */
#define RETURN 2 /* it has, and goes to its IRET */
#define IDLE 3   /* of NMI: there is none */

#define AT(c, i) ((c) * BYTES + (i))

byte memory[BYTES];
byte fetched[CPUS * BYTES]; /* NONE: not fetched since the CPU has serialised */
byte thread[CPUS], nmi[CPUS];
bool irq_off[CPUS], request[CPUS];
bool batch;                 /* what the handler of #BP looks at */
byte settled = OFF;         /* NONE: being patched */
byte wanted = OFF;
#ifdef TRANSLATOR
byte translation[CPUS];     /* NONE: none yet */
byte reading[CPUS];         /* how many bytes of it have been read */
byte draft[CPUS];
#define IN_TRANSLATION(c) (reading[c] > 0)
#else
#define IN_TRANSLATION(c) false
#endif

/* --- A CPU --------------------------------------------------------------------------------- */

inline serialise(c, i)
{
    for (i : 0 .. BYTES - 1) {
        fetched[AT(c, i)] = NONE
    }
    i = 0 /* one state less to tell apart, here and below */
}

/* What the place is for this CPU now, in `seen`. */
#ifdef TRANSLATOR
#define CAN_RUN(c) (translation[c] != NONE)
inline look(c, i, seen)
{
    seen = translation[c]
}
#else
#define CAN_RUN(c) true
#define BYTE(c, i) (fetched[AT(c, i)] != NONE -> fetched[AT(c, i)] : memory[i])
inline look(c, i, seen)
{
    seen = BYTE(c, 0);
    for (i : 1 .. BYTES - 1) {
        if
        :: seen == ON || seen == OFF -> seen = (BYTE(c, i) == seen -> seen : MIXED)
        :: else
        fi
    }
    i = 0
}
#endif

inline execute(c, i, seen, context)
{
    look(c, i, seen);
    CLAIM(WHOLE, seen != MIXED);
    CLAIM(SETTLED, settled == NONE || seen == settled || seen == INT3);
    NEVER(SEEN_STALE, seen != INT3 && seen != wanted && memory[0] == INT3);
    if
    :: seen == INT3 -> context = TRAP
    :: else
    fi;
    seen = 0
}

/* The emulation does what the new instruction does. */
inline handle(context)
{
    CLAIM(FOUND, batch);
    context = RETURN
}

proctype cpu(byte c)
{
    byte i, seen;
    do
#ifdef TRANSLATOR
    :: atomic {
        translation[c] == NONE && reading[c] == 0 -> draft[c] = memory[0];
        reading[c] = 1
    }
    :: atomic {
        reading[c] > 0 && reading[c] < BYTES && draft[c] != INT3 ->
        draft[c] = (memory[reading[c]] == draft[c] -> draft[c] : MIXED);
        reading[c]++
    }
    :: atomic {
        reading[c] == BYTES || (reading[c] > 0 && draft[c] == INT3) ->
        translation[c] = draft[c];
        reading[c] = 0;
        draft[c] = NONE
    }
#else
    :: atomic { /* the CPU reads ahead, or drops what it has read */
        select(i : 0 .. BYTES - 1);
        if
        :: fetched[AT(c, i)] == NONE -> fetched[AT(c, i)] = memory[i]
        :: fetched[AT(c, i)] != NONE -> fetched[AT(c, i)] = NONE
        fi;
        i = 0
    }
#endif
    :: atomic { /* a thread; on CPU 0 an interrupt of the patcher */
        CAN_RUN(c) && !IN_TRANSLATION(c) && nmi[c] == IDLE && thread[c] == RUN ->
        execute(c, i, seen, thread[c]);
        NEVER(SEEN_INT3, thread[c] == TRAP)
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == IDLE && thread[c] == TRAP -> handle(thread[c])
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == IDLE && thread[c] == RETURN -> serialise(c, i);
        thread[c] = RUN
    }
    :: atomic {
        c > 0 && !IN_TRANSLATION(c) && nmi[c] == IDLE && thread[c] == RUN ->
        irq_off[c] = !irq_off[c];
        NEVER(SEEN_OFF, irq_off[c] && request[c])
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == IDLE -> nmi[c] = RUN
    }
    :: atomic {
        CAN_RUN(c) && !IN_TRANSLATION(c) && nmi[c] == RUN -> execute(c, i, seen, nmi[c]);
        NEVER(SEEN_NESTED, nmi[c] == TRAP && thread[c] == TRAP)
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == TRAP -> handle(nmi[c])
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == RETURN -> serialise(c, i);
        nmi[c] = RUN
    }
    :: atomic {
        !IN_TRANSLATION(c) && nmi[c] == RUN -> serialise(c, i);
        nmi[c] = IDLE
    }
    :: atomic { /* the synchronisation */
        request[c] && !IN_TRANSLATION(c) && nmi[c] == IDLE && thread[c] == RUN && !irq_off[c] ->
#ifndef NO_SERIALISE
        serialise(c, i);
#endif
        request[c] = false
    }
    od
}

/* --- The patcher --------------------------------------------------------------------------- */

/* It runs when nothing else does on its CPU. */
#define ITS_TURN (!IN_TRANSLATION(0) && nmi[0] == IDLE && thread[0] == RUN)

inline store(i, k, value)
{
#ifdef TRANSLATOR
    atomic {
        ITS_TURN ->
        for (k : 0 .. CPUS - 1) {
            translation[k] = NONE
        }
    }
    memory[i] = value /* within one instruction of its CPU */
#else
    atomic {
        ITS_TURN -> memory[i] = value
    }
#endif
}

inline synchronise(k)
{
    atomic {
        ITS_TURN ->
        for (k : 0 .. CPUS - 1) {
            request[k] = true
        }
    }
    for (k : 0 .. CPUS - 1) {
        !request[k]
    }
    k = 0
}

inline begin()
{
    atomic {
        ITS_TURN -> batch = true
    }
}

inline end()
{
    atomic {
        ITS_TURN -> batch = false
    }
}

inline patch(i, k)
{
    settled = NONE;
#ifndef LATE_BATCH
    begin();
#endif
#ifndef NO_INT3
    store(0, k, INT3);
#ifdef LATE_BATCH
    begin();
#endif
#ifndef NO_SYNC1
    synchronise(k);
#endif
#endif
    for (i : 1 .. BYTES - 1) {
        store(i, k, wanted)
    }
#ifndef NO_SYNC2
    synchronise(k);
#endif
    store(0, k, wanted);
#ifdef EARLY_END
    end();
#endif
#ifndef NO_SYNC3
    synchronise(k);
#endif
#if defined(REPEAT) && !defined(NO_REPEAT)
    store(0, k, wanted);
#ifndef NO_SYNC4
    synchronise(k);
#endif
#endif
#ifndef EARLY_END
    end();
#endif
    settled = wanted
}

proctype patcher()
{
    byte i, k, turn;
    for (turn : 1 .. BATCHES) {
        atomic {
            wanted = ON - wanted;
        }
        patch(i, k)
    }
}

init
{
    byte c, i;
    atomic {
        for (c : 0 .. CPUS - 1) {
            nmi[c] = IDLE;
            serialise(c, i);
#ifdef TRANSLATOR
            translation[c] = NONE;
            draft[c] = NONE;
#endif
        }
        for (c : 0 .. CPUS - 1) {
            run cpu(c)
        }
        run patcher()
    }
}
