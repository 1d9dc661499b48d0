/* insight_names.c - functions that are known by name; see insight_names.h. */
#include "analysis/insight_names.h"

const char *const names_allocation[] = {"malloc",
                                        "free",
                                        "calloc",
                                        "realloc",
                                        "cfree*",
                                        "reallocarray",
                                        "posix_memalign",
                                        "aligned_alloc",
                                        "memalign",
                                        "_int_malloc*",
                                        "_int_free*",
                                        "_int_realloc*",
                                        "_int_memalign*",
                                        "__libc_malloc*",
                                        "__libc_free*",
                                        "__libc_calloc*",
                                        "__libc_realloc*",
                                        "__GI___libc_malloc*",
                                        "__GI___libc_free*",
                                        "malloc_consolidate*",
                                        "unlink_chunk*",
                                        "sysmalloc*",
                                        "systrim*",
                                        "tcache_*",
                                        "checked_request2size*",
                                        "operator new*",
                                        "operator delete*",
                                        "__rust_alloc*",
                                        "__rust_dealloc*",
                                        "__rust_realloc*",
                                        "__rdl_alloc*",
                                        "__rdl_dealloc*",
                                        "__rdl_realloc*",
                                        "alloc::alloc::*",
                                        "je_malloc*",
                                        "je_free*",
                                        "mi_malloc*",
                                        "mi_free*",
                                        "tc_malloc*",
                                        "tc_free*",
                                        "tc_new*",
                                        "tc_delete*",
                                        "g_malloc*",
                                        "g_free*",
                                        "g_slice_*",
                                        "*_malloc",
                                        "*_calloc",
                                        "*_realloc",
                                        "*_zalloc",
                                        "*_mem_alloc",
                                        "*_mem_free",
                                        "xmalloc",
                                        "xcalloc",
                                        "xrealloc",
                                        "runtime.mallocgc*",
                                        "runtime.newobject*",
                                        "runtime.newarray*",
                                        "runtime.makeslice*",
                                        "runtime.growslice*",
                                        "_PyObject_Malloc*",
                                        "_PyObject_Free*",
                                        "PyObject_Malloc*",
                                        "PyObject_Free*",
                                        "PyObject_Realloc*",
                                        "_PyMem_Raw*",
                                        "PyMem_Raw*",
                                        "PyMem_Malloc*",
                                        "PyMem_Free*",
                                        "ggc_alloc*",
                                        "ggc_internal_alloc*",
                                        NULL};

const char *const names_any_call[] = {"syscall",
                                      "syscall.Syscall*", /* Go */
                                      "syscall.RawSyscall*",
                                      "runtime/internal/syscall.Syscall*",
                                      "internal/runtime/syscall.Syscall*",
                                      NULL};

const char *const names_collectors[] = {"caml_call_gc*", /* OCaml */
                                        "caml_garbage_collection*",
                                        "caml_alloc_small_dispatch*",
                                        "caml_gc_dispatch*",
                                        "caml_empty_minor_heap*",
                                        "caml_major_collection_slice*",
                                        "caml_oldify_*",
                                        "mark_slice",
                                        "mark_slice_darken",
                                        "sweep_slice",
                                        "GangWorker::*", /* Java */
                                        "ConcurrentGCThread::*",
                                        "VM_GenCollect*",
                                        "VM_G1*",
                                        "G1ParScanThreadState::*",
                                        "v8::internal::Heap::CollectGarbage*", /* Node.js */
                                        "v8::internal::Scavenger*",
                                        "v8::internal::ConcurrentMarking::*",
                                        "v8::internal::MarkCompactCollector::*",
                                        "v8::internal::Sweeper::*",
                                        "runtime.gcBgMarkWorker*", /* Go */
                                        "runtime.gcDrain*",
                                        "runtime.gcAssistAlloc*",
                                        "runtime.bgsweep*",
                                        "GarbageCollect", /* GHC */
                                        "scavenge_block*",
                                        "scavenge_loop*",
                                        "erts_garbage_collect*", /* Erlang */
                                        "gc_marks*",             /* Ruby */
                                        "gc_sweep*",
                                        "gc_start*",
                                        "gc_collect_main*",        /* Python */
                                        "zend_gc_collect_cycles*", /* PHP */
                                        "GarbageCollect",          /* Haskell */
                                        "scavenge_*",
                                        NULL};

const char *const names_hashing[] = {"*hash*",    "*Hash*",    "*HASH*",   "XXH*",     "*murmur*",
                                     "*siphash*", "*SipHash*", "*SHA256*", "*sha256*", "*SHA512*",
                                     "*sha512*",  "*sha1_*",   "*SHA1_*",  "*crc32*",  "*CRC32*",
                                     "MD5_*",     "*md5_*",    "*blake2*", "*blake3*", NULL};

