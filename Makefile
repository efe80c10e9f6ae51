# `make help` says what there is. CMake does the building; this is the short way to it.

SHELL := /bin/bash
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
DEPS ?= build test
SECONDS ?= 3600
TIME ?= 60
KEEP ?= 0
CTEST_FLAGS ?= --output-on-failure
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)

.PHONY: run soak differential test test-long test-ech build openssl4 fast-crypto deps deps-undo bench bench-rivals fuzz lint format sanitize clean help

help:
	@echo "make run           install what is missing, build, and start pqedge on localhost"
	@echo "make test          install what is missing, build, and run the tests"
	@echo "make build         build build/pqedge and build/pqcost; never installs anything"
	@echo "make openssl4      download OpenSSL 4 into build/openssl4; 'make build OPENSSL_PREFIX=..."
	@echo "                   builds build/with-openssl/pqedge against it: Encrypted Client Hello"
	@echo "make test-ech      build that one, and run the tests of Encrypted Client Hello"
	@echo "make fast-crypto   build build/pqedge-fast.so: fast ML-KEM and X25519, of AWS-LC's sources"
	@echo "make deps          only install what building and testing need (YES=1 asks nothing);"
	@echo "                   DEPS=\"build test bench dev\" chooses, DEPS=all takes all"
	@echo "make deps-undo     remove the apt sources and pins that 'make deps' added"
	@echo "make test-long     the tests that take long, or much memory"
	@echo "make soak          an hour of load, faults, reloads and upgrades; SECONDS=300 makes it shorter"
	@echo "make differential  HTTP/1.1 against nginx, HAProxy, Node and llhttp: ten minutes of made cases"
	@echo "make sanitize      the whole suite under ASan with UBSan, then under TSan"
	@echo "make bench         measure pqedge beside its rivals"
	@echo "make bench-rivals  install the rivals that 'make bench' measures, under build/"
	@echo "make fuzz          build the fuzz targets for libFuzzer, and run each for TIME=60 seconds;"
	@echo "                   TARGET=\"client_hello exchange\" chooses, TIME=0 only builds"
	@echo "make lint          formatting, layout and scripts; LINT_TIDY=1 adds clang-tidy"
	@echo "make format        format the sources in place"
	@echo "make clean         remove build/"

deps:
	@tools/deps.sh $(DEPS)

deps-undo:
	@tools/deps.sh undo

# Configured once; the build itself notices changed and added files.
build/build.ninja:
	@tools/configure.sh release

ifneq ($(OPENSSL_PREFIX),)
# Against another OpenSSL than the system's, in a folder of its own: the default build stays.
build:
	@tools/configure.sh release -B build/with-openssl -DPQEDGE_OPENSSL_PREFIX="$(abspath $(OPENSSL_PREFIX))"
	@cmake --build build/with-openssl --target pqedge
else
build: build/build.ninja
	@cmake --build build --target programs
endif

openssl4:
	@tools/openssl4.sh build/openssl4

test-ech:
	@tools/deps.sh build test
	@tools/openssl4.sh build/openssl4
	@$(MAKE) --no-print-directory build OPENSSL_PREFIX=build/openssl4
	@cmake --build build/with-openssl --target unit_crypto
	@build/with-openssl/tests/unit_crypto --gtest_brief=1
	@PQEDGE_BIN=$(CURDIR)/build/with-openssl/pqedge PQEDGE_SRC=$(CURDIR) PYTHONPATH=tests/integration \
	  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/openssl4/test_ech.py

fast-crypto:
	@tools/fast_crypto.sh build/fast-crypto
	@tools/configure.sh release
	@cmake --build build --target pqedge_fast

run:
	@tools/deps.sh build
	@$(MAKE) --no-print-directory build
	@exec build/pqedge

# One run of ctest closes on everything: the release build registers the tests of the sanitizer
# builds by the path of their programs.
test:
	@tools/deps.sh build test
	@tools/configure.sh release -DPQEDGE_REQUIRE_TESTS=ON -DPQEDGE_SANITIZER_TESTS=ON
	@cmake --build build
	@tools/configure.sh asan -DPQEDGE_REQUIRE_TESTS=ON
	@cmake --build build/asan --target sanitizer_tests
	@tools/configure.sh tsan -DPQEDGE_REQUIRE_TESTS=ON
	@cmake --build build/tsan --target sanitizer_tests
	@ctest --test-dir build --label-exclude '^long$$' $(CTEST_FLAGS)

test-long:
	@tools/deps.sh build test
	@tools/configure.sh release -DPQEDGE_REQUIRE_TESTS=ON
	@cmake --build build
	@ctest --test-dir build --label-regex '^long$$' --parallel 1 $(CTEST_FLAGS)

soak:
	@tools/deps.sh build test
	@tools/configure.sh release
	@cmake --build build --target pqedge pqload
	@PQEDGE_BIN=$(CURDIR)/build/pqedge PQLOAD_BIN=$(CURDIR)/build/pqload PYTHONDONTWRITEBYTECODE=1 \
	  /usr/bin/python3 tests/long/soak.py --seconds $(SECONDS) $(SOAK_FLAGS)

# Ten minutes, unless SECONDS is set: its default above is that of the soak test.
differential:
	@tools/deps.sh build test
	@tools/configure.sh release
	@cmake --build build --target pqedge
	@PQEDGE_BIN=$(CURDIR)/build/pqedge PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/differential/run.py \
	  --seconds $(if $(filter file,$(origin SECONDS)),600,$(SECONDS)) $(DIFFERENTIAL_FLAGS)

sanitize:
	@tools/deps.sh build test
	@tools/sanitize.sh $(CTEST_FLAGS)

bench:
	@tools/deps.sh build test bench
	@tools/configure.sh release
	@cmake --build build --target bench_programs
	@/usr/bin/python3 bench/run.py $(BENCH_FLAGS)

bench-rivals:
	@tools/deps.sh bench
	@bench/rivals.sh

fuzz:
	@tools/deps.sh build test dev
	@tools/configure.sh fuzz
	@cmake --build build/fuzz --target $(if $(TARGET),$(addprefix fuzz_,$(TARGET)),fuzzers)
	@if [ "$(TIME)" != 0 ]; then TIME=$(TIME) KEEP=$(KEEP) tools/fuzz.sh $(TARGET); fi

lint:
	@tools/lint.sh

format:
	@find src tests bench -type f \( -name '*.cc' -o -name '*.h' \) -print0 | xargs -0 clang-format-19 -i

# Not across mounts: the rivals' root under build/ may have some.
clean:
	@rm -rf --one-file-system build
