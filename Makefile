# SPDX-License-Identifier: GPL-2.0
#
# Entry point of every build and test: make help. The kernel builds the module
# through Kbuild, inside build/KERNEL (one folder a kernel, holding links to the
# sources), so that modules for several kernels stand side by side.

.DEFAULT_GOAL := module
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euc

BUILD := $(CURDIR)/build
MROCE_CACHE ?= $(HOME)/.cache/mroce
export MROCE_CACHE

# ---- which kernel

ifeq ($(origin KDIR),undefined)
# found when first used
KDIR = $(eval KDIR := $(shell scripts/kdir))$(KDIR)
endif
RELEASE = $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# User-Mode Linux builds of one version differ in their configuration only: the
# name of their folder tells them apart
UML = $(shell grep -qs '^CONFIG_UML=y' $(KDIR)/.config && echo um)
OUT = $(BUILD)/$(RELEASE)$(if $(UML),-$(notdir $(abspath $(KDIR))))
UML_KASAN := $(MROCE_CACHE)/uml/kasan

# BTF needs the kernel image, or what packages of headers have of it, and pahole
KBUILD = $(MAKE) -C $(KDIR) M=$(OUT) $(if $(UML),ARCH=um) \
	$(if $(and $(wildcard $(KDIR)/vmlinux),$(shell command -v pahole)),,CONFIG_DEBUG_INFO_BTF_MODULES=) \
	$(if $(WERROR),KCFLAGS=-Werror) $(if $(KUNIT),MROCE_KUNIT=y) \
	$(if $(CONSUMER),MROCE_CONSUMER=y) $(if $(CEILING),MROCE_CEILING=y)

# ---- where things are installed

DESTDIR ?=
MODDIR = $(DESTDIR)/lib/modules/$(RELEASE)/updates
LIBDIR ?= /usr/lib/$(shell $(CC) -print-multiarch)
PLUGIN_DIR = $(DESTDIR)$(LIBDIR)/libibverbs
DRIVER_DIR = $(DESTDIR)/etc/libibverbs.d
SBINDIR = $(DESTDIR)/usr/sbin
MANDIR = $(DESTDIR)/usr/share/man
SHAREDIR = $(DESTDIR)/usr/share/mroce
INCLUDEDIR = $(DESTDIR)/usr/include
COMPLETIONDIR = $(DESTDIR)/usr/share/bash-completion/completions
LIBEXECDIR = $(DESTDIR)/usr/lib/mroce
UNITDIR = $(DESTDIR)/usr/lib/systemd/system