const char *const names_locks[] = {"pthread_mutex_lock*",
                                   "pthread_mutex_unlock*",
                                   "__pthread_mutex_lock*",
                                   "__pthread_mutex_unlock*",
                                   "___pthread_mutex_lock*",
                                   "__lll_lock_*",
                                   "__lll_mutex_*",
                                   "lll_mutex_*",
                                   "pthread_spin_lock*",
                                   "pthread_rwlock_*",
                                   "__pthread_rwlock_*",
                                   "___pthread_rwlock_*",
                                   "pthread_cond_*",
                                   "__pthread_cond_*",
                                   "___pthread_cond_*",
                                   "__futex_abstimed_wait*",
                                   "std::mutex::lock*",
                                   "std::sync::*::lock_contended*",
                                   "*::lock_contended",
                                   "parking_lot*::lock_slow*",
                                   "k:do_futex",
                                   "k:__x64_sys_futex",
                                   "k:__arm64_sys_futex",
                                   "k:futex_wait*",
                                   "k:futex_wake*",
                                   "k:queued_spin_lock_slowpath",
                                   "k:native_queued_spin_lock_slowpath",
                                   "k:__pv_queued_spin_lock_slowpath",
                                   "k:rwsem_down_*",
                                   "k:__mutex_lock*",
                                   "k:mutex_spin_on_owner*",
                                   "k:osq_lock*",
                                   NULL};

const char *const names_copies[] = {"memcpy*",   "memmove*", "__memcpy*",  "__memmove*", "memset*",
                                    "__memset*", "mempcpy*", "__mempcpy*", "bcopy",      "strcpy",
                                    "__strcpy*", "strncpy",  "__strncpy*", NULL};

const char *const names_fills[] = {"memset*", "__memset*", NULL};

/* Not _copy_to_user and _copy_from_user: all system calls move their few arguments by these. */
const char *const names_kernel_copies[] = {
    "k:copy_user_*",       "k:_copy_to_iter*",       "k:_copy_from_iter*",
    "k:_copy_mc_to_iter*", "k:__arch_copy_*",        "k:copyin",
    "k:copyout",           "k:rep_movs_alternative", NULL};

const char *const names_faults[] = {"k:asm_exc_page_fault",
                                    "k:exc_page_fault",
                                    "k:page_fault",
                                    "k:do_page_fault",
                                    "k:do_user_addr_fault",
                                    "k:__do_page_fault",
                                    "k:handle_mm_fault",
                                    "k:__handle_mm_fault",
                                    "k:do_anonymous_page",
                                    "k:do_mem_abort",
                                    NULL};

const char *const names_exceptions[] = {"_Unwind_RaiseException*",
                                        "_Unwind_Resume*",
                                        "_Unwind_ForcedUnwind*",
                                        "__cxa_throw*",
                                        "__cxa_rethrow*",
                                        "__cxa_allocate_exception*",
                                        "__cxa_begin_catch*",
                                        "__gxx_personality_*",
                                        "rust_panic*",
                                        "rust_begin_unwind",
                                        NULL};

const char *const names_format[] = {"printf",
                                    "fprintf",
                                    "sprintf",
                                    "snprintf",
                                    "vprintf",
                                    "vfprintf*",
                                    "vsprintf*",
                                    "vsnprintf*",
                                    "asprintf",
                                    "vasprintf*",
                                    "__vfprintf_internal*",
                                    "__vsnprintf*",
                                    "__vsprintf*",
                                    "__sprintf_chk*",
                                    "__snprintf_chk*",
                                    "__fprintf_chk*",
                                    "__printf_chk*",
                                    "__printf_fp*",
                                    "__printf_buffer*",
                                    "std::ostream::*",
                                    "std::basic_ostream<*",
                                    "std::operator<< <*",
                                    "std::num_put<*",
                                    "std::to_string*",
                                    "std::__cxx11::to_string*",
                                    "std::format*",
                                    "std::vformat*",
                                    "fmt::v*",
                                    "core::fmt::*",
                                    "alloc::fmt::*",
                                    "<*as core::fmt::*",
                                    "PyUnicode_Format*",
                                    "PyUnicode_FromFormat*",
                                    "_PyUnicode_Format*",
                                    "g_strdup_printf*",
                                    NULL};

const char *const names_system_calls[] = {"k:entry_SYSCALL*",
                                          "k:do_syscall_64*",
                                          "k:__do_fast_*",
                                          "k:do_int80_*",
                                          "k:el0_svc*",
                                          "k:el0t_64_sync*",
                                          "k:__x64_sys_*",
                                          "k:__arm64_sys_*",
                                          "k:ksys_*",
                                          "k:vfs_*",
                                          NULL};

const char *const names_interrupts_on[] = {"k:finish_task_switch*", "k:_raw_spin_unlock_irq*",
                                           "k:irqentry_exit*",      "k:handle_softirqs*",
                                           "k:__do_softirq*",       NULL};

const char *const names_syncs[] = {"k:do_fsync*", "k:vfs_fsync*", "k:ksys_sync*", "k:ksys_msync*",
                                   NULL};

/* What is read from a file that is not in memory. */
const char *const names_disk_reads[] = {"k:page_cache_ra*", "k:page_cache_sync*",
                                        "k:page_cache_async*", "k:filemap_read_folio*", NULL};

