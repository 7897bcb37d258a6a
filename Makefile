# make                          the programs, in this folder
# make test                     all tests, in parallel: test-float and test-proof (the suites in
#                               float and double), test-gradcheck, test-programs, test-experiments,
#                               test-install
# make test SAN=address,undefined    the same under sanitizers (SAN=thread)
# make check-quick              tests that take a minute: float, without the slowest suites
# make check-full               make test, faults, kills, abuse, same, portability, tests/browser.sh
# make faults                   allocations and file operations fail, one at a time
# make kills                    a run is killed 200 times while saving (KILLS=20)
# make abuse                    command lines, texts, limits and disks of every kind
# make same                     whatever may not matter does not: threads, memory, where a run is resumed
# make peers                    Python's libraries open what the programs write, and the reverse; those
#                               that are not here are skipped (torch, transformers, tokenizers,
#                               safetensors, tensorboard, fla); a quarter of an hour
# make coverage                 the shares of lines and branches that tests run (gcov)
# make portability              other processors, in emulation, and musl (ONLY="s390x musl")
# make valgrind                 the programs under Valgrind (ATTN="softmax relu": with these only)
# make fuzz SECONDS=60          fuzzes the file readers (clang); FUZZ="json csv": only these
# make mutants                  plants bugs one at a time; the tests must detect each
# make lib                      the library; make install, make dist: see tools/install.mk
# make reproduce DATA=folder    the experiments whose results are missing (QUICK=1: a tiny version)
# make lint                     formatting, direction of includes, leftovers
# make ARCH=x86-64              a binary for any machine of that kind
# make V=1                      shows the commands
ifeq ($(origin CC),default)
CC     = cc
endif
ARCH   = native
CFLAGS ?= -O3 -g
SAN    =
.DEFAULT_GOAL = all
# One job more for the tests, because some of them wait.
MAKEFLAGS += -j$(or $(JOBS),$(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + $(words $(filter test,$(MAKECMDGOALS)))))))
# Tests run in parallel; the output of each is printed when it ends.
MAKEFLAGS += $(if $(filter test%,$(MAKECMDGOALS)),$(if $(filter output-sync,$(.FEATURES)),-Otarget))

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
       -Wdouble-promotion -Wfloat-conversion -Wvla -Wundef -Wwrite-strings -Wno-psabi
# -ffp-contract=fast lets a*b+c be one instruction, which -std=c11 disables; the other two promise that
# errno and the floating-point flags are not read. None of them reorders a sum.
MATH = -ffp-contract=fast -fno-math-errno -fno-trapping-math
# Programs and library share their objects; the library exports only attnc_...; as fast as -fPIE.
HIDE = -fPIC -fvisibility=hidden
# By default clang uses pairs of 32-byte vectors instead of 64-byte ones, which is three times slower;
# gcc computes floats in double on s390x, and its vectors do not mix with these.
CLANG := $(findstring clang,$(shell $(CC) --version))
WIDE  := $(if $(CLANG),$(if $(filter x86_64,$(shell uname -m)),-mprefer-vector-width=512),-fexcess-precision=fast)
# The x87 unit of 32-bit processors rounds elsewhere, and sums may not be reordered, whatever CFLAGS say.
TARGET := $(shell $(CC) -dumpmachine)
MATH += $(if $(filter i386-% i486-% i586-% i686-%,$(TARGET)),-msse2 -mfpmath=sse)
# Files beyond 2 GB and the year 2038. MemorySanitizer does not know fstat64().
LARGE = $(if $(filter memory,$(SAN)),,-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64)
ALL  = -std=c11 -D_POSIX_C_SOURCE=200809L $(LARGE) -I. -pthread -MMD -MP $(HIDE) $(WARN) $(MATH) $(WIDE) $(CFLAGS) \
       -fno-associative-math -march=$(ARCH) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)