.PHONY: help
help:
	@echo 'Build'
	@echo '  make [KDIR=...]     mroce.ko, for the running kernel or the one of KDIR, in build/KERNEL'
	@echo '  make provider       the rdma-core provider, in build/provider'
	@echo '  make load           the checking load generator, what tries Verbs (build/load/mroce-*), attacks (build/attack)'
	@echo '  make conform        the conformance suite, its agents and the model of the protocol (build/conform/mroce-*)'
	@echo '  make consumer       mroce.ko, and a kernel user of Verbs that tests a device, build/KERNEL/mroce_consumer.ko'
	@echo '  make ceiling        mroce.ko, and trains without a protocol to compare with, build/KERNEL/mroce_ceiling.ko'
	@echo '  make tool           the command for planes, paths and attributes, build/tool/mroce'
	@echo '  make dv             the library for programs that want more than Verbs, and its examples, build/dv'
	@echo '  make install        module, provider, its .driver file, tool, dissector, library [DESTDIR=...] [LIBDIR=...]'
	@echo '  make install-WHAT   one of these: module, provider, tool, dv'
	@echo '  make uml-module     mroce.ko and its KUnit suites for User-Mode Linux'
	@echo '  make deb            Debian packages in build/deb: module source (DKMS), provider, tool'
	@echo '  make docs           Documentation/ as HTML, in build/docs; warnings are errors'
	@echo '  make uninstall      remove what install put there'
	@echo '  make clean          remove build/'
	@echo 'Try (root on Debian 12; nothing else prepared)'
	@echo '  make demo           two hosts in a guest, RDMA between them, and a table'
	@echo '  make bench          how fast it is, beside rxe, siw, TCP and the ceiling, and what is wanted (an idle machine)'
	@echo '  make cost           instructions a message, against budgets (any machine)'
	@echo 'Test (root on Debian 12)'
	@echo '  make test           everything below; ends with "N passed, N failed"'
	@echo '  make kunit          the engine, in User-Mode Linux'
	@echo '  make conform-check  the model of the protocol against itself and judged by the suite; clauses covered; no kernel'
	@echo '  make fuzz           the engine under changed and forged packets, guided by coverage [FUZZ_SECONDS=60 a target]'
	@echo '  make coverage       lines of the engine that its tests run; those that they do not in build/coverage'
	@echo '  make e2e            programs over the device, in both guests [GUESTS=...] [TESTS=...]'
	@echo '  make test-programs  NVMe-oF, RDS, MPI and others over the device [GUESTS=...] [TESTS=...]; no part of make test'
	@echo '  make matrix         the Debian packages: built, installed, tried, upgraded, removed in Debian 12, 13, backports and sid'
	@echo '                      [SUITES=...]; no part of make test'
	@echo '  make interop        two guests with different kernels, joined by virtio-net [SUITES="bookworm trixie"]; no part of make test'
	@echo '  make check          W=1, sparse, checkpatch, shellcheck, the list of rules, the netlink specification: all silent'
	@echo '  make sparse checkpatch shellcheck rules netlink   each of these by itself'
	@echo '  make setup          install and build what the above need'
	@echo 'Variables'
	@echo '  W=1 C=2             as in the kernel;  WERROR=1  warnings are errors'
	@echo '  MROCE_CACHE         downloads and User-Mode Linux builds [~/.cache/mroce]'
	@echo '  RDMA_CORE           an rdma-core source tree for the provider [found in the cache]'

# ---- module

.PHONY: module consumer ceiling sources
sources:
	@if [ -z "$(RELEASE)" ]; then \
		echo "make: no kernel headers in '$(KDIR)': install them (scripts/setup base), or give KDIR=" >&2; exit 1; fi
	@mkdir -p $(OUT) && cp -rsf $(CURDIR)/Kbuild $(CURDIR)/drivers $(CURDIR)/include \
		$(wildcard $(CURDIR)/kunit $(CURDIR)/scripts/consumer $(CURDIR)/scripts/ceiling) $(OUT) && find -L $(OUT) -type l -delete

module: sources
	@echo "mroce.ko for $(RELEASE)$(if $(UML), (User-Mode Linux)), from $(KDIR)"
	@exec 9>$(OUT)/.lock; flock 9; $(KBUILD) modules
	@ln -sf drivers/mroce/mroce.ko $(OUT)/mroce.ko
	@$(if $(KUNIT),ln -sf kunit/mroce_kunit.ko $(OUT)/mroce_kunit.ko)
	@$(if $(CONSUMER),ln -sf consumer/mroce_consumer.ko consumer/mroce_exporter.ko $(OUT))
	@$(if $(CEILING),ln -sf ceiling/mroce_ceiling.ko $(OUT)/mroce_ceiling.ko)

consumer:
	@$(MAKE) module CONSUMER=1

ceiling:
	@$(MAKE) module CEILING=1

# ---- userspace

RDMA_CORE ?=
.PHONY: provider load conform tool dv
provider:
	@tree="$(RDMA_CORE)"; [ -n "$$tree" ] || tree=$$(scripts/setup -p provider); \
	userspace-provider/build.sh "$$tree" $(BUILD)/provider

load:
	@$(MAKE) -C scripts/load O=$(BUILD)/load
	@$(MAKE) -C scripts/attack O=$(BUILD)/attack

conform:
	@$(MAKE) -C conform O=$(BUILD)/conform

tool:
	@$(MAKE) -C userspace-provider/tool O=$(BUILD)/tool

dv:
	@$(MAKE) -C userspace-provider/dv O=$(BUILD)/dv

# ---- install

.PHONY: install install-module install-provider install-tool install-dv uninstall deb docs clean
install: install-module install-provider install-tool install-dv

install-module: module
	install -D -m 0644 $(OUT)/mroce.ko $(MODDIR)/mroce.ko
	$(if $(DESTDIR),,depmod -a $(RELEASE))

