/* SPDX-License-Identifier: MIT */
/* The CREW rule against a model that knows one right per slot: every transition of every state of
 * three slots, and long random sequences over all 64.
 */
#include "replay/crew.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define SLOTS LOG_MAX_SLOTS
#define FEW 3

struct model {
    enum log_rights rights[SLOTS];
    struct stamp last_write;
};

static struct user_page page;
static struct model model;

static void model_to_page(void)
{
    crew_reset(&page);
    page.last_write = model.last_write;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (model.rights[slot] != LOG_RIGHTS_NONE)
            page.holders |= 1ull << slot;
        if (model.rights[slot] == LOG_RIGHTS_WRITE)
            page.writer = (int32_t)slot;
    }
}

static bool page_is_model(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (crew_rights(&page, slot) != model.rights[slot])
            return false;
    return page.last_write.slot == model.last_write.slot &&
           page.last_write.event == model.last_write.event && crew_consistent(&page);
}

/* Who stands in the way of an access: by its definition, one slot after the other. */
static uint64_t model_victims(uint32_t requester, bool write)
{
    uint64_t victims = 0;

    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (slot != requester && (write ? model.rights[slot] != LOG_RIGHTS_NONE
                                        : model.rights[slot] == LOG_RIGHTS_WRITE))
            victims |= 1ull << slot;
    return victims;
}

static bool model_grant(uint32_t slot, bool write)
{
    enum log_rights wanted = write ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ;

    if (model_victims(slot, write))
        return false;
    if (model.rights[slot] < wanted)
        model.rights[slot] = wanted;
    return true;
}

static void model_lose(uint32_t slot, enum log_rights rights, uint64_t event)
{
    if (model.rights[slot] <= rights)
        return;
    if (model.rights[slot] == LOG_RIGHTS_WRITE)
        model.last_write = (struct stamp){slot, event};
    model.rights[slot] = rights;
}

/* --- every cell: state × slot × what happens --- */

enum action { GRANT_READ, GRANT_WRITE, LOSE_ALL, LOSE_WRITE, LOSE_NOTHING, ACTIONS };

static bool act(enum action action, uint32_t slot, uint64_t event)
{
    static const enum log_rights left[] = {[LOSE_ALL] = LOG_RIGHTS_NONE,
                                           [LOSE_WRITE] = LOG_RIGHTS_READ,
                                           [LOSE_NOTHING] = LOG_RIGHTS_WRITE};
    bool write = action == GRANT_WRITE;

    if (action >= LOSE_ALL) {
        crew_lose(&page, slot, left[action], event);
        model_lose(slot, left[action], event);
        return page_is_model();
    }
    if (crew_victims(&page, slot, write) != model_victims(slot, write))
        return false;
    bool granted = crew_grant(&page, slot, write);
    return granted == model_grant(slot, write) && page_is_model();
}

/* State `number` of the few slots' rights, base 3; false when CREW forbids it. */
static bool set_state(unsigned number)
{
    unsigned writers = 0, holders = 0;

    memset(&model, 0, sizeof model);
    model.last_write = (struct stamp){7, 77};
    for (uint32_t slot = 0; slot < FEW; slot++, number /= 3) {
        model.rights[slot] = (enum log_rights)(number % 3);
        holders += model.rights[slot] != LOG_RIGHTS_NONE;
        writers += model.rights[slot] == LOG_RIGHTS_WRITE;
    }
    model_to_page();
    return writers == 0 || holders == 1;
}

static void test_every_transition(void)
{
    unsigned states = 0, wrong = 0;

    for (unsigned number = 0; number < 3 * 3 * 3; number++) {
        if (!set_state(number))
            continue;
        states++;
        for (uint32_t slot = 0; slot < FEW; slot++)
            for (enum action action = 0; action < ACTIONS; action++) {
                set_state(number);
                wrong += !act(action, slot, 100 + number);
            }
    }
    is_u64(states, 11, "three slots have eleven states: eight sets of readers, three writers");
    is_u64(wrong, 0, "all their %u transitions are the model's", states * FEW * ACTIONS);
}

/* --- sequences --- */

/* What recording does: takes the page from the victims, one by one, then gets it. */
static bool take_from_victims(uint32_t slot, bool write, uint64_t event)
{
    enum log_rights keeps = crew_victim_keeps(write);

    for (uint64_t victims = crew_victims(&page, slot, write); victims; victims &= victims - 1) {
        uint32_t victim = (uint32_t)__builtin_ctzll(victims);
        bool early = crew_grant(&page, slot, write);
        if (early)
            return false;
        crew_lose(&page, victim, keeps, event);
        model_lose(victim, keeps, event);
    }
    return crew_grant(&page, slot, write) && model_grant(slot, write) && page_is_model();
}

static void test_sequences(void)
{
    uint64_t seed = 5;
    unsigned wrong = 0;

    for (unsigned run = 0; run < 200; run++) {
        uint64_t few = 1 + random_below(&seed, SLOTS);
        memset(&model, 0, sizeof model);
        crew_reset(&page);
        for (uint64_t event = 1; event <= 2000; event++) {
            uint32_t slot = (uint32_t)random_below(&seed, few);
            if (random_below(&seed, 4) == 0)
                wrong += !take_from_victims(slot, random_below(&seed, 2), event);
            else
                wrong += !act((enum action)random_below(&seed, ACTIONS), slot, event);
        }
    }
    is_u64(wrong, 0, "400000 random steps of up to 64 slots are the model's, and consistent");
}

/* --- what must be told apart --- */

static void test_inconsistent(void)
{
    crew_reset(&page);
    ok(crew_consistent(&page), "a page that nobody holds is consistent");
    page.writer = 3;
    ok(!crew_consistent(&page), "a writer that does not hold it is not");
    page.holders = 1ull << 3;
    ok(crew_consistent(&page), "a writer alone is");
    page.holders |= 1ull << 63;
    ok(!crew_consistent(&page), "a writer and a reader are not");
    page.writer = CREW_NO_WRITER;
    ok(crew_consistent(&page), "two readers are");
}

static void test_last_write(void)
{
    crew_reset(&page);
    ok(page.last_write.event == 0, "nobody has written to a page after a reset");
    crew_grant(&page, 63, true);
    crew_lose(&page, 63, LOG_RIGHTS_READ, 9);
    ok(page.last_write.slot == 63 && page.last_write.event == 9, "a writer's loss is remembered");
    crew_lose(&page, 63, LOG_RIGHTS_NONE, 10);
    is_u64(page.last_write.event, 9, "a reader's loss is not");
}

int main(void)
{
    test_every_transition();
    test_sequences();
    test_inconsistent();
    test_last_write();
    return done();
}
