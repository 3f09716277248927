/* SPDX-License-Identifier: MIT */
/* Damaged copies of recordings: to see that a replay notices, and says where. */
#ifndef REPLAY_EDIT_H
#define REPLAY_EDIT_H

/* E(NAME, text, what is done to the copy) */
#define EDIT_TABLE(E)                                                                              \
    E(WRONG_PAGE, "wrong-page", "a promotion names the page after its own")                        \
    E(WRONG_TICK, "wrong-tick", "a promotion comes one tick later")                                \
    E(MISSING_EVENT, "missing-event", "a promotion is left out")                                   \
    E(EXTRA_EVENT, "extra-event", "a promotion stands there twice")                                \
    E(WRONG_VALUE, "wrong-value", "a system call returned something else")                         \
    E(WRONG_DEPENDENCY, "wrong-dependency", "a promotion waits for an event that never comes")     \
    E(CHANGED_PROGRAM, "changed-program", "an instruction of the program is another one")          \
    E(CUT, "cut", "the second half of a stream is missing")

enum edit_kind {
#define E(name, text, help) EDIT_##name,
    EDIT_TABLE(E)
#undef E
        EDIT_KINDS,
};

#endif
