/* SPDX-License-Identifier: MIT */
/* private [threads=4] [size=9]: work that shares nothing.
 *
 * Each thread multiplies matrices of its own, one pair of integers and one of doubles, in memory
 * it maps itself. Only the results meet, at the end. The best case: after the first touches a
 * recorder should have nothing to do. The signature never differs.
 */
#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

static unsigned long size;

/* Three square matrices, in turn for integers and doubles. */
union private_cell {
    uint64_t integer;
    double real;
};

static union private_cell *map_cells(unsigned long count)
{
    long area = sys_mmap(NULL, count * sizeof(union private_cell), ABI_PROT_READ | ABI_PROT_WRITE,
                         ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS);

    if (area < 0) {
        printf("private: no memory for matrices, error %ld\n", area);
        sys_exit_group(1);
    }
    return (union private_cell *)area;
}

static void multiply_integers(const union private_cell *a, const union private_cell *b,
                              union private_cell *product)
{
    for (unsigned long i = 0; i < size; i++) {
        for (unsigned long j = 0; j < size; j++) {
            uint64_t sum = 0;
            for (unsigned long k = 0; k < size; k++)
                sum += a[i * size + k].integer * b[k * size + j].integer;
            product[i * size + j].integer = sum;
        }
    }
}

static void multiply_reals(const union private_cell *a, const union private_cell *b,
                           union private_cell *product)
{
    for (unsigned long i = 0; i < size; i++) {
        for (unsigned long j = 0; j < size; j++) {
            double sum = 0;
            for (unsigned long k = 0; k < size; k++)
                sum += a[i * size + k].real * b[k * size + j].real;
            product[i * size + j].real = sum;
        }
    }
}

static uint64_t private_work(const struct team_member *member)
{
    unsigned long cells = size * size;
    union private_cell *area = map_cells(3 * cells);
    union private_cell *product = area + 2 * cells;
    uint64_t random = member->index;

    for (unsigned long i = 0; i < 2 * cells; i++)
        area[i].integer = random_next(&random);
    multiply_integers(area, area + cells, product);
    uint64_t hash = hash_bytes(0, product, cells * sizeof(*product));
    for (unsigned long i = 0; i < 2 * cells; i++)
        area[i].real = (double)(int64_t)random_next(&random) / 3.0;
    multiply_reals(area, area + cells, product);
    hash = hash_bytes(hash, product, cells * sizeof(*product));
    sys_munmap(area, 3 * cells * sizeof(*area));
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    size = argument_number(argc, argv, &(struct argument){2, "size", 9, 1, 512});

    uint64_t signature = team_run(threads, private_work);
    printf("private: %u threads, matrices of %lu x %lu\n", threads, size, size);
    return print_signature("private", signature);
}
