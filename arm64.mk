# Cross-build for aarch64, and its tests under emulation. Everything goes to build/arm64; included by the Makefile.
# The distribution's arm64 headers and libraries lie in a sysroot of their own (scripts/arm64_sysroot.sh).
ARM64_BUILD   := build/arm64
ARM64_SYSROOT := $(CURDIR)/$(ARM64_BUILD)/sysroot
ARM64_TRIPLET := aarch64-linux-gnu

# The linker looks for a library's own libraries only where it is told to.
arm64_link := -Wl,-rpath-link,$(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET)
arm64_pkg_config := env PKG_CONFIG_SYSROOT_DIR=$(ARM64_SYSROOT) \
	PKG_CONFIG_LIBDIR=$(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET)/pkgconfig pkg-config
arm64_make = $(MAKE) --no-print-directory ARCH=aarch64 BUILD=$(ARM64_BUILD) \
	CC='$(ARM64_TRIPLET)-gcc --sysroot=$(ARM64_SYSROOT)' CXX='$(ARM64_TRIPLET)-g++ --sysroot=$(ARM64_SYSROOT)' \
	LDFLAGS='$(arm64_link)' PKG_CONFIG='$(arm64_pkg_config)'

.PHONY: arm64 arm64-unit arm64-sysroot test-arm64 test-arm64-vm
arm64: arm64-sysroot ## cross-build for aarch64 into build/arm64
	+$(arm64_make) all host

# All unit tests, or the programs in UNIT_TARGETS.
arm64-unit: arm64-sysroot
	+$(arm64_make) $(or $(UNIT_TARGETS),unit)

arm64-sysroot:
	scripts/arm64_sysroot.sh $(ARM64_SYSROOT)

test-arm64: ## aarch64 under emulation and in a virtual machine: scripts/test_arm64.sh
	scripts/test_arm64.sh

test-arm64-vm: ## its second half: scripts/test_arm64_vm.sh
	scripts/test_arm64_vm.sh
