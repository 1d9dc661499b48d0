/*
 * jitdump.h - names, files and lines of code made at run time, from a jitdump file.
 *
 *     header   magic u32 "JiTD", version u32, header size u32, ELF machine u32, - u32, pid u32,
 *              time u64, flags u64                                             40 bytes
 *     record   kind u32, size u32 (all of it), time u64, then by kind:
 *       0 load   pid u32, tid u32, vma u64, address u64, size u64, index u64, name, 0, code
 *       1 move   pid u32, tid u32, vma u64, old address u64, new address u64, size u64, index u64
 *       2 lines  address u64, n u64, n times: address u64, line s32, - s32, file, 0
 *                ("\xff" for the file of the entry before); comes before the load it is for
 *       3 close
 *
 * A file may grow while it is read, and to any size: no more than JITDUMP_MAX_BYTES of it count,
 * code that is stepped over aside.
 *
 * All is in the byte order of the machine it was made on; another's is refused, and so is the file
 * of another process than the one in its name. Where code overlaps the last one loaded counts.
 */
#pragma once
#include "symbol/lookup.h"

enum { JITDUMP_MAX_BYTES = 256 << 20 };

/* Whether PATH is called like such a file, "jit-123.dump"; RET_PID is the number in it. */
bool jitdump_is(struct text path, uint64_t *ret_pid);

/*
 * Name run-time addresses of process PID from FD, which is taken over. -1 if it cannot be read, or
 * is not of this process and machine.
 */
int jitdump_name(struct lookup *l, int fd, uint64_t pid);