install-provider: provider
	@install -d $(PLUGIN_DIR) $(DRIVER_DIR)
	install -m 0644 $(BUILD)/provider/libmroce-rdmav*.so $(PLUGIN_DIR)
	install -m 0644 $(BUILD)/provider/mroce.driver $(DRIVER_DIR)
	install -D -m 0644 userspace-provider/man/mroce.7 $(MANDIR)/man7/mroce.7

install-tool: tool
	install -D -m 0755 $(BUILD)/tool/mroce $(SBINDIR)/mroce
	install -D -m 0644 userspace-provider/man/mroce.8 $(MANDIR)/man8/mroce.8
	install -D -m 0644 userspace-provider/wireshark/mroce.lua $(SHAREDIR)/mroce.lua
	install -D -m 0644 userspace-provider/tool/mroce.bash $(COMPLETIONDIR)/mroce
	install -D -m 0755 userspace-provider/systemd/link $(LIBEXECDIR)/link
	install -D -m 0644 userspace-provider/systemd/mroce@.service $(UNITDIR)/mroce@.service

install-dv: dv
	install -D -m 0644 $(BUILD)/dv/libmroce-dv.so.1.0 $(DESTDIR)$(LIBDIR)/libmroce-dv.so.1.0
	ln -sf libmroce-dv.so.1.0 $(DESTDIR)$(LIBDIR)/libmroce-dv.so.1
	ln -sf libmroce-dv.so.1 $(DESTDIR)$(LIBDIR)/libmroce-dv.so
	install -D -m 0644 userspace-provider/dv/mroce_dv.h $(INCLUDEDIR)/infiniband/mroce_dv.h
	@install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(MANDIR)/man3
	sed 's|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|/usr/include|; s|@VERSION@|1.0|' \
		userspace-provider/dv/mroce-dv.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/mroce-dv.pc
	install -m 0644 userspace-provider/man/mroce_dv_*.3 $(MANDIR)/man3
	install -D -m 0644 userspace-provider/man/mroce_dv.7 $(MANDIR)/man7/mroce_dv.7
	$(if $(DESTDIR),,ldconfig)

uninstall:
	$(if $(RELEASE),,$(error no kernel headers in KDIR=$(KDIR): of which kernel is the module?))
	rm -f $(MODDIR)/mroce.ko $(PLUGIN_DIR)/libmroce-rdmav*.so $(DRIVER_DIR)/mroce.driver \
		$(SBINDIR)/mroce $(SHAREDIR)/mroce.lua $(MANDIR)/man7/mroce.7 $(MANDIR)/man8/mroce.8 \
		$(COMPLETIONDIR)/mroce $(LIBEXECDIR)/link $(UNITDIR)/mroce@.service \
		$(DESTDIR)$(LIBDIR)/libmroce-dv.so* $(DESTDIR)$(LIBDIR)/pkgconfig/mroce-dv.pc \
		$(INCLUDEDIR)/infiniband/mroce_dv.h $(MANDIR)/man3/mroce_dv_*.3 $(MANDIR)/man7/mroce_dv.7
	-rmdir --ignore-fail-on-non-empty $(SHAREDIR) $(LIBEXECDIR)
	$(if $(DESTDIR),,depmod -a $(RELEASE))

# a copy is built, so that what is left behind is not in the way of anything
deb:
	@scripts/deb $(BUILD)/deb

docs:
	@scripts/setup docs
	@sphinx-build -W --keep-going -q -b html Documentation $(BUILD)/docs
	@echo "documentation: no warnings; $(BUILD)/docs/index.html"

clean:
	rm -rf $(BUILD)

# ---- checks

# shim_user.h is the kernel's interface for userspace builds of the engine, libfuzzer.c another's: no kernel code
CHECKED_C = $(filter-out %/shim_user.h fuzz/libfuzzer.c,$(shell git ls-files 'drivers/*.[ch]' 'include/*.h' 'kunit/*.[ch]' 'fuzz/*.[ch]' \
	'scripts/consumer/*.[ch]' 'scripts/ceiling/*.[ch]'))
