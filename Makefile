# make                          the programs, in this folder
# make test                     all tests, side by side: test-float and test-proof (the suites in
#                               float and double), test-gradcheck, test-programs, test-experiments
# make test SAN=address,undefined    the same under sanitizers (SAN=thread)
# make mutants                  plants bugs one at a time; the tests must notice each
# make reproduce DATA=folder    the experiments, as far as results are missing (QUICK=1: a tiny version)
# make lint                     format, direction of includes, leftovers
# make ARCH=x86-64              a binary for any machine of that kind
# make V=1                      shows the commands
CC     = cc
ARCH   = native
CFLAGS ?= -O3 -g
SAN    =
MAKEFLAGS += -j$(or $(JOBS),$(shell getconf _NPROCESSORS_ONLN))
# Tests run at the same time; each one's output comes in one piece, when it ends.
MAKEFLAGS += $(if $(filter test%,$(MAKECMDGOALS)),$(if $(filter output-sync,$(.FEATURES)),-Otarget))

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
       -Wdouble-promotion -Wfloat-conversion -Wvla -Wundef -Wwrite-strings -Wno-psabi
# -ffp-contract=fast lets a*b+c be one instruction, which -std=c11 disables; the other two promise that
# errno and the floating point flags are not read. None of them reorders a sum.
MATH = -ffp-contract=fast -fno-math-errno -fno-trapping-math
# By default clang uses pairs of 32-byte vectors instead of 64-byte ones, which is three times slower.
WIDE := $(if $(findstring clang,$(shell $(CC) --version)),$(if $(filter x86_64,$(shell uname -m)),\
        -mprefer-vector-width=512))
ALL  = -std=c11 -D_POSIX_C_SOURCE=200809L -I. -pthread -MMD -MP $(WARN) $(MATH) $(WIDE) $(CFLAGS) \
       -march=$(ARCH) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)

PROGRAMS = train eval analyse sample bench attend tokenize export report figure
DOUBLE   = gradcheck attend64
LIB      = $(wildcard $(patsubst %,%/*.c,ops ops/base ops/kernel ops/attention ops/attention/engine \
             ops/attention/plain model data data/synthetic training tools/common tools/draw))
TESTS    = $(wildcard tests/*.c) $(filter-out $(foreach p,report bench figure,tools/$(p)/$(p).c), \
             $(wildcard tools/report/*.c tools/bench/*.c tools/figure/*.c))
OUT      = build/$(notdir $(CC))-$(ARCH)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma    = ,
objects  = $(patsubst %.c,$(OUT)/$(1)/%.o,$(2))
PROOF    = $(call objects,proof,$(TESTS) $(LIB))

SAY = $(if $(V),,@echo "  $@"; )

all: $(PROGRAMS) $(DOUBLE)

# Linked next to its objects, so that changing CC, ARCH or SAN never leaves a stale program in the root.
$(PROGRAMS) $(DOUBLE): %: $(OUT)/%.linked force
	@cmp -s $< $@ || cp $< $@
# A program is tools/NAME.c, or all of tools/NAME/; those in double are built like the proof.
define program
$(OUT)/$(1).linked: $(call objects,$(2),$(wildcard tools/$(3).c tools/$(3)/*.c) $(LIB))
	$$(SAY)$$(CC) $$(ALL) $$^ -lm -o $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p),float,$(p))))
$(foreach p,$(DOUBLE),$(eval $(call program,$(p),proof,$(p:64=))))

# The test process forks often: limits the freed memory that its sanitizer keeps.
export ASAN_OPTIONS ?= quarantine_size_mb=8

# The longest first. Suites also run programs; SUITES="ops model" runs only these.
START := $(shell date +%s)
test: test-proof test-programs test-float test-gradcheck $(if $(SAN),,test-experiments)
	@echo "all passed in $$(($$(date +%s) - $(START))) s"
test-float test-proof: test-%: $(OUT)/%/check all
	$(if $(SUITES),for suite in $(SUITES); do CK_RUN_SUITE=$$suite $< || exit; done,$<)
test-gradcheck: all
	./gradcheck
test-programs: all
	tests/programs.sh
test-experiments: all
	tests/experiments.sh

$(OUT)/%/check: | needs-check
	$(SAY)$(CC) $(ALL) $(filter %.o,$^) $$(pkg-config --libs check) -lm -o $@
$(OUT)/float/check: $(call objects,float,$(TESTS) $(LIB))
$(OUT)/proof/check: $(PROOF)

# ONLY=ops/norm.c, a folder or the name of a bug tries these alone, PART=2/3 a third of them, BUDGET=600
# what can be started in 600 seconds, SEED=text in a random order; JOBS=1 leaves a processor free.
mutants: $(OUT)/proof/check
	@CC='$(CC)' FLAGS='$(ALL) -DPROOF' LIBS="$$(pkg-config --libs check) -lm" OUT=$(OUT)/mutants \
	    ONLY='$(ONLY)' PART=$(PART) SEED='$(SEED)' BUDGET=$(BUDGET) JOBS=$(JOBS) \
	    tests/mutants.sh $(PROOF)

reproduce: all
	@$(if $(QUICK),rm -rf build/quick)
	@$(MAKE) --no-print-directory -f experiments/Makefile

lint:
	@sh tests/lint.sh
format:
	clang-format -i $$(git ls-files '*.c' '*.h')
readme: train
	sh tests/readme.sh >build/README.md && cp build/README.md README.md

needs-check:
	@pkg-config --exists check || { echo "make test needs the library Check and pkg-config:" \
	    "apt-get install check pkg-config" >&2; exit 1; }

$(OUT)/float/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) -c $< -o $@
$(OUT)/proof/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY)$(CC) $(ALL) -DPROOF -c $< -o $@

.SECONDARY: # keep every object: linking again should not compile again

clean:
	rm -rf build $(PROGRAMS) $(DOUBLE)

.PHONY: all force test test-float test-proof test-gradcheck test-programs test-experiments mutants reproduce lint format readme needs-check clean
-include $(wildcard $(patsubst %,$(OUT)/*/%.d,* */* */*/* */*/*/*))
