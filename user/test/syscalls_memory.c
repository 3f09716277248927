/* SPDX-License-Identifier: MIT */
/* mmap, munmap and mprotect: results, errors, and what they do to the pages. */
#include "user/test/syscalls.h"

#include "user/lib/check.h"
#include "user/lib/print.h"
#include "user/lib/string.h"

static long map_raw(unsigned long address, unsigned long length, int protection, int flags,
                    unsigned long offset)
{
    return syscall_raw(SYS_mmap, address, length, (unsigned long)protection, (unsigned long)flags,
                       -1ul, offset);
}

static unsigned char *map_pages(unsigned long pages)
{
    long area = sys_mmap(NULL, pages * PAGE_SIZE, READ_WRITE, ANONYMOUS);

    if (area < 0) {
        printf("syscalls: mmap of %lu pages refused, error %ld\n", pages, area);
        sys_exit_group(1);
    }
    return (unsigned char *)area;
}

static void check_map_errors(void)
{
    unsigned long huge = 1ul << 62;
    int shared_file = ABI_MAP_SHARED;
    int fixed = ANONYMOUS | ABI_MAP_FIXED;

    check_equal("mmap of nothing", map_raw(0, 0, READ_WRITE, ANONYMOUS, 0), -ABI_EINVAL);
    check_equal("mmap neither shared nor private",
                map_raw(0, PAGE_SIZE, READ_WRITE, ABI_MAP_ANONYMOUS, 0), -ABI_EINVAL);
    check_equal("mmap too large", map_raw(0, huge, READ_WRITE, ANONYMOUS, 0), -ABI_ENOMEM);
    check_equal("mmap of a length that wraps", map_raw(0, -1ul, READ_WRITE, ANONYMOUS, 0),
                -ABI_ENOMEM);
    check_equal("mmap at an odd offset", map_raw(0, PAGE_SIZE, READ_WRITE, ANONYMOUS, 1),
                -ABI_EINVAL);
    check_equal("mmap fixed at an odd address",
                map_raw(0x10000001, PAGE_SIZE, READ_WRITE, fixed, 0), -ABI_EINVAL);
    check_equal("mmap fixed over the kernel",
                map_raw((unsigned long)KERNEL_ADDRESS, PAGE_SIZE, READ_WRITE, fixed, 0),
                -ABI_ENOMEM);
    check_equal("mmap fixed over the end of user space",
                map_raw(0x7ffffffff000, 2 * PAGE_SIZE, READ_WRITE, fixed, 0), -ABI_ENOMEM);
    /* No files to map: EINVAL says so too. */
    check_either("mmap of file -1", map_raw(0, PAGE_SIZE, READ_WRITE, shared_file, 0), -ABI_EBADF,
                 -ABI_EINVAL);
}

static void check_map(void)
{
    unsigned char *area = map_pages(3);
    unsigned sum = 0;

    check_equal("mmap result modulo page size", (long)area % (long)PAGE_SIZE, 0);
    for (unsigned long i = 0; i < 3 * PAGE_SIZE; i++)
        sum |= area[i];
    check_equal("new pages", sum, 0);
    memset(area, 0x5a, 3 * PAGE_SIZE);
    check_equal("mmap fixed over a page of mine",
                sys_mmap(area + PAGE_SIZE, 1, READ_WRITE, ANONYMOUS | ABI_MAP_FIXED),
                (long)(area + PAGE_SIZE));
    check_equal("last byte before it", area[PAGE_SIZE - 1], 0x5a);
    check_equal("first byte of it", area[PAGE_SIZE], 0);
    check_equal("last byte of it", area[2 * PAGE_SIZE - 1], 0);
    check_equal("first byte behind it", area[2 * PAGE_SIZE], 0x5a);
    check_equal("munmap of all", sys_munmap(area, 3 * PAGE_SIZE), 0);
    check_equal("read after munmap", probe_read(area), -ABI_EFAULT);

    long shared = sys_mmap(NULL, 1, READ_WRITE, ABI_MAP_SHARED | ABI_MAP_ANONYMOUS);
    check_true("mmap shared and anonymous", shared > 0);
    check_equal("its length is a whole page", probe_write((void *)(shared + 2048)), 0);
    sys_munmap((void *)shared, 1);
}

