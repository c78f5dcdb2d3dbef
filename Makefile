# SPDX-License-Identifier: Apache-2.0

# Every task of this repository; `make help` lists them.  All output goes
# below build/.

SHELL = /bin/bash

MODULE = build/nginx/ngx_http_mcp_module.so

CORE_SRC := $(wildcard shared/*/*.c)
CORE     := $(CORE_SRC:shared/%.c=%) store/mcp_status_page \
	cluster/mcp_cluster_lua
UNIT_SRC := $(wildcard t/unit/*/*_test.c)
UNIT_AID := $(filter-out t/unit/tests.c,$(wildcard t/unit/*.c))
UNIT_FOLDERS  := $(sort $(patsubst t/unit/%/,%,$(dir $(UNIT_SRC))))
UNIT_PROGRAMS := $(UNIT_FOLDERS:%=build/unit/%/tests)
COVERAGE_PROGRAMS := $(patsubst %,build/coverage/%/tests,$(filter-out next,$(UNIT_FOLDERS)))
FUZZ_SRC := $(wildcard t/fuzz/*_fuzz.c)

CORE_LIBS = -lyajl -lpcre2-8 -lhiredis -lcrypto -lpthread
WARNINGS  = -Wall -Wextra -Wshadow -Wmissing-prototypes $(if $(WERROR),-Werror)
CORE_FLAGS = -std=c11 -D_GNU_SOURCE $(WARNINGS) -g -Ishared -Ishared/include

# each test function has a parameter that most do not use
TEST_FLAGS = -It/unit -Wno-unused-parameter

UNIT_FLAGS = $(CORE_FLAGS) -It/unit -O1 -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined

COVERAGE_CC    = clang
COVERAGE_FLAGS = $(CORE_FLAGS) -O1 -Wno-string-concatenation

FUZZ_CC    = clang
FUZZ_FLAGS = $(CORE_FLAGS) -O1 -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined

VERSION := $(shell sed -nE 's/^.define MCP_VERSION +"(.*)"$$/\1/p' \
	shared/include/mcp_version.h)

DIST = build/mcp-$(VERSION).tar.gz

# where `make install` puts the modules, and what configurations include
PREFIX         ?= /usr
SYSCONFDIR     ?= /etc
DESTDIR        ?=
NGINX_MODULES  ?= $(PREFIX)/lib/nginx/modules
APACHE_MODULES ?= $(PREFIX)/lib/apache2/modules

NGINX_FILES  := $(wildcard examples/mcp_*_params*)
APACHE_FILES := examples/mcp_proxy.conf examples/mcp_upstream.conf
TOOLS        := tools/mcp-doctor tools/mcp-init tools/mcp-snapshot

# V=1 prints each command
Q = $(if $(filter 1,$(V)),,@)

# seconds for each fuzz target
FUZZ_SECONDS ?= 30

# of endurance
CLUSTER_SECONDS ?= 3600
CLUSTER_CLIENTS ?= 200

# more arguments for prove, node --test and bench/run; files instead of all
PROVE_FLAGS ?=
T           ?=
E           ?=
BENCH       ?=

.DEFAULT_GOAL = help
.SECONDARY:
.PHONY: help deps module module-apache install install-nginx install-apache \
	install-tools uninstall uninstall-nginx uninstall-apache uninstall-tools \
	run run-apache run-cluster test test-full test-rest \
	test-debian12 test-debian13 unit unit-programs \
	test-nginx e2e e2e-nodes conformance fuzz fuzz-programs \
	build-asan build-asan-apache build-tsan-apache asan asan-apache tsan-apache \
	coverage dist deb test-packages test-install test-build graph \
	soak endurance endurance-upstream versions cost check format bench \
	compdb clean


help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  T=t/x.t (test-nginx), E=t/e2e/x.test.mjs (e2e) choose files,"
	@echo "  U=store/mcp_store_test (unit) as well,"
	@echo "  V=1 prints the commands, CFLAGS, CPPFLAGS, LDFLAGS replace the options"
	@echo "  of module and module-apache (-O3, link-time optimization, hardening),"
	@echo "  FUZZ_SECONDS=60, PORT=8090 (run), NGINX_BIN=... MCP_MODULE=...,"
	@echo "  APACHE_BIN=... MCP_APACHE_MODULE=..., MCP_SERVER=nginx or apache"
	@echo "  (e2e, soak, conformance), FIXTURE_MPM=event, worker or prefork"


deps: ## install what building and testing need
	@scripts/deps test

module: ## build ngx_http_mcp_module.so for the installed nginx
	@scripts/build nginx

module-apache: ## build mod_mcp.so for the installed Apache httpd
	@scripts/build apache

install: install-nginx install-apache ## install both modules (DESTDIR=, PREFIX=, SYSCONFDIR=)

install-nginx: module ## install the nginx module and the files to include
	install -D -m 644 -t $(DESTDIR)$(NGINX_MODULES) $(MODULE)
	install -D -m 644 -t $(DESTDIR)$(SYSCONFDIR)/nginx $(NGINX_FILES)

install-apache: module-apache ## install the Apache module likewise
	install -D -m 644 -t $(DESTDIR)$(APACHE_MODULES) build/apache/mod_mcp.so
	install -D -m 644 -t $(DESTDIR)$(SYSCONFDIR)/apache2 $(APACHE_FILES)

install-tools: ## install the tools and their manual pages
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(TOOLS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(TOOLS:%=%.1)

uninstall: uninstall-nginx uninstall-apache uninstall-tools ## remove what install has installed

uninstall-nginx:
	rm -f $(DESTDIR)$(NGINX_MODULES)/$(notdir $(MODULE)) \
		$(NGINX_FILES:examples/%=$(DESTDIR)$(SYSCONFDIR)/nginx/%)

uninstall-apache:
	rm -f $(DESTDIR)$(APACHE_MODULES)/mod_mcp.so \
		$(APACHE_FILES:examples/%=$(DESTDIR)$(SYSCONFDIR)/apache2/%)

uninstall-tools:
	rm -f $(TOOLS:tools/%=$(DESTDIR)$(PREFIX)/bin/%) \
		$(TOOLS:tools/%=$(DESTDIR)$(PREFIX)/share/man/man1/%.1)

run: ## build and run the demonstration on 127.0.0.1:8080
	@scripts/run nginx

run-apache: ## the same with Apache httpd
	@scripts/run apache

run-gateway: ## in front of an MCP server of Node.js, with nginx
	@scripts/run nginx gateway

run-gateway-apache: ## the same with Apache httpd
	@scripts/run apache gateway

run-cluster: ## three nodes of both, a Redis and a balancer
	@scripts/run-cluster


test: ## build and test both modules: ten minutes
	@scripts/test fast

test-full: ## every test: an hour
	@scripts/test full

test-rest: ## what test-full runs besides test
	@scripts/test rest

# U=store/mcp_store_test: these files; UNIT_SKIP=next: all folders but this one

unit: unit-programs ## unit tests of the core, under ASan and UBSan
	@scripts/suite unit $(or $(U),$(sort $(UNIT_SRC:t/unit/%.c=%)))

unit-programs: $(if $(U),$(patsubst %/,build/unit/%/tests,$(sort $(dir $(U)))), \
	$(filter-out $(UNIT_SKIP:%=build/unit/%/tests),$(UNIT_PROGRAMS)))

test-nginx: module ## t/*.t with Test::Nginx
	@scripts/suite test-nginx $(PROVE_FLAGS) $(T)

e2e: module module-apache ## end-to-end tests with real clients, on both servers
	@scripts/suite e2e $(E)

e2e-nodes: module module-apache ## some of them on a cluster of both servers
	@scripts/suite e2e-nodes $(E)

soak: module module-apache ## the e2e tests with many calls, drops and streams alone
	@SUITE_PREFIX=soak- scripts/suite e2e t/e2e/soak.test.mjs t/e2e/idle.test.mjs

endurance: module module-apache ## an hour of random faults at a cluster, 200 clients
	@CLUSTER_SECONDS=$(CLUSTER_SECONDS) CLUSTER_CLIENTS=$(CLUSTER_CLIENTS) \
		E2E_TIMEOUT=$$((($(CLUSTER_SECONDS) + 900) * 1000)) \
		MCP_SERVER=$${MCP_SERVER:-nginx} SUITE_PREFIX=endurance- \
		scripts/suite e2e t/e2e/cluster-random.test.mjs

endurance-upstream: module module-apache ## ten minutes of 1,000 sessions before an MCP server
	@UPSTREAM_SECONDS=600 UPSTREAM_CLIENTS=1000 E2E_TIMEOUT=1500000 \
		MCP_SERVER=$${MCP_SERVER:-nginx} SUITE_PREFIX=endurance- \
		scripts/suite e2e t/e2e/upstream-random.test.mjs

# RUN="make test": what to run; REDIS=valkey: with Valkey as the cluster's server

test-debian13: ## test-full in a bare Debian 13, by debootstrap (root)
	@scripts/chroot trixie $(or $(RUN),make test-full)

test-debian12: ## the same in a bare Debian 12
	@scripts/chroot bookworm $(or $(RUN),make test-full)

versions: ## build and try the module with other versions of nginx
	@scripts/versions

conformance: module module-apache ## the MCP conformance suite, on both servers
	@scripts/suite conformance

fuzz-programs: $(FUZZ_SRC:t/fuzz/%.c=build/fuzz/%)

fuzz: fuzz-programs ## fuzz targets, FUZZ_SECONDS each
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/suite fuzz $(sort $(FUZZ_SRC:t/fuzz/%.c=build/fuzz/%))

asan: module-apache build-asan ## test-nginx and e2e on an nginx with ASan and UBSan
	@scripts/suite asan

asan-apache: module build-asan-apache ## e2e on the Apache module with ASan and UBSan
	@scripts/suite asan-apache

tsan-apache: module build-tsan-apache ## e2e on the Apache module with ThreadSanitizer
	@scripts/suite tsan-apache

coverage: $(COVERAGE_PROGRAMS) ## lines of the core that unit tests execute, by folder
	@scripts/coverage $(sort $^)

cost: module module-apache ## instructions a request, against bench/cost.json
	@scripts/suite cost

check: ## boundaries, tables, docs, warnings, format, cppcheck
	@scripts/check


build-asan:
	@scripts/build asan

build-asan-apache:
	@scripts/build apache-asan

build-tsan-apache:
	@scripts/build apache-tsan

format: ## reformat the core (see .clang-format)
	@clang-format --style=file -i shared/*/*.[ch]

bench: module module-apache ## measure; BENCH="--server apache echo" a part, or BENCH=cost
	@bench/run $(BENCH)

graph: ## draw the core's layers: docs/graph.svg (graphviz)
	@scripts/graph > build/graph.svg && mv build/graph.svg docs/graph.svg

# equal bytes for equal commits, whatever the settings of git are

dist: ## the source of this commit: build/mcp-VERSION.tar.gz
	@mkdir -p build
	set -o pipefail; git -c tar.umask=0022 -c core.abbrev=7 archive --format=tar \
		--prefix=mcp-$(VERSION)/ HEAD | gzip -9n > $(DIST).new
	mv $(DIST).new $(DIST)
	sha256sum $(DIST)

deb: ## Debian packages of this commit, for this system: build/deb
	@scripts/deb

test-install: ## follow docs/install.md in bare Debian 12 and 13 (root)
	@scripts/test-install $(RELEASES)

test-build: ## likewise docs/build.md; NGINX_SOURCE=DIR: with that nginx
	@scripts/test-install --build $(RELEASES)

test-packages: ## install, use, upgrade, remove them in bare Debian 12 and 13 (root)
	@scripts/test-packages $(RELEASES)

compdb: ## write compile_commands.json
	@scripts/compdb > compile_commands.json

clean: ## remove build/
	rm -rf build compile_commands.json


# what is made for the core

build/made/store/mcp_status_page.c: shared/store/mcp_status.html scripts/embed
	@scripts/embed $< $@

build/made/cluster/mcp_cluster_lua.c: shared/cluster/redis scripts/embed \
		$(wildcard shared/cluster/redis/*.lua)
	@scripts/embed $< $@


# unit tests: one program for each folder, of which `tests NAME` runs one file.
# main() of each file gets the file's name, and t/unit/tests.c calls it.

unit_names = $(basename $(notdir $(wildcard t/unit/$1/*_test.c)))
unit_main  = -Dmain='$(*F)_test(void); int $(*F)_test'

UNIT_CORE = $(Q)mkdir -p $(@D) && $(CC) $(UNIT_FLAGS) -fPIC -MMD -MP -c -o $@ $<

build/unit/core/%.o: shared/%.c Makefile
	$(UNIT_CORE)

build/unit/core/%.o: build/made/%.c Makefile
	$(UNIT_CORE)

build/unit/libcore.so: $(CORE:%=build/unit/core/%.o)
	$(Q)$(CC) $(UNIT_FLAGS) -shared -Wl,-soname,$(@F) -o $@ $^

# The test files are compiled without optimization.  Compiling them takes less
# than half of the time, and running them about a third longer.

build/unit/%_test.o: t/unit/%_test.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_FLAGS) -O0 $(TEST_FLAGS) $(unit_main) -MMD -MP -c -o $@ $<

build/unit/%.o: t/unit/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_FLAGS) -O0 -MMD -MP -c -o $@ $<

# a core with more revisions than there are

build/unit/next/%: UNIT_FLAGS += -DMCP_REVISION_EXTRA='"next/revisions.h"'

build/unit/next/core/%.o: shared/%.c Makefile
	$(UNIT_CORE)

build/unit/next/core/%.o: build/made/%.c Makefile
	$(UNIT_CORE)

build/unit/next/libnext.so: $(CORE:%=build/unit/next/core/%.o)
	$(Q)$(CC) $(UNIT_FLAGS) -shared -Wl,-soname,$(@F) -o $@ $^

# $(call unit_program,FOLDER,DIRECTORY): the table of the folder's files, and
# what its program is made of

define unit_program
$2/$1/tests.o: t/unit/tests.c $$(wildcard t/unit/$1) Makefile
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CORE_FLAGS) -DTESTS="$$(patsubst %,TEST(%),$$(call unit_names,$1))" \
		-c -o $$@ t/unit/tests.c

$2/$1/tests: $2/$1/tests.o $$(patsubst %,$2/$1/%.o,$$(call unit_names,$1)) \
		$$(UNIT_AID:t/unit/%.c=$2/%.o)
endef

$(foreach folder,$(UNIT_FOLDERS),$(eval $(call unit_program,$(folder),build/unit)))
$(foreach folder,$(UNIT_FOLDERS),$(eval $(call unit_program,$(folder),build/coverage)))

build/unit/next/tests: build/unit/next/libnext.so
$(filter-out build/unit/next/%,$(UNIT_PROGRAMS)): build/unit/libcore.so

$(UNIT_PROGRAMS):
	$(Q)$(CC) $(UNIT_FLAGS) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ $^ -lcmocka \
		$(CORE_LIBS)


# the same for `make coverage`

COVERAGE_CORE = $(Q)mkdir -p $(@D) && $(COVERAGE_CC) $(COVERAGE_FLAGS) \
	-fprofile-instr-generate -fcoverage-mapping -MMD -MP -c -o $@ $<

build/coverage/core/%.o: shared/%.c Makefile
	$(COVERAGE_CORE)

build/coverage/core/%.o: build/made/%.c Makefile
	$(COVERAGE_CORE)

build/coverage/%_test.o: t/unit/%_test.c Makefile
	@mkdir -p $(@D)
	$(Q)$(COVERAGE_CC) $(COVERAGE_FLAGS) $(TEST_FLAGS) $(unit_main) -MMD -MP -c -o $@ $<

build/coverage/%.o: t/unit/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(COVERAGE_CC) $(COVERAGE_FLAGS) -It/unit -MMD -MP -c -o $@ $<

$(COVERAGE_PROGRAMS): $(CORE:%=build/coverage/core/%.o)
	$(Q)$(COVERAGE_CC) -fprofile-instr-generate -o $@ $^ -lcmocka $(CORE_LIBS)


# fuzz targets

FUZZ_CORE = $(Q)mkdir -p $(@D) && $(FUZZ_CC) $(FUZZ_FLAGS) \
	-fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

build/fuzz/core/%.o: shared/%.c Makefile
	$(FUZZ_CORE)

build/fuzz/core/%.o: build/made/%.c Makefile
	$(FUZZ_CORE)

build/fuzz/%.o: t/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -It/fuzz -It/unit \
		-fsanitize=fuzzer-no-link,address,undefined \
		-MMD -MP -c -o $@ $<

build/fuzz/aid/%.o: t/unit/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -It/unit \
		-fsanitize=fuzzer-no-link,address,undefined \
		-MMD -MP -c -o $@ $<

build/fuzz/%_fuzz: build/fuzz/%_fuzz.o $(UNIT_AID:t/unit/%.c=build/fuzz/aid/%.o) \
		$(CORE:%=build/fuzz/core/%.o)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined \
		-o $@ $^ -lcmocka $(CORE_LIBS)


-include $(wildcard build/unit/*.d build/unit/*/*.d build/unit/core/*/*.d \
	build/unit/next/core/*/*.d \
	build/coverage/*/*.d build/coverage/core/*/*.d \
	build/fuzz/*.d build/fuzz/aid/*.d build/fuzz/core/*/*.d)
