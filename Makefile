# Kelvin's only build file. `make demo`, `make check`; `make help` lists the rest.
#
# New files need no edit here: sources, tests, fuzz targets and web files are found by their place.

VERSION := 0.1.0

ifeq ($(origin CC),default)
CC := $(if $(SANITIZE),clang,gcc)
endif
B       ?= $(if $(SANITIZE),build/sanitize,build)
PREFIX  ?= /usr/local
DESTDIR ?=
OBJCOPY ?= objcopy
CFLAGS  ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
FUZZ_SECONDS ?= 60

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wvla -Wundef -Wno-missing-field-initializers $(if $(WERROR),-Werror)

# One instrumented build serves the tests and the fuzzers. Only clang has a fuzzer. What was never set is the same nonsense in
# each run, and not by chance what was meant.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -ftrivial-auto-var-init=pattern
ifneq ($(findstring clang,$(CC)),)
SANITIZERS += -fsanitize=fuzzer-no-link
endif
ifdef SANITIZE
# Over a hundred programs of many megabytes each: the faster linker, where there is one.
LDFLAGS   := $(LDFLAGS) $(shell $(CC) -fuse-ld=lld -Wl,--version >/dev/null 2>&1 && echo -fuse-ld=lld)
endif

ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DKELVIN_VERSION='"$(VERSION)"' -Isrc -I$(B)/gen $(WARN) \
             $(CFLAGS) $(if $(SANITIZE),$(SANITIZERS))
LIBS      := -Wl,--as-needed -ldw -lelf -liberty -lzstd -lz -llzma -lbz2 -lxxhash -lcapstone -lsqlite3 -linih -lm
# elfutils unpacks sections itself, and its archives do not say with what. The linker warns of dlopen, which src/cmd/static.c
# takes care of.
STATIC_LIBS := -static -Wl,--no-warnings -Wl,--start-group $(LIBS) -Wl,--end-group
TEST_LIBS := -lcmocka -ljansson

