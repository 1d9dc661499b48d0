# Kelvin's only build file. `make`, `make demo`, `make check`; see `make help`.

B       ?= build
CC      ?= gcc
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wwrite-strings -Wvla -Wundef -Wno-missing-field-initializers
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DKELVIN_VERSION='"$(VERSION)"' -Isrc -I$(B)/gen $(WARN) $(CFLAGS)
LIBS    := -lzstd -lz -lxxhash -lm

SRC  := $(wildcard src/*.c src/*/*.c)
OBJ  := $(SRC:%.c=$(B)/%.o)
CORE := $(filter-out $(B)/src/main.o $(B)/src/cmd/%,$(OBJ))

.PHONY: all help
all: $(B)/kelvin

$(B)/kelvin: $(OBJ)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJ:.o=.d)
