/* SPDX-License-Identifier: MIT */
/* The record and replay layer's entry. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

/* Registers the recorder with the kernel, and the commands. Boot, after the shell's own. */
void replay_init(void);

/* Looks for recordings on the disk. Boot, in a thread, before the first command. */
void replay_mount_disk(void);

#endif
