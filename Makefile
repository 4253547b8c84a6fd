# mtrace: `make help` prints the targets.
#
# Folders decide what is built: every .c in shim/ (with its arch/ folder) goes into libmtrace.so, every .c in
# analyzer/ into mtrace-analyze, trace/ into both; in bench/ the files named in BENCH_PROGRAMS hold a main() and the
# others are modules of ycsb-embedded. A tests/unit/test_X.c is one Criterion program, a tests/host/X.c one guest.

ARCH   ?= $(shell uname -m)
BUILD  ?= build
PREFIX ?= /usr/local

ifeq ($(origin CC),default)
CC := gcc
endif
CXX ?= g++
CCACHE ?= $(shell command -v ccache 2>/dev/null)

WARNINGS := -Wall -Wextra -Wundef -Wshadow -Wconversion
CPPFLAGS += -I. -D_GNU_SOURCE -MMD -MP
OPTIMIZE ?= -O2 -g
COMMON_CFLAGS := -std=gnu17 $(OPTIMIZE) $(WARNINGS)
compile = $(CCACHE) $(CC) $(CPPFLAGS) $(COMMON_CFLAGS) $(CFLAGS)

# ---- what is built ---------------------------------------------------------------------------------------------

.PHONY: all help
all: $(BUILD)/libmtrace.so $(BUILD)/mtrace-analyze $(BUILD)/ycsb-embedded $(BUILD)/mallocbench ## build everything

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

trace_sources    := $(wildcard trace/*.c)
shim_sources     := $(wildcard shim/*.c shim/arch/$(ARCH)/*.c)
analyzer_sources := $(wildcard analyzer/*.c)

include shim/module.mk

# ---- analyzer --------------------------------------------------------------------------------------------------

# libbson carries its version in its name, and in the folder of its headers.
PKG_CONFIG ?= pkg-config
bson := $(firstword $(foreach name,libbson-1.0 bson2,$(shell $(PKG_CONFIG) --exists $(name) 2>/dev/null && echo $(name))))
BSON_CPPFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(or $(bson),libbson-1.0)))
BSON_LIBS := $(shell $(PKG_CONFIG) --libs $(or $(bson),libbson-1.0))
$(BUILD)/analyzer/ftdc.o $(BUILD)/analyzer/ftdc_%.o $(BUILD)/tests/unit/test_ftdc.o $(BUILD)/tests/unit/test_ftdc_%.o $(BUILD)/tests/unit/support_ftdc.o $(BUILD)/tests/bench/ftdc_speed.o: \
	CPPFLAGS += $(BSON_CPPFLAGS)

ANALYZER_LIBS := -lzstd -ljansson -ldw -lelf -lgsl -lgslcblas $(BSON_LIBS) -lz -lstdc++ -lm
analyzer_objects := $(patsubst %.c,$(BUILD)/%.o,$(analyzer_sources) $(trace_sources))

$(BUILD)/mtrace-analyze: $(analyzer_objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)

# ---- embedded workload and benchmarks ---------------------------------------------------------------------------

BENCH_PROGRAMS := bench/ycsb_embedded.c bench/mallocbench.c bench/lockbench.c bench/pagesbench.c bench/mongo_facts.c
bench_modules  := $(filter-out $(BENCH_PROGRAMS) bench/engine_%.c,$(wildcard bench/*.c))

has_header = $(shell $(CC) -E -include $(1) -x c /dev/null >/dev/null 2>&1 && echo 1)

# WIREDTIGER=DIR takes a self-built WiredTiger: DIR/include/wiredtiger.h (or DIR/wiredtiger.h) and DIR/lib (or DIR).
ifdef WIREDTIGER
WT_CPPFLAGS := -I$(WIREDTIGER)/include -I$(WIREDTIGER)
WT_LIBS     := -L$(WIREDTIGER)/lib -L$(WIREDTIGER) -Wl,-rpath,$(abspath $(WIREDTIGER)/lib):$(abspath $(WIREDTIGER)) -lwiredtiger
HAVE_WIREDTIGER := 1
else
HAVE_WIREDTIGER := $(call has_header,wiredtiger.h)
WT_LIBS := -lwiredtiger
endif
HAVE_ROCKSDB := $(call has_header,rocksdb/c.h)

engine_sources :=
ifeq ($(HAVE_WIREDTIGER),1)
engine_sources += bench/engine_wiredtiger.c
ENGINE_CPPFLAGS += $(WT_CPPFLAGS) -DHAVE_WIREDTIGER=1
ENGINE_LIBS += $(WT_LIBS)
else
ENGINE_CPPFLAGS += -DHAVE_WIREDTIGER=0
endif
ifeq ($(HAVE_ROCKSDB),1)
engine_sources += bench/engine_rocksdb.c
ENGINE_CPPFLAGS += -DHAVE_ROCKSDB=1
ENGINE_LIBS += -lrocksdb
else
ENGINE_CPPFLAGS += -DHAVE_ROCKSDB=0
endif

bench_objects := $(patsubst %.c,$(BUILD)/%.o,$(bench_modules) $(engine_sources))
$(bench_objects) $(BUILD)/bench/ycsb_embedded.o: CPPFLAGS += $(ENGINE_CPPFLAGS)

$(BUILD)/ycsb-embedded: $(BUILD)/bench/ycsb_embedded.o $(bench_objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(ENGINE_LIBS) -lm

# What a campaign asks a MongoDB server; only where libmongoc is.
mongoc := $(firstword $(foreach name,libmongoc-1.0 mongoc2,$(shell $(PKG_CONFIG) --exists $(name) 2>/dev/null && echo $(name))))
ifneq ($(mongoc),)
all: $(BUILD)/mongo-facts
$(BUILD)/bench/mongo_facts.o: CPPFLAGS += $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(mongoc)))
$(BUILD)/mongo-facts: $(BUILD)/bench/mongo_facts.o $(BUILD)/bench/failure.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs $(mongoc))
endif

$(BUILD)/mallocbench $(BUILD)/lockbench $(BUILD)/pagesbench: $(BUILD)/%: $(BUILD)/bench/%.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(compile) -c -o $@ $<

# ---- tests -----------------------------------------------------------------------------------------------------

include tests/module.mk
include arm64.mk
include glibc-build/module.mk

.PHONY: test bench lint demo install uninstall clean
test: ## the test command: scripts/test.sh
	scripts/test.sh

demo: ## the demonstration: scripts/demo.sh
	scripts/demo.sh

bench: all $(BUILD)/lockbench $(BUILD)/pagesbench ## timings in pairs: scripts/bench.sh
	scripts/bench.sh

lint: all ## clang-tidy, cppcheck, include rule, export and symbol version check
	scripts/lint.sh

install_settings = PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' BUILD='$(BUILD)' CC='$(CC)'
install: $(BUILD)/libmtrace.so $(BUILD)/mtrace-analyze ## shim and analyzer below PREFIX (default /usr/local), or DESTDIR/PREFIX
	@$(install_settings) scripts/install.sh install

uninstall: ## remove what install put there
	@$(install_settings) scripts/install.sh uninstall

clean: ## remove build/
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -path $(BUILD)/arm64 -prune -o -name 'sysroot*' -prune -o -name '*.d' -type f -print 2>/dev/null)
