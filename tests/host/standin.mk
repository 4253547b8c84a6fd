# What mongod is: WiredTiger and an allocator linked statically into one -pie -rdynamic -z now executable that runs the
# embedded workload. Built where the distribution has both archives.
standin_archives := $(foreach a,libwiredtiger.a libtcmalloc_minimal.a,$(wildcard $(shell $(CC) -print-file-name=$(a))))
standin_objects  := $(patsubst bench/%.c,$(BUILD)/standin/%.o,bench/ycsb_embedded.c bench/engine_wiredtiger.c $(bench_modules))

ifeq ($(words $(standin_archives)),2)
host_guests += $(BUILD)/host/standin
endif

$(BUILD)/standin/%.o: bench/%.c
	@mkdir -p $(@D)
	$(compile) -fPIE -DHAVE_WIREDTIGER=1 -DHAVE_ROCKSDB=0 -c -o $@ $<

$(BUILD)/host/standin: $(standin_objects)
	@mkdir -p $(@D)
	$(CXX) $(CFLAGS) $(LDFLAGS) -pie -rdynamic -Wl,-z,now -pthread -o $@ $^ $(word 1,$(standin_archives)) \
		-Wl,--whole-archive $(word 2,$(standin_archives)) -Wl,--no-whole-archive -ldl -lm
