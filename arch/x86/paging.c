/* SPDX-License-Identifier: MIT */
/* Page tables: four levels, 4 KiB pages for programs, stacks and the image, 2 MiB pages for the
 * direct map.
 *
 * The kernel half of every root is a copy of the kernel root's upper 256 entries. So that the
 * copies never go stale, paging_init() creates a table for every entry that will ever be used.
 */
#include "arch/x86/paging.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/panic.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"

#define ENTRIES 512
#define LARGE_PAGE (2ull << 20)
#define FOUR_GIB (4ull << 30)
#define TABLE_FLAGS (PT_PRESENT | PT_WRITE | PT_ACCESSED)
#define MMIO_LIMIT (1ull << 30)

static uint64_t kernel_root;
static struct spinlock stacks_lock = SPINLOCK_INIT(LOCK_STACKS, "kernel stacks");
static uint64_t next_stack = STACKS_BASE; /* stacks_lock */
static uint64_t next_code = CODE_BASE;    /* stacks_lock */
static uint64_t next_device = MMIO_BASE;  /* boot only */

struct free_stack {
    struct free_stack *next;
    uint64_t size;
};
static struct free_stack *free_stacks; /* stacks_lock */

static inline uint64_t *table_at(uint64_t physical)
{
    return PHYS_TO_VIRT(physical & PT_ADDRESS);
}

static inline unsigned index_at(uint64_t address, unsigned level)
{
    return (unsigned)(address >> (PAGE_SHIFT + 9 * level)) & (ENTRIES - 1);
}

/* The entry of `address` in the table of the given level (0: the page itself); missing tables
 * are created when flags say with which rights, else NULL is returned. */
static uint64_t *walk(uint64_t root, uint64_t address, unsigned level, uint64_t create_flags)
{
    uint64_t *table = table_at(root);
    for (unsigned at = 3; at > level; at--) {
        uint64_t *entry = &table[index_at(address, at)];
        if (!(*entry & PT_PRESENT)) {
            uint64_t frame = create_flags ? upcall_frame_alloc() : 0;
            if (!frame)
                return NULL;
            *entry = frame | create_flags;
        } else if (*entry & PT_LARGE) {
            return at == 1 || at == 2 ? entry : NULL;
        }
        table = table_at(*entry);
    }
    return &table[index_at(address, level)];
}

static void map_kernel_range(uint64_t start, uint64_t end, uint64_t physical, uint64_t flags)
{
    for (uint64_t address = start; address < end; address += PAGE_SIZE, physical += PAGE_SIZE)
        if (!paging_map(kernel_root, address, physical, flags))
            panic("out of memory for the kernel's page tables");
}

/* What the image has as text and constants cannot be written through the direct map either. */
static bool is_read_only(uint64_t physical)
{
    uint64_t address = KERNEL_BASE + physical;
    return (address >= (uint64_t)text_start && address < (uint64_t)text_end) ||
           (address >= (uint64_t)rodata_start && address < (uint64_t)rodata_end);
}

static void map_direct_small(uint64_t start)
{
    for (uint64_t physical = start; physical < start + LARGE_PAGE; physical += PAGE_SIZE) {
        uint64_t address = DIRECT_MAP_BASE + physical;
        map_kernel_range(address, address + PAGE_SIZE, physical,
                         PT_GLOBAL | PT_NX | (is_read_only(physical) ? 0 : PT_WRITE));
    }
}

static void map_direct(uint64_t end)
{
    for (uint64_t physical = 0; physical < end; physical += LARGE_PAGE) {
        if (physical + LARGE_PAGE > IMAGE_TO_PHYS(image_start) &&
            physical < IMAGE_TO_PHYS(image_end)) {
            map_direct_small(physical);
            continue;
        }
        uint64_t *entry = walk(kernel_root, DIRECT_MAP_BASE + physical, 1, TABLE_FLAGS);
        if (!entry)
            panic("out of memory for the direct map");
        uint64_t nx = cpu_features.nx ? PT_NX : 0;
        *entry = physical | TABLE_FLAGS | PT_DIRTY | PT_LARGE | PT_GLOBAL | nx;
    }
}

static void map_image(void)
{
    map_kernel_range((uint64_t)text_start, (uint64_t)text_end, IMAGE_TO_PHYS(text_start),
                     PT_GLOBAL);
    map_kernel_range((uint64_t)rodata_start, (uint64_t)rodata_end, IMAGE_TO_PHYS(rodata_start),
                     PT_GLOBAL | PT_NX);
    map_kernel_range((uint64_t)data_start, (uint64_t)data_end, IMAGE_TO_PHYS(data_start),
                     PT_GLOBAL | PT_NX | PT_WRITE);
}