PROGRAMS = train eval analyse sample fill classify bench attend tokenize export import report figure
DOUBLE   = gradcheck attend64
FUZZ     = checkpoint csv json labels log options tokenizer
LIB      = $(wildcard $(patsubst %,%/*.c,ops ops/base ops/kernel ops/attention ops/attention/engine \
             ops/attention/plain model data data/synthetic training tools/common tools/draw))
TESTED   = report bench figure fill import
TESTS    = $(wildcard tests/*.c) $(filter-out $(foreach p,$(TESTED),tools/$(p)/$(p).c), \
             $(wildcard $(patsubst %,tools/%/*.c,$(TESTED)))) $(LIBRARY)
OUT      = build/$(subst $(space),_,$(notdir $(CC)))-$(ARCH)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma    = ,
space    = $(subst ,, )
objects  = $(patsubst %.c,$(OUT)/$(1)/%.o,$(2))
PROOF    = $(call objects,proof,$(TESTS) $(LIB))

include tools/install.mk

SAY = $(if $(V),,@echo "  $@"; )

all: $(PROGRAMS) $(DOUBLE)

# Linked next to its objects, so that changing CC, ARCH or SAN never leaves a stale program in the root.
$(PROGRAMS) $(DOUBLE): %: $(OUT)/%.linked force
	@cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; } # also while it runs
# A program is tools/NAME.c, or all of tools/NAME/; those in double are built like the proof build.
define program
$(OUT)/$(1).linked: $(call objects,$(2),$(wildcard tools/$(3).c tools/$(3)/*.c) $(LIB))
	$$(SAY)$$(CC) $$(ALL) $$^ -lm -o $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p),float,$(p))))
$(foreach p,$(DOUBLE),$(eval $(call program,$(p),proof,$(p:64=))))
# ./export contains the Python files that it writes.
$(OUT)/export.linked: $(patsubst %.py,$(OUT)/%.o,$(wildcard tools/export/*.py))

# The test process forks often; this limits the freed memory that its sanitizer keeps.
export ASAN_OPTIONS ?= quarantine_size_mb=8

# The slowest first. Suites also run programs; SUITES="ops model" runs only these. Without programs
# (PROGRAMS= DOUBLE=) the other suites are not even compiled.
START := $(shell date +%s)
test: test-proof test-programs test-float test-fuzz test-gradcheck $(if $(SAN),,test-experiments test-install)
	@echo "all passed in $$(($$(date +%s) - $(START))) s"
test-float test-proof: test-%: $(OUT)/%/$(or $(and $(SUITES),$(if $(PROGRAMS),,alone)),check) all
	$(if $(SUITES),for suite in $(SUITES); do CK_RUN_SUITE=$$suite $< || exit; done,$<)
test-gradcheck: all # a sample; ./gradcheck checks every derivative
	./gradcheck --elements 2
test-programs: all
	tests/programs.sh
	tests/numbers.sh
	tests/effects.sh
	! command -v python3 >/dev/null || python3 tests/tensorboard.py
	! command -v python3 >/dev/null || \
	    python3 -c 'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]' tools/export/*.py tests/*.py
test-experiments: all
	tests/experiments.sh
test-install: all lib
	CC='$(CC)' ARCH='$(ARCH)' tests/install.sh
peers: all
	for name in tensorboard tokenizers import export fla; do python3 tests/$$name.py || exit; done

test-fuzz: $(FUZZ:%=$(OUT)/fuzz/%)
	@for name in $(FUZZ); do corpus=$(OUT)/fuzz/$$name.corpus; rm -rf $$corpus && \
	    tests/fuzz/unpack tests/fuzz/corpus/$$name.base64 $$corpus && \
	    $(OUT)/fuzz/$$name $$corpus/* || exit; done

faults: all
	CC='$(CC)' tests/faults.sh
kills: all
	tests/kills.sh
abuse: all $(OUT)/fuzz/flips
	CC='$(CC)' FLIPS=$(OUT)/fuzz/flips tests/abuse.sh
same: all
	tests/same.sh
portability: all
	tests/portability.sh
# With vectors that Valgrind knows.
valgrind:
	$(MAKE) ARCH=x86-64-v3 CFLAGS='-O1 -g' valgrind-now
valgrind-now: $(patsubst %,$(OUT)/%.linked,$(PROGRAMS) $(DOUBLE))
	ROOT=$(OUT) tests/valgrind.sh
coverage:
	$(MAKE) OUT=build/coverage CFLAGS='-O1 -g --coverage -fprofile-update=atomic -Wl,-u,__gcov_dump' covered
	tests/coverage.sh build/coverage
covered: $(OUT)/float/check all
	find $(OUT) -name '*.gcda' -delete
	umask 0; EVERY_SUITE=1 CK_TIMEOUT_MULTIPLIER=20 $< # other users write counters, too
	umask 0; tests/programs.sh && tests/numbers.sh
check-full: test faults kills abuse same portability
	tests/browser.sh

LONG  = attention promises masks tape headers
QUICK_SUITES = $(filter-out $(LONG),$(shell sed -n 's/^ *\(ROW\|ONCE\)(\([a-z0-9]*\)).*/\2/p' tests/suites.h))
check-quick: $(OUT)/float/check all
	@printf '%s\n' $(QUICK_SUITES) | xargs -n 1 -P $(or $(JOBS),2) sh -c \
	    'said=$$(CK_RUN_SUITE=$$1 $$0 2>&1); code=$$?; printf "%s\n" "$$said"; exit $$code' $<
	@echo "all passed in $$(($$(date +%s) - $(START))) s"

# With libFuzzer's main, or with one that replays files. tests/fuzz/fuzz.h explains the wrapped functions.
REPLACED = die exit warn file_read malloc realloc aligned_alloc free
fuzzer   = $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer)
$(FUZZ:%=$(OUT)/fuzz/%): $(OUT)/fuzz/%: $(OUT)/float/tests/fuzz/%.o $(call objects,float,tests/fuzz/fuzz.c tests/hashes.c $(LIB)) \
    $(if $(fuzzer),,$(OUT)/float/tests/fuzz/replay.o)
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) $(fuzzer) $^ $(REPLACED:%=-Wl,--wrap=%) \
	    $(if $(findstring checkpoint,$@),-Wl$(comma)--wrap=file_replace_keeping) -lm -o $@
