/*
 * heap_static.h - in front of all of libkelvin-heap.a: a static program has no linker at run time,
 * so the build's linker replaces libc's functions by these (--wrap), and these call libc's by the
 * names that the linker gives them.
 */
#pragma once

#define malloc __wrap_malloc
#define calloc __wrap_calloc
#define realloc __wrap_realloc
#define reallocarray __wrap_reallocarray
#define posix_memalign __wrap_posix_memalign
#define aligned_alloc __wrap_aligned_alloc
#define memalign __wrap_memalign
#define valloc __wrap_valloc
#define pvalloc __wrap_pvalloc
#define free __wrap_free
#define mmap __wrap_mmap
#define mmap64 __wrap_mmap64
#define munmap __wrap_munmap
#define mremap __wrap_mremap