void paging_init(uint64_t ram_end)
{
    kernel_root = upcall_frame_alloc();
    if (!kernel_root)
        panic("out of memory for the kernel's page tables");
    map_direct(ram_end > FOUR_GIB ? ram_end : FOUR_GIB);
    map_image();
    if (!walk(kernel_root, STACKS_BASE, 2, TABLE_FLAGS) ||
        !walk(kernel_root, MMIO_BASE, 2, TABLE_FLAGS) ||
        !walk(kernel_root, TEXT_ALIAS_BASE, 0, TABLE_FLAGS))
        panic("out of memory for the kernel's page tables");
    paging_use_kernel_root();
}

void paging_use_kernel_root(void)
{
    cpu_write_cr3(kernel_root);
}

uint64_t paging_kernel_root(void)
{
    return kernel_root;
}

uint64_t paging_create_root(void)
{
    uint64_t root = upcall_frame_alloc();
    if (root)
        memcpy(&table_at(root)[ENTRIES / 2], &table_at(kernel_root)[ENTRIES / 2],
               ENTRIES / 2 * sizeof(uint64_t));
    return root;
}

static void free_tables(uint64_t table, unsigned level, unsigned count)
{
    if (level > 0)
        for (unsigned i = 0; i < count; i++)
            if (table_at(table)[i] & PT_PRESENT)
                free_tables(table_at(table)[i] & PT_ADDRESS, level - 1, ENTRIES);
    upcall_frame_free(table);
}

void paging_destroy_root(uint64_t root)
{
    kassert(root != kernel_root && cpu_read_cr3() != root);
    free_tables(root, 3, ENTRIES / 2);
}

bool paging_map(uint64_t root, uint64_t address, uint64_t physical, uint64_t flags)
{
    uint64_t *entry = walk(root, address, 0, TABLE_FLAGS | (flags & PT_USER));
    if (!entry)
        return false;
    if (!cpu_features.nx)
        flags &= ~PT_NX;
    *entry = physical | flags | PT_PRESENT | PT_ACCESSED | PT_DIRTY;
    return true;
}

void paging_unmap(uint64_t root, uint64_t address)
{
    uint64_t *entry = walk(root, address, 0, 0);
    if (entry)
        *entry = 0;
}

uint64_t paging_lookup(uint64_t root, uint64_t address)
{
    if (address < DIRECT_MAP_BASE && address > USER_END)
        return 0;
    uint64_t *entry = walk(root, address, 0, 0);
    return entry && (*entry & PT_PRESENT) ? *entry : 0;
}

static void clear_tables(uint64_t table, unsigned level, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t *entry = &table_at(table)[i];
        if (level == 0)
            *entry = 0;
        else if (*entry & PT_PRESENT)
            clear_tables(*entry & PT_ADDRESS, level - 1, ENTRIES);
    }
}

void paging_clear_user(uint64_t root)
{
    clear_tables(root, 3, ENTRIES / 2);
}

void *paging_map_device(uint64_t physical, uint64_t size)
{
    uint64_t offset = physical & ~PAGE_MASK;
    uint64_t length = (offset + size + PAGE_SIZE - 1) & PAGE_MASK;
    if (next_device + length > MMIO_BASE + MMIO_LIMIT)
        panic("no room to map the device at 0x%llx", (unsigned long long)physical);
    uint64_t address = next_device;
    next_device += length + PAGE_SIZE;
    map_kernel_range(address, address + length, physical - offset,
                     PT_WRITE | PT_NX | PT_CACHE_DISABLE | PT_WRITE_THROUGH);
    return (void *)(address + offset);
}

/* The image's part of the kernel half is there already, so all address spaces see this. */
uint64_t paging_map_code(uint64_t physical, uint64_t size)
{
    bool enabled = spin_lock_irq(&stacks_lock);
    uint64_t start = next_code, offset = 0;
    if (size <= CODE_END - start)
        while (offset < size &&
               paging_map(kernel_root, start + offset, physical + offset, PT_GLOBAL))
            offset += PAGE_SIZE;
    bool mapped = offset >= size;
    if (mapped)
        next_code = start + size;
    for (; !mapped && offset > 0; offset -= PAGE_SIZE)
        paging_unmap(kernel_root, start + offset - PAGE_SIZE); /* never used: nothing to flush */
    spin_unlock_irq(&stacks_lock, enabled);
    return mapped ? start : 0;
}

