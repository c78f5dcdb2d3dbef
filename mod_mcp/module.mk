# SPDX-License-Identifier: Apache-2.0

# What `scripts/build apache` makes; it sets OUT, FLAGS, LDFLAGS, CC, for
# developers WERROR=-Werror and, where clusters are left out, CLUSTER=no.

CLUSTER ?= yes

SRC  := $(wildcard shared/*/*.c mod_mcp/*.c)
LIBS := -lyajl -lpcre2-8 -lcrypto -lpthread

ifeq ($(CLUSTER),no)
SRC  := $(filter-out shared/cluster/% mod_mcp/mod_mcp_cluster%,$(SRC))
else
LIBS += -lhiredis -lssl
override FLAGS += -DMCP_CLUSTER=1
MADE := $(OUT)/made/mcp_cluster_lua.o
endif

OBJ := $(SRC:%.c=$(OUT)/%.o) $(OUT)/made/mcp_status_page.o $(MADE)
MAP := mod_mcp/mod_mcp.map

all: $(OUT)/mod_mcp.so $(OUT)/mod_worker.so

# All but the module itself stays inside, out of the way of other modules.
# With -flto functions are compiled here, and were warned of before.

$(OUT)/mod_mcp.so: $(OBJ) $(MAP) $(OUT)/.stamp
	$(CC) $(FLAGS) -w -shared $(LDFLAGS) -Wl,--version-script=$(MAP) \
		-o $@ $(OBJ) $(LIBS)

$(OUT)/%.o: %.c $(OUT)/.stamp
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(WERROR) -MMD -MP -c -o $@ $<

$(OUT)/made/%.o: $(OUT)/made/%.c $(OUT)/.stamp
	$(CC) $(FLAGS) $(WERROR) -MMD -MP -c -o $@ $<

$(OUT)/made/mcp_status_page.c: shared/store/mcp_status.html scripts/embed
	scripts/embed $< $@

$(OUT)/made/mcp_cluster_lua.c: shared/cluster/redis scripts/embed \
		$(wildcard shared/cluster/redis/*.lua)
	scripts/embed $< $@

# scripts/commit runs each time, and changes the header only with the commit

$(OUT)/shared/base/mcp_version.o: override FLAGS += -I$(OUT)/made
$(OUT)/shared/base/mcp_version.o: $(OUT)/made/mcp_commit.h

$(OUT)/made/mcp_commit.h: always
	@scripts/commit $@

.PHONY: all always

# for tests

$(OUT)/mod_worker.so: t/fixtures/mod_worker.c $(OUT)/.stamp
	$(CC) $(FLAGS) $(WERROR) -shared $(LDFLAGS) -o $@ $<

-include $(OBJ:.o=.d)
