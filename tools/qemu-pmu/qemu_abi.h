/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin uses of QEMU's plugin interface, versions 4 (QEMU 9.2 … 10.x) and 7 (11.x).
 *
 * Written for this plugin, since distributions do not package QEMU's header; names, numbers and
 * layouts are QEMU's. Callbacks that have got another signature in version 7 are untyped here. An
 * argument that an older QEMU does not know yet (user_data of the first three) does it no harm.
 */
#ifndef TOOLS_QEMU_PMU_QEMU_ABI_H
#define TOOLS_QEMU_PMU_QEMU_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT __attribute__((visibility("default")))

#define QEMU_PLUGIN_API_OLDEST 4
#define QEMU_PLUGIN_API_USER_DATA 7 /* from here on all callbacks take user data, none an id */

typedef uint64_t qemu_plugin_id_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_cond { QEMU_PLUGIN_COND_EQ = 2, QEMU_PLUGIN_COND_NE };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

/* Wider than it is read: by its size, of which `low` and `high` are the bytes. */
typedef struct {
    int type;
    struct {
        uint64_t low, high;
    } data;
} qemu_plugin_mem_value;

typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu_index, void *user_data);
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu_index, uint32_t info, uint64_t vaddr,
                                          void *user_data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, void *callback, void *user_data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void *callback, void *user_data);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, void *callback, void *user_data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void *callback, void *user_data);

void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb,
                                               qemu_plugin_vcpu_udata_cb_t callback,
                                               enum qemu_plugin_cb_flags flags,
                                               enum qemu_plugin_cond condition,
                                               qemu_plugin_u64 entry, uint64_t immediate,
                                               void *user_data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_vcpu_udata_cb_t callback,
                                            enum qemu_plugin_cb_flags flags, void *user_data);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn,
                                                 qemu_plugin_vcpu_udata_cb_t callback,
                                                 enum qemu_plugin_cb_flags flags,
                                                 enum qemu_plugin_cond condition,
                                                 qemu_plugin_u64 entry, uint64_t immediate,
                                                 void *user_data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
                                                         enum qemu_plugin_op operation,
                                                         qemu_plugin_u64 entry, uint64_t immediate);
void qemu_plugin_register_vcpu_mem_inline_per_vcpu(struct qemu_plugin_insn *insn,
                                                   enum qemu_plugin_mem_rw rw,
                                                   enum qemu_plugin_op operation,
                                                   qemu_plugin_u64 entry, uint64_t immediate);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      qemu_plugin_vcpu_mem_cb_t callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *user_data);

/* Of the access that a memory callback is called for. */
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
qemu_plugin_mem_value qemu_plugin_mem_get_value(uint32_t info);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into, size_t length);

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu_index);

#endif