# Documentation/development.rst says why, of each; the second list is for files that are macros
CHECKPATCH_IGNORE := ALLOC_WITH_SIZEOF,MACRO_ARG_UNUSED,PREFER_DEFINED_ATTRIBUTE_MACRO,TYPO_SPELLING
CHECKPATCH_IGNORE_MACROS := COMPLEX_MACRO,MACRO_ARG_REUSE,SPACING,OPEN_ENDED_LINE,$\
	PARENTHESIS_ALIGNMENT,NEW_TYPEDEFS,CONST_STRUCT
MACROS := $(addprefix drivers/mroce/,compat.h observe/counters.h observe/trace.h transport/reason.h) fuzz/wire.c
.PHONY: check sparse checkpatch shellcheck rules netlink
check: checkpatch shellcheck rules netlink
	@$(MAKE) sparse CONSUMER=1 CEILING=1 KUNIT=
	@$(MAKE) sparse CONSUMER=1 CEILING=1 KUNIT= KDIR=$$(scripts/setup -p headers-6.12)
	@$(MAKE) sparse CONSUMER=1 CEILING=1 KUNIT=1 KDIR=$$(scripts/setup -p uml)

# Every warning that names a file of ours; C=2 checks also what is up to date. Sparse before
# 0.6.5 does not know an operator, read as another one here, nor can it evaluate what 7.x asserts
# about every MODULE_LICENSE() and its like.
sparse: sources
	@log=$(OUT)/sparse.log; exec 9>$(OUT)/.lock; flock 9; \
	$(KBUILD) W=1 C=2 CF=-D__typeof_unqual__=__typeof__ modules >$$log 2>&1 || { cat $$log >&2; exit 1; }; \
	if grep -E '^[^ ]*(drivers/mroce|include/mroce|include/uapi/rdma/mroce|kunit|consumer|ceiling)[^ ]*:[0-9]+.*(warning|error):' $$log | \
		grep -v 'error: bad constant expression$$'; then \
		echo "make: sparse or W=1 has something to say ($$log)" >&2; exit 1; fi
	@echo "sparse, W=1: silent for $(RELEASE)"

checkpatch:
	@src=$$(scripts/setup -p linux-source); \
	check() { perl $$src/scripts/checkpatch.pl --no-tree --strict --terse --show-types \
		--max-line-length=100 --ignore "$$1" --file "$${@:2}"; }; \
	! { check $(CHECKPATCH_IGNORE) $(filter-out $(MACROS),$(CHECKED_C)); \
	    check $(CHECKPATCH_IGNORE),$(CHECKPATCH_IGNORE_MACROS) $(MACROS); } | grep -v '^total: '
	@echo "checkpatch --strict: silent"

shellcheck:
	@shellcheck -x $$(git ls-files scripts .ci userspace-provider | xargs grep -lE '^#!.*(bash|/sh)$$|^# shellcheck shell=')
	@echo "shellcheck: silent"

rules:
	@scripts/check-rules

netlink:
	@scripts/check-netlink

# ---- guests

# as scripts/test has them
GUESTS ?=
TESTS ?=
FUZZ_SECONDS ?= 60
SUITES ?=
.PHONY: setup uml-module kunit conform-check fuzz coverage e2e test test-programs matrix interop demo bench cost
setup:
	@scripts/setup

uml-module:
	@$(MAKE) module KUNIT=1 KDIR=$(UML_KASAN)

kunit:
	@scripts/setup base uml
	@scripts/test kunit

conform-check: conform
	@$(MAKE) -C conform O=$(BUILD)/conform check
	@scripts/conform-soft
	@scripts/conform-coverage

fuzz:
	@scripts/setup fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

coverage:
	@scripts/coverage

e2e:
	@scripts/setup
	@scripts/test $(GUESTS:%=-k %) e2e $(TESTS)

test:
	@scripts/setup
	@scripts/test

test-programs:
	@scripts/setup base provider programs unpacked $(if $(GUESTS),$(filter uml%,$(GUESTS)),uml-programs)
	@scripts/test $(GUESTS:%=-k %) programs $(TESTS)

matrix:
	@scripts/setup base provider deb
	@scripts/matrix $(SUITES)

interop:
	@scripts/setup base provider deb
	@scripts/interop $(SUITES)

bench:
	@scripts/bench

cost:
	@scripts/cost

demo:
	@scripts/demo