uint8_t *paging_open_text(uint64_t address)
{
    uint64_t page = address & PAGE_MASK;
    kassert(address >= (uint64_t)text_start && address < (uint64_t)text_end);
    for (uint64_t offset = 0; offset < 2 * PAGE_SIZE; offset += PAGE_SIZE)
        if (page + offset < (uint64_t)text_end)
            paging_map(kernel_root, TEXT_ALIAS_BASE + offset, IMAGE_TO_PHYS(page + offset),
                       PT_WRITE | PT_NX);
    paging_flush_text(); /* what this CPU may have speculated about an earlier page */
    return (uint8_t *)(TEXT_ALIAS_BASE + (address - page));
}

void paging_close_text(void)
{
    for (uint64_t offset = 0; offset < 2 * PAGE_SIZE; offset += PAGE_SIZE)
        paging_unmap(kernel_root, TEXT_ALIAS_BASE + offset);
    paging_flush_text();
}

void paging_flush_text(void)
{
    for (uint64_t offset = 0; offset < 2 * PAGE_SIZE; offset += PAGE_SIZE)
        cpu_invlpg(TEXT_ALIAS_BASE + offset);
}

static void *reuse_stack(uint64_t size)
{
    for (struct free_stack **link = &free_stacks; *link; link = &(*link)->next)
        if ((*link)->size == size) {
            struct free_stack *found = *link;
            *link = found->next;
            return found;
        }
    return NULL;
}

static void *map_new_stack(uint64_t size)
{
    uint64_t bottom = next_stack + PAGE_SIZE;
    for (uint64_t offset = 0; offset < size; offset += PAGE_SIZE) {
        uint64_t frame = upcall_frame_alloc();
        if (!frame || !paging_map(kernel_root, bottom + offset, frame, PT_WRITE | PT_NX)) {
            if (frame)
                upcall_frame_free(frame);
            for (uint64_t undo = 0; undo < offset; undo += PAGE_SIZE) {
                upcall_frame_free(paging_lookup(kernel_root, bottom + undo) & PT_ADDRESS);
                paging_unmap(kernel_root, bottom + undo);
            }
            return NULL; /* never touched: no CPU can have cached these entries */
        }
    }
    next_stack = bottom + size;
    return (void *)bottom;
}

void *paging_alloc_stack(uint64_t size)
{
    bool enabled = spin_lock_irq(&stacks_lock);
    void *stack = reuse_stack(size);
    if (!stack)
        stack = map_new_stack(size);
    spin_unlock_irq(&stacks_lock, enabled);
    return stack;
}

void paging_free_stack(void *stack, uint64_t size)
{
    bool enabled = spin_lock_irq(&stacks_lock);
    struct free_stack *entry = stack;
    entry->size = size;
    entry->next = free_stacks;
    free_stacks = entry;
    spin_unlock_irq(&stacks_lock, enabled);
}

const char *paging_describe(uint64_t address)
{
    if (address < USER_MIN)
        return "NULL page";
    if (address <= USER_END)
        return "user address";
    if (address < DIRECT_MAP_BASE)
        return "non-canonical address";
    if (address >= TEXT_ALIAS_BASE && address < TEXT_ALIAS_BASE + 2 * PAGE_SIZE)
        return "alias of kernel text";
    if (address >= STACKS_BASE && address < MMIO_BASE)
        return paging_lookup(kernel_root, address) ? "kernel stack" : "kernel stack guard page";
    if (address < STACKS_BASE)
        return "direct map";
    if (address >= (uint64_t)text_start && address < (uint64_t)text_end)
        return "kernel text";
    if (address >= (uint64_t)rodata_start && address < (uint64_t)rodata_end)
        return "kernel read-only data";
    if (address >= CODE_BASE)
        return "code made at run time";
    return address >= KERNEL_BASE ? "kernel data" : "device registers";
}

/* A starting CPU turns paging on while it runs below 1 MiB, so that page must be mapped 1:1; the
 * boot page tables do that and are kept for it. */
extern char boot_pml4[];

uint64_t paging_trampoline_root(void)
{
    memcpy((uint64_t *)PHYS_TO_VIRT(IMAGE_TO_PHYS(boot_pml4)) + ENTRIES / 2,
           &table_at(kernel_root)[ENTRIES / 2], ENTRIES / 2 * sizeof(uint64_t));
    return IMAGE_TO_PHYS(boot_pml4);
}

void paging_trampoline_done(void)
{
    memset(PHYS_TO_VIRT(IMAGE_TO_PHYS(boot_pml4)), 0, ENTRIES / 2 * sizeof(uint64_t));
}