SRC   := $(sort $(shell find src -name '*.c'))
OBJ   := $(SRC:%.c=$(B)/%.o)
FRONT := $(filter $(B)/src/main.o $(B)/src/cmd/%,$(OBJ))
CORE  := $(filter-out $(FRONT),$(OBJ))
LIB   := $(B)/libkelvin.a
UNIT  := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
UNIT_OBJ := $(UNIT:$(B)/tests/unit/%=$(B)/tests/unit.o/%.o)
# Programs to be profiled, each of one file.
TARGET := $(addprefix $(B)/,$(basename $(wildcard tests/target/*.c tests/target/*.cc \
            $(if $(shell command -v rustc),tests/target/*.rs))))
# Code that is loaded into the programs that are sampled: libc only, never instrumented.
AGENT     := $(B)/libkelvin-agent.so
AGENT_SRC := $(filter-out lib/heap% lib/scopes% lib/locks% lib/stackwalk%,$(wildcard lib/*.c src/unwind/arch*.c))
# The same for the heap: a library of its own, so that sampling leaves malloc alone.
HEAP      := $(B)/libkelvin-heap.so
HEAP_SRC  := $(wildcard lib/heap*.c lib/stackwalk*.c lib/channel.c lib/kernelclock.c lib/proc.c src/unwind/arch*.c)
# The same to be linked into static programs, and the words for the linker that put it in the place of libc's functions.
HEAPLIB     := $(B)/libkelvin-heap.a
HEAPLIB_SRC := $(filter-out lib/heap_new.c,$(HEAP_SRC))
HEAPLIB_OBJ := $(HEAPLIB_SRC:%.c=$(B)/heaplib/%.o)
# The same for locks.
LOCKS     := $(B)/libkelvin-locks.so
LOCKS_SRC := $(wildcard lib/locks*.c lib/stackwalk*.c lib/channel.c lib/kernelclock.c lib/proc.c src/unwind/arch*.c)
# And for include/kelvin.h: programs that use it load it by themselves.
SCOPES     := $(B)/libkelvin-scopes.so
SCOPES_SRC := $(wildcard lib/scopes*.c lib/channel.c lib/kernelclock.c lib/proc.c)
# The library behind include/kelvin_bench.h, with what it uses of src/. Its names stay inside.
BENCHLIB     := $(B)/libkelvin_bench.a
BENCHLIB_SRC := $(wildcard lib/bench/*.c) $(patsubst %,src/stats/%.c,paired repeats stats) \
                $(patsubst %,src/base/%.c,buf calc err json mem opt text units utf8 vec)
BENCHLIB_OBJ := $(BENCHLIB_SRC:%.c=$(B)/benchlib/%.o)
# web/flame.js is compiled in as $(B)/gen/web_flame_js.h
WEB   := $(foreach f,$(wildcard web/*.*),$(B)/gen/web_$(subst .,_,$(notdir $(f))).h)

# The page's half in C, as WebAssembly: an archive of the rooms that page may include, of which the linker takes what is
# needed. Without clang and wasi-libc (tools/setup.sh page) kelvin has no page, and `kelvin view` says so.
WASM_CC      ?= clang
WASM_INCLUDE := /usr/include/wasm32-wasi
WASM_READY   := $(and $(wildcard $(WASM_INCLUDE)/stdio.h),$(wildcard /usr/lib/llvm-*/bin/wasm-ld),$(shell command -v $(WASM_CC)))
WASM_FLAGS   := --target=wasm32-wasi --sysroot=/usr -isystem $(WASM_INCLUDE) -std=gnu17 -D_GNU_SOURCE -DXXH_INLINE_ALL \
                -DKELVIN_VERSION='"$(VERSION)"' -Isrc -I$(B)/gen -include src/page/wasm_libc.h \
                -O2 -ffunction-sections -fdata-sections
# Of base and wire only what needs no system behind it.
WASM_BASE    := arena buf calc clone csv cursor err firsts idmap intern json jsonread mem opt path pattern reader shortname text trie units utf8 vec words
WASM_WIRE    := chunk column recording recording_read recording_read_streams recording_streams
WASM_SRC     := $(filter-out src/page/wasm.c src/view/viewer.c, $(patsubst %,src/base/%.c,$(WASM_BASE)) \
                  $(patsubst %,src/wire/%.c,$(WASM_WIRE)) \
                  $(patsubst %,src/code/%.c,simd a64 x86 listing) $(wildcard $(patsubst %,src/%/*.c,stats model analysis page view)))
WASM_OBJ     := $(WASM_SRC:%.c=$(B)/wasm/%.o)
WASM_FILE    := $(or $(PLAIN),$(B))/kelvin.wasm

# Short lines; whole ones with V=1, none with -s.
QUIET := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = @$(if $(V),set -x;,$(if $(QUIET),,printf '  %-5s %s\n' $(1) $@;))
# Builds that check and lint start use all cores, unless make was told otherwise.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
SUBMAKE = $(MAKE) --no-print-directory $(JOBS)
# The build with sanitizers, beside the plain one.
CHECKED = SANITIZE=1 B=$(B)/sanitize PLAIN=$(B)

.PHONY: mutants tsan fuzzers all help demo check check-all check-rest lint bench fuzz golden unit targets install uninstall clean setup deb static aarch64
all: $(B)/kelvin $(AGENT) $(HEAP) $(HEAPLIB) $(B)/kelvin-heap.link $(LOCKS) $(SCOPES) $(BENCHLIB)

help:
	@echo 'make            build $(B)/kelvin'
	@echo 'make demo       install what the build needs, build, draw an example, run a suite'
	@echo 'make check      install what the tests need, build, test the program'
	@echo 'make check-all  the same, once more with sanitizers, fuzzers, and tests that need more tools: a browser, Go, Rust, valgrind, perf'
	@echo 'make check-rest after make check: only what check-all does besides'
	@echo 'make lint       formatting, layers, warnings as errors, static analysis'
	@echo 'make tsan       read one profile from two threads under ThreadSanitizer'
	@echo 'make fuzz       fuzz every format for FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make bench      speed and memory next to other tools'
	@echo 'make mutants    break the code in N=$(N) small ways and count what the tests notice'
	@echo 'make golden     rewrite the expected results of tests/golden'
	@echo 'make install    into DESTDIR=$(DESTDIR) PREFIX=$(PREFIX); make uninstall undoes it'
	@echo 'make deb        a Debian package in $(B)'
	@echo 'make aarch64    the program and its package for AArch64, tried under qemu-user'
	@echo 'make static     $(B)/static/kelvin, one file without libraries, for containers'
	@echo 'make clean      remove $(B)'
	@echo
	@echo 'Options: CC=gcc|clang  CFLAGS=...  WERROR=1  SANITIZE=1 (ASan and UBSan)  B=FOLDER  V=1'

# --- the program ---

$(B)/kelvin: $(FRONT) $(LIB)
	$(call say,LINK) $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): $(CORE)
	$(call say,AR) rm -f $@ && $(AR) rcs $@ $^

# With PLAIN=FOLDER, where `make all` was before: parts without sanitizers are taken from there, and so is the page.
ifdef PLAIN
$(AGENT) $(HEAP) $(LOCKS) $(SCOPES) $(HEAPLIB): $(B)/%: $(PLAIN)/%
	@mkdir -p $(@D)
	$(call say,COPY) cp $< $@
else
# -z now: no symbol is looked up inside the signal handler. -O2 whatever the program's: threads
# must not have a frame of ours on their stacks.
$(AGENT): $(AGENT_SRC)
$(HEAP): $(HEAP_SRC)
$(LOCKS): $(LOCKS_SRC)
$(SCOPES): $(SCOPES_SRC) include/kelvin.h
$(AGENT) $(HEAP) $(LOCKS) $(SCOPES): $(wildcard lib/*.h src/unwind/*.h) $(wildcard src/wire/*.h) $(B)/.flags
	$(call say,AGENT) $(CC) -std=gnu17 -D_GNU_SOURCE -Isrc $(WARN) -g -O2 -fPIC -fvisibility=hidden \
	  -ftls-model=initial-exec -shared -Wl,-z,now,-z,defs -o $@ $(filter %.c,$^)

$(HEAPLIB): $(HEAPLIB_OBJ)
	$(call say,AR) $(LD) -r -o $(@:.a=.o) $^ && $(OBJCOPY) --localize-hidden $(@:.a=.o) && \
	  rm -f $@ && $(AR) rcs $@ $(@:.a=.o)
endif

$(B)/heaplib/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(call say,CC) $(CC) -std=gnu17 -D_GNU_SOURCE -DHEAP_STATIC -include lib/heap_static.h -Isrc $(WARN) -g -O2 -fPIC \
	  -fvisibility=hidden -ftls-model=initial-exec -MMD -MP -c -o $@ $<

# The archive is looked for where the file of words is: whoever links says -L.
$(B)/kelvin-heap.link: lib/heap_static.h
	$(call say,GEN) mkdir -p $(@D) && sed -n 's/^#define \([a-z0-9_]*\) __wrap_.*/-Wl,--wrap=\1/p' $< >$@ && echo '-Wl,-u,__wrap_malloc -lkelvin-heap' >>$@

# Joined into one object in which only kelvin_* can be seen from outside: programs have names too.
$(BENCHLIB): $(BENCHLIB_OBJ)
	$(call say,AR) $(LD) -r -o $(@:.a=.o) $^ && $(OBJCOPY) --localize-hidden $(@:.a=.o) && \
	  rm -f $@ && $(AR) rcs $@ $(@:.a=.o)

$(B)/benchlib/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/%.o: %.c $(B)/.flags | $(B)/.libs $(WEB)
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(ALL_CFLAGS) $(LEVEL) $(EXACT) -MMD -MP -c -o $@ $<

# No fused multiply-add where numbers are computed: the page must show the same digits (base/calc.h).
$(patsubst %.c,$(B)/%.o,$(wildcard src/stats/*.c src/analysis/*.c src/model/*.c src/view/*.c) src/base/calc.c): EXACT := -ffp-contract=off

# Rooms that wire and print more than they compute: with sanitizers they take longer to optimise than to run.
COLD_ROOMS := bench cmd host page record store suite view
$(patsubst %.c,$(B)/%.o,$(filter $(COLD_ROOMS:%=src/%/%),$(SRC))): LEVEL = $(if $(SANITIZE),-O0)

# --- the page ---

$(B)/wasm/%.o: %.c src/page/wasm_libc.h $(B)/.flags | $(WEB)
	@mkdir -p $(@D)
	$(call say,WASM) $(WASM_CC) $(WASM_FLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(B)/wasm/src/page/wasm.o: WASM_FLAGS += -mbulk-memory

$(B)/kelvin.wasm: $(WASM_OBJ) $(B)/wasm/src/page/wasm.o
	$(call say,WASM) $(WASM_CC) --target=wasm32-wasi --sysroot=/usr -mexec-model=reactor -O2 \
	  -Wl,--gc-sections,--strip-all,-z,stack-size=1048576 -o $@ $^

# As C: an array of its gzipped bytes, or of none.
$(B)/gen/kelvin_wasm.h: $(if $(WASM_READY),$(WASM_FILE))
	@mkdir -p $(@D)
	$(call say,EMBED) { echo 'static const unsigned char kelvin_wasm[] = {'; \
	  $(if $(WASM_READY),gzip -9nc $<,printf '') | od -An -v -tu1 | sed 's/[0-9]\+/&,/g'; echo '0};'; } > $@.new && mv $@.new $@

$(B)/src/view/viewer.o: $(B)/gen/kelvin_wasm.h

define web_rule
$(B)/gen/web_$(subst .,_,$(notdir $(1))).h: $(1) tools/embed.sh
	@mkdir -p $$(@D)
	$$(call say,EMBED) tools/embed.sh $(1) > $$@.new && mv $$@.new $$@
endef
$(foreach f,$(wildcard web/*.*),$(eval $(call web_rule,$(f))))

# Touched only when the compiler or its flags change: everything is then built anew. -Werror makes no other code: `make
# demo`, `make check` and `make install` share their objects, with it or without.
FLAGS_NOW = $(CC) $(filter-out -Werror,$(ALL_CFLAGS))
$(B)/.flags: FORCE
	@mkdir -p $(@D)
	@echo "$(subst ",\",$(FLAGS_NOW))" | cmp -s - $@ || echo "$(subst ",\",$(FLAGS_NOW))" > $@
.PHONY: FORCE

# Tell what to do rather than a page of compiler errors when a library is missing.
$(B)/.libs:
	@mkdir -p $(@D)
	@printf '#include <%s>\n' elfutils/libdw.h libiberty/demangle.h zstd.h zlib.h lzma.h bzlib.h xxhash.h capstone/capstone.h sqlite3.h ini.h | \
	  sed '$$aint main(void){return 0;}' | \
	  $(CC) -xc - -o $@ $(LIBS) 2>/dev/null || \
	  { echo "make: $(CC) or a library is missing: run 'tools/setup.sh', or 'make demo' which does"; exit 1; }

-include $(OBJ:.o=.d) $(BENCHLIB_OBJ:.o=.d) $(HEAPLIB_OBJ:.o=.d) $(UNIT_OBJ:.o=.d) $(WASM_OBJ:.o=.d) $(B)/wasm/src/page/wasm.d $(wildcard $(B)/static/*.d)

# --- tests ---

unit: $(UNIT)

# Compiled apart from linking: a change of the library compiles no test anew, and ccache can help. A test takes longer to
# optimise than to run.
$(UNIT_OBJ): $(B)/tests/unit.o/%.o: tests/unit/%.c $(B)/.flags | $(LIB)
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(ALL_CFLAGS) -O1 -MMD -MP -c -o $@ $<

$(UNIT): $(B)/tests/unit/%: $(B)/tests/unit.o/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST) $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(TEST_LIBS) $(LIBS)

# In a folder of its own: all that is linked must be watched.
tsan:
	$(SUBMAKE) B=$(B)/tsan CFLAGS='-O1 -g -fsanitize=thread' LDFLAGS=-fsanitize=thread $(B)/tsan/tests/unit/test_threads
	$(B)/tsan/tests/unit/test_threads

# Built as shipped programs are, whatever Kelvin itself is built with: optimised, without frame
# pointers and sanitizers.
TARGET_FLAGS := -O2 -g -fomit-frame-pointer -Wall -Wextra -rdynamic -pthread

targets: $(TARGET)

$(B)/tests/target/%: tests/target/%.c $(wildcard tests/target/*.h include/*.h)
	@mkdir -p $(@D)
	$(call say,CC) $(CC) -std=gnu17 $(TARGET_FLAGS) -o $@ $<

$(B)/tests/target/%: tests/target/%.cc $(wildcard tests/target/*.h include/*.h)
	@mkdir -p $(@D)
	$(call say,CXX) $(CXX) -std=c++17 $(TARGET_FLAGS) -o $@ $<

$(B)/tests/target/%: tests/target/%.rs
	@mkdir -p $(@D)
	$(call say,RUSTC) rustc --edition 2021 -O -g -o $@ $<

# libFuzzer. fuzz_import serves all formats: which is the end of its name, so each gets a link.
fuzzers: $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

$(B)/fuzz/%: tests/fuzz/%.c $(LIB) $(B)/.flags
	@mkdir -p $(@D)
	$(call say,FUZZ) $(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(LIB) $(LIBS)

# What cannot be installed must not keep the rest from being built.
PAGE_SETUP = tools/setup.sh page || echo "make: going on without the page of 'kelvin view'"

# Tests that need something that is not installed are skipped. A make of its own sees what was installed just now.
check:
	@tools/setup.sh build test
	@$(PAGE_SETUP)
	@$(SUBMAKE) all unit targets
	@B=$(B) tools/run-tests.sh

check-all:
	@tools/setup.sh build test sanitize more deb lintian
	@$(PAGE_SETUP)
	@$(SUBMAKE) all unit targets
	@B=$(B) tools/run-tests.sh first $(MAKE_CHECKED)

# After `make check`: what it left to check-all.
check-rest:
	@tools/setup.sh build test sanitize more deb lintian
	@$(SUBMAKE) all unit targets
	@B=$(B) tools/run-tests.sh rest $(MAKE_CHECKED)

# WERROR=1 where all objects are built here; those of the plain build may be older, and are `make lint`'s to judge.
MAKE_CHECKED = $(SUBMAKE) WERROR=1 $(CHECKED) all unit fuzzers

fuzz:
	@tools/setup.sh build test sanitize
	@$(SUBMAKE) all
	@$(SUBMAKE) $(CHECKED) all fuzzers
	@B=$(B) FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED= tools/run-tests.sh fuzz

golden: all
	@B=$(B) tools/golden.sh --rewrite

# Small faults, one at a time: which of them do the tests notice? Minutes for every ten.
N    ?= 200
SEED ?= 1
mutants:
	@$(SUBMAKE) all unit targets
	@$(SUBMAKE) $(CHECKED) all unit
	@B=$(B) LIBS="$(LIBS)" TEST_LIBS="$(TEST_LIBS)" tools/mutate.py -n $(N) --seed $(SEED) $(MUTATE)

lint:
	@tools/setup.sh build test lint
	@B=$(B) tools/lint.sh

bench:
	@tools/setup.sh build bench
	@$(SUBMAKE) all
	@KELVIN=$(abspath $(B))/kelvin bench/run.sh

# --- for users ---

setup:
	@tools/setup.sh

demo:
	@tools/setup.sh build
	@$(PAGE_SETUP)
	@$(SUBMAKE) all
	@B=$(B) tools/demo.sh

# One file without libraries: for containers that have none, or others. Of the same objects, but two that know it. The agent
# needs the program's own C library, as ever.
STATIC_OBJ  := $(patsubst %,$(B)/static/%.o,static version)
STATIC_FILE := $(addprefix $(B)/static/,kelvin $(notdir $(AGENT) $(HEAP) $(LOCKS) $(SCOPES)))

$(STATIC_OBJ): $(B)/static/%.o: src/cmd/%.c $(B)/.flags | $(B)/.libs
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(ALL_CFLAGS) -DKELVIN_STATIC -MMD -MP -c -o $@ $<

$(B)/static/kelvin: $(STATIC_OBJ) $(filter-out $(patsubst %,$(B)/src/cmd/%.o,static version),$(FRONT)) $(LIB)
	$(call say,LINK) $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

$(B)/static/%.so: $(B)/%.so
	$(call say,COPY) mkdir -p $(@D) && cp $< $@

static:
	@tools/setup.sh build
	@$(PAGE_SETUP)
	@$(SUBMAKE) $(STATIC_FILE)
	@ls -sh $(B)/static/kelvin

deb: all
	@tools/setup.sh deb
	@B=$(B) VERSION=$(VERSION) tools/deb.sh

# The same for AArch64, by the cross compiler; what can be tried under qemu-user is.
aarch64: all
	@B=$(B) VERSION=$(VERSION) tools/aarch64.sh

install: all
	@B=$(B) DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" tools/install.sh install

uninstall:
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" tools/install.sh uninstall

clean:
	rm -rf $(B)