/* What moves bytes between the program and a file, pipe or socket. */
const char *const names_transfers[] = {"k:vfs_read*",
                                       "k:vfs_write*",
                                       "k:ksys_read*",
                                       "k:ksys_write*",
                                       "k:ksys_pread*",
                                       "k:ksys_pwrite*",
                                       "k:vfs_iter_*",
                                       "k:do_readv*",
                                       "k:do_writev*",
                                       "k:do_preadv*",
                                       "k:do_pwritev*",
                                       "k:do_iter_*",
                                       "k:__sys_send*",
                                       "k:__sys_recv*",
                                       "k:___sys_send*",
                                       "k:___sys_recv*",
                                       "k:sock_read*",
                                       "k:sock_write*",
                                       NULL};

/* What starts and ends processes. */
const char *const names_starts[] = {"k:do_execve*", "k:bprm_execve*",   "k:kernel_clone*",
                                    "k:do_exit*",   "k:do_group_exit*", NULL};

/* The loops that run scripts and bytecode. */
const char *const names_interpreters[] = {"caml_interprete*",
                                          "_PyEval_EvalFrameDefault*",
                                          "PyEval_EvalFrameEx*",
                                          "luaV_execute*",
                                          "Perl_runops_*",
                                          "vm_exec_core*",
                                          "rb_vm_exec*",
                                          "execute_ex",
                                          "r_interpret",
                                          "JS_CallInternal*",
                                          "Builtins_InterpreterEntryTrampoline*",
                                          "TclNRExecuteByteCode*",
                                          "bcEval*",
                                          NULL};

/* As memmem(), for names: that of some C libraries makes a table of a kilobyte at each call. */
static const char *find_part(const char *at, const char *end, const char *part, size_t n)
{
    if (!n)
        return at;
    for (; (size_t)(end - at) >= n; at++) {
        at = memchr(at, *part, (size_t)(end - at) - n + 1);
        if (!at || memcmp(at, part, n) == 0)
            return at;
    }
    return NULL;
}

/* Pattern parts between '*'s must follow each other. */
static bool matches(const char *pattern, struct text name)
{
    const char *at = name.at, *end = name.at + name.n;
    /* Most names end here; of 10^6 functions, this is what the page's insights waited for. */
    if (*pattern && *pattern != '*' && (!name.n || *pattern != *at))
        return false;
    for (bool anywhere = false;; anywhere = true) {
        size_t n = strcspn(pattern, "*");
        if (pattern[n] == '\0' && !anywhere)
            return (size_t)(end - at) == n && memcmp(at, pattern, n) == 0;
        if (pattern[n] == '\0')
            return (size_t)(end - at) >= n && memcmp(end - n, pattern, n) == 0;
        const char *found = anywhere ? find_part(at, end, pattern, n) : at;
        if (!found || (size_t)(end - found) < n || memcmp(found, pattern, n) != 0)
            return false;
        at = found + n;
        pattern += n + 1;
    }
}

bool names_match(const char *const *patterns, struct text name, bool kernel)
{
    if (text_starts(name, "["))
        return false; /* that is the name of a file, and says nothing of what the code does */
    for (; *patterns; patterns++) {
        bool for_kernel = strncmp(*patterns, "k:", 2) == 0;
        if (for_kernel == kernel && matches(*patterns + 2 * for_kernel, name))
            return true;
    }
    return false;
}

/* --- many names --- */

/* Which of 64 kinds of letters are in it. */
static uint64_t letters_of(const char *at, size_t n)
{
    uint64_t set = 0;
    for (size_t i = 0; i < n; i++)
        set |= 1ull << (at[i] & 63);
    return set;
}

static const uint64_t letter_any = 1ull << ('*' & 63);

void names_set_init(struct names_set *s, const char *const *patterns)
{
    *s = (struct names_set){.patterns = patterns};
    for (size_t i = 0; patterns[i] && i < NAMES_MAX; i++) {
        bool for_kernel = strncmp(patterns[i], "k:", 2) == 0;
        const char *pattern = patterns[i] + 2 * for_kernel;
        s->letters[i] = letters_of(pattern, strlen(pattern));
        if (strchr(pattern, '*'))
            s->letters[i] &= ~letter_any;
        for (int c = 0; c < 256; c++)
            if (*pattern == '*' || (unsigned char)*pattern == c)
                s->starting[for_kernel][c][i / 64] |= 1ull << i % 64;
    }
}

bool names_set_has(const struct names_set *s, struct text name, bool kernel)
{
    if (!name.n || *name.at == '[')
        return false;
    const uint64_t *starting = s->starting[kernel][(unsigned char)*name.at];
    uint64_t letters = starting[0] | starting[1] ? letters_of(name.at, name.n) : 0;
    for (size_t word = 0; word < NAMES_WORDS; word++)
        for (uint64_t left = starting[word]; left; left &= left - 1) {
            size_t i = 64 * word + (size_t)__builtin_ctzll(left);
            if (!(s->letters[i] & ~letters) && matches(s->patterns[i] + 2 * kernel, name))
                return true;
        }
    return false;
}