$(OUT)/fuzz/flips: $(call objects,float,tests/fuzz/flips.c tests/fuzz/fuzz.c $(LIB))
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) $^ $(REPLACED:%=-Wl,--wrap=%) -lm -o $@
fuzz:
	$(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined fuzz-now
fuzz-now: $(FUZZ:%=$(OUT)/fuzz/%)
	@for name in $(FUZZ); do out=build/fuzz/$$name; echo "$$name:" && \
	    tests/fuzz/unpack tests/fuzz/corpus/$$name.base64 $$out.corpus && mkdir -p $$out && \
	    ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8 $(OUT)/fuzz/$$name \
	    -max_total_time=$(or $(SECONDS),60) -max_len=16384 -timeout=10 -artifact_prefix=$$out- \
	    -dict=tests/fuzz/words $$out $$out.corpus >/dev/null 2>$$out.log || \
	    { tail -n 40 $$out.log; exit 1; }; grep 'DONE' $$out.log; done

# Optimising the tests themselves would take longer than it saves.
$(OUT)/float/tests/%.o $(OUT)/proof/tests/%.o: ALL += -O1
CHECK = $$(pkg-config --libs check 2>/dev/null || echo -lcheck -lsubunit -lrt)
FRONT = -Wl,--wrap=readdir -Wl,--wrap=readdir64 # tests/calls.c
$(OUT)/%/check: | needs-check
	$(SAY)$(CC) $(ALL) $(filter %.o,$^) $(FRONT) $(CHECK) -lm -o $@
$(OUT)/float/check: $(call objects,float,$(TESTS) $(LIB))
$(OUT)/proof/check: $(PROOF)
# The same with only the tests of SUITES, and the shared files that they need.
ALONE  = $(SUITES:%=tests/test_%.c) $(LIB)
SHARED = $(filter-out tests/main.c tests/test_%.c,$(wildcard tests/*.c))
$(OUT)/float/alone: $(call objects,float,$(ALONE)) $(OUT)/float/shared.a
$(OUT)/proof/alone: $(call objects,proof,$(ALONE)) $(OUT)/proof/shared.a
$(OUT)/%/alone: tests/main.c force | needs-check
	$(SAY)$(CC) $(ALL) $(if $(findstring proof,$*),-DPROOF) '-DSUITES(ROW, ONCE)=$(patsubst %,ROW(%),$(SUITES))' \
	    $< $(filter $(OUT)/$*/tests/%,$^) $(filter %.a,$^) $(filter-out $(OUT)/$*/tests/%,$(filter %.o,$^)) $(FRONT) $(CHECK) -lm -o $@
$(OUT)/float/shared.a: $(call objects,float,$(SHARED))
$(OUT)/proof/shared.a: $(call objects,proof,$(SHARED))
$(OUT)/%/shared.a:
	@rm -f $@
	@ar rc $@ $^

# ONLY=ops/norm.c, a folder or the name of a bug tries only these, PART=2/3 a third of them, BUDGET=600
# those that can be started in 600 seconds, SEED=text in a random order; JOBS=1 leaves a processor free.
mutants: $(OUT)/proof/check all # some tests run programs
	@CC='$(CC)' FLAGS='$(ALL) -DPROOF' LIBS="$(FRONT) $(CHECK) -lm" OUT=$(OUT)/mutants \
	    ONLY='$(ONLY)' PART=$(PART) SEED='$(SEED)' BUDGET=$(BUDGET) JOBS=$(JOBS) \
	    tests/mutants.sh $(PROOF)

reproduce: all
	@$(if $(QUICK),rm -rf build/quick)
	@$(MAKE) --no-print-directory -f experiments/Makefile

lint:
	@sh tests/lint.sh
format:
	clang-format -i $$(git ls-files --cached --others --exclude-standard '*.c' '*.h')
readme: train
	sh tests/readme.sh >build/README.md && cp build/README.md README.md

needs-check:
	@echo '#include <check.h>' | $(CC) -E - >/dev/null 2>&1 || { echo "make test needs the library Check:" \
	    "apt-get install check" >&2; exit 1; }

# One object contains the commit, and is recompiled when it changes.
COMMIT := $(if $(wildcard .git),$(shell GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --abbrev=12 \
            --exclude='*' 2>/dev/null))
FACTS   = -DCOMMIT='"$(COMMIT)"' -DFLAGS='"$(subst ",\",$(CFLAGS) -march=$(ARCH)$(SAN:%= -fsanitize=%))"'
BUILD   = $(OUT)/float/tools/common/build.o $(OUT)/proof/tools/common/build.o
$(BUILD): ALL += $(FACTS)
$(BUILD): $(OUT)/commit
$(OUT)/commit: force
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
$(OUT)/float/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) -c $< -o $@
$(OUT)/proof/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) -DPROOF -c $< -o $@

# An array NAME_py with the bytes of NAME.py and a final 0.
$(OUT)/%.o: %.py Makefile
	@mkdir -p $(@D)
	@{ echo 'extern const unsigned char $(*F)_py[];'; echo 'const unsigned char $(*F)_py[] = {'; \
	   od -An -v -tx1 $< | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0 };'; } >$(@:.o=.c)
	$(SAY)$(CC) $(ALL) -c $(@:.o=.c) -o $@

.SECONDARY: # keep every object: linking again should not compile again

clean:
	rm -rf build $(PROGRAMS) $(DOUBLE)

.PHONY: all force test test-fuzz fuzz fuzz-now check-quick test-float test-proof test-gradcheck test-programs test-experiments test-install peers faults kills abuse same portability valgrind valgrind-now coverage covered check-full mutants reproduce lint format readme needs-check clean
-include $(wildcard $(patsubst %,$(OUT)/*/%.d,* */* */*/* */*/*/*))