static void check_unmap(void)
{
    unsigned char *area = map_pages(3);

    memset(area, 0x33, 3 * PAGE_SIZE);
    check_equal("munmap at an odd address", sys_munmap(area + 1, PAGE_SIZE), -ABI_EINVAL);
    check_equal("munmap of nothing", sys_munmap(area, 0), -ABI_EINVAL);
    check_equal("munmap of the kernel", sys_munmap(KERNEL_ADDRESS, PAGE_SIZE), -ABI_EINVAL);
    check_equal("munmap of a length that wraps", sys_munmap(area, -1ul), -ABI_EINVAL);
    check_equal("munmap of the middle page", sys_munmap(area + PAGE_SIZE, 1), 0);
    check_equal("read of the middle page", probe_read(area + PAGE_SIZE), -ABI_EFAULT);
    check_equal("munmap of a hole", sys_munmap(area + PAGE_SIZE, PAGE_SIZE), 0);
    check_equal("page before the hole", area[PAGE_SIZE - 1], 0x33);
    check_equal("page behind the hole", area[2 * PAGE_SIZE], 0x33);
    check_equal("munmap over a hole", sys_munmap(area, 3 * PAGE_SIZE), 0);
    check_equal("read of the first page", probe_read(area), -ABI_EFAULT);
    check_equal("read of the last page", probe_read(area + 2 * PAGE_SIZE), -ABI_EFAULT);
}

static void check_protect_errors(void)
{
    unsigned char *area = map_pages(2);

    check_equal("mprotect at an odd address", sys_mprotect(area + 1, PAGE_SIZE, ABI_PROT_READ),
                -ABI_EINVAL);
    check_equal("mprotect of nothing", sys_mprotect(area, 0, ABI_PROT_READ), 0);
    check_equal("mprotect with unknown bits", sys_mprotect(area, PAGE_SIZE, 0x10000), -ABI_EINVAL);
    check_equal("mprotect of the kernel", sys_mprotect(KERNEL_ADDRESS, PAGE_SIZE, READ_WRITE),
                -ABI_ENOMEM);
    check_equal("mprotect of a length that wraps", sys_mprotect(area, -1ul, ABI_PROT_READ),
                -ABI_ENOMEM);
    check_equal("mprotect of unmapped pages", sys_mprotect(UNMAPPED, PAGE_SIZE, ABI_PROT_READ),
                -ABI_ENOMEM);
    sys_munmap(area + PAGE_SIZE, PAGE_SIZE);
    check_equal("mprotect into a hole", sys_mprotect(area, 2 * PAGE_SIZE, READ_WRITE), -ABI_ENOMEM);
    sys_munmap(area, PAGE_SIZE);
}

static void check_protect(void)
{
    unsigned char *area = map_pages(3);
    unsigned char *middle = area + PAGE_SIZE;

    memset(area, 0x77, 3 * PAGE_SIZE);
    check_equal("mprotect read-only", sys_mprotect(middle, PAGE_SIZE, ABI_PROT_READ), 0);
    check_equal("read of a read-only page", probe_read(middle), 0);
    check_equal("write to a read-only page", probe_write(middle), -ABI_EFAULT);
    check_equal("write before a read-only page", probe_write(area), 0);
    check_equal("write behind a read-only page", probe_write(area + 2 * PAGE_SIZE), 0);
    check_equal("write into a read-only page", probe_write(middle - 8), -ABI_EFAULT);
    check_equal("mprotect none", sys_mprotect(middle, PAGE_SIZE, 0), 0);
    check_equal("read of a page of no access", probe_read(middle), -ABI_EFAULT);
    check_equal("mprotect read-write", sys_mprotect(middle, PAGE_SIZE, READ_WRITE), 0);
    check_equal("content afterwards", middle[100], 0x77);
    check_equal("write afterwards", probe_write(middle), 0);
    sys_munmap(area, 3 * PAGE_SIZE);
}

static void check_execute(void)
{
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    unsigned char *text = map_pages(1);

    memcpy(text, code, sizeof(code));
    check_equal("mprotect executable", sys_mprotect(text, PAGE_SIZE, ABI_PROT_READ | ABI_PROT_EXEC),
                0);
    check_equal("code that was written", ((int (*)(void))(uintptr_t)text)(), 42);
    check_equal("write to executable page", probe_write(text), -ABI_EFAULT);
    sys_munmap(text, PAGE_SIZE);
}

void syscalls_check_memory(void)
{
    check_map_errors();
    check_map();
    check_unmap();
    check_protect_errors();
    check_protect();
    check_execute();
}
