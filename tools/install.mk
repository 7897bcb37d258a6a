# The library, installation and the source archive.
#
#     make lib                              libattnc.a and libattnc.so, in build/
#     make install PREFIX=/usr/local        programs, library, header, manual pages, completion
#     make install DESTDIR=folder           the same below a folder, for packages
#     make uninstall                        removes them, with the same variables
#     make dist                             attnc-VERSION.tar.gz of the last commit
#
# The names of programs are common words, so they are installed as attnc-train, attnc-eval, ...
PREFIX         = /usr/local
PROGRAM_PREFIX = attnc-
bindir         = $(PREFIX)/bin
libdir         = $(PREFIX)/lib
includedir     = $(PREFIX)/include
datadir        = $(PREFIX)/share

VERSION := $(shell sed -n 's/^.define ATTNC_VERSION "\(.*\)"/\1/p' tools/lib/attnc.h)
SONAME   = libattnc.so.0
LIBRARY  = $(wildcard tools/lib/*.c) tools/train/choices.c
OBJCOPY  = $(or $(shell $(CC) -print-prog-name=objcopy),objcopy)

lib: $(OUT)/libattnc.a $(OUT)/$(SONAME)

# The members that the library needs, as one object, in which only attnc_... is visible.
$(OUT)/libattnc.a: $(call objects,float,$(LIBRARY) $(LIB))
	@rm -f $@ $(OUT)/members.a && $(AR) rc $(OUT)/members.a $(call objects,float,$(LIB))
	$(SAY)$(CC) -r -nostdlib $(call objects,float,$(LIBRARY)) $(OUT)/members.a -o $(OUT)/attnc.o
	@$(OBJCOPY) --localize-hidden $(OUT)/attnc.o
	@$(AR) rc $@ $(OUT)/attnc.o
$(OUT)/$(SONAME): $(OUT)/libattnc.a
	$(SAY)$(CC) $(ALL) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs $(OUT)/attnc.o -lm -o $@
	@ln -sf $(SONAME) $(OUT)/libattnc.so

INSTALLED = $(addprefix $(PROGRAM_PREFIX),$(PROGRAMS) $(DOUBLE))
to        = $(DESTDIR)$(1)
bash_dir  = $(datadir)/bash-completion/completions
zsh_dir   = $(datadir)/zsh/site-functions
fish_dir  = $(datadir)/fish/vendor_completions.d
doc_dir   = $(datadir)/doc/attnc

# Programs print their own pages, under the name that they were installed with.
install: all lib
	install -d '$(call to,$(bindir))' '$(call to,$(libdir))/pkgconfig' '$(call to,$(includedir))' \
	    '$(call to,$(datadir))/man/man1' '$(call to,$(bash_dir))' '$(call to,$(zsh_dir))' \
	    '$(call to,$(fish_dir))' '$(call to,$(doc_dir))/examples'
	@set -e; for p in $(PROGRAMS) $(DOUBLE); do name=$(PROGRAM_PREFIX)$$p; \
	    echo "$(call to,$(bindir))/$$name"; \
	    install -m 755 $$p "$(call to,$(bindir))/$$name"; \
	    page() { "$(call to,$(bindir))/$$name" --print $$1 >"$$2"; chmod 644 "$$2"; }; \
	    page man "$(call to,$(datadir)/man/man1)/$$name.1"; \
	    page bash "$(call to,$(bash_dir))/$$name"; \
	    page zsh "$(call to,$(zsh_dir))/_$$name"; \
	    page fish "$(call to,$(fish_dir))/$$name.fish"; \
	done
	install -m 644 $(OUT)/libattnc.a '$(call to,$(libdir))'
	install -m 755 $(OUT)/$(SONAME) '$(call to,$(libdir))'
	ln -sf $(SONAME) '$(call to,$(libdir))/libattnc.so'
	install -m 644 tools/lib/attnc.h '$(call to,$(includedir))'
	@sed 's|@prefix@|$(PREFIX)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
	    tools/lib/attnc.pc.in >'$(call to,$(libdir))/pkgconfig/attnc.pc'
	@chmod 644 '$(call to,$(libdir))/pkgconfig/attnc.pc'
	install -m 644 LICENSE '$(call to,$(doc_dir))'
	install -m 644 $(wildcard doc/examples/*.*) '$(call to,$(doc_dir))/examples'

uninstall:
	rm -f $(foreach p,$(INSTALLED),'$(call to,$(bindir))/$(p)' '$(call to,$(datadir)/man/man1)/$(p).1' \
	    '$(call to,$(bash_dir))/$(p)' '$(call to,$(zsh_dir))/_$(p)' '$(call to,$(fish_dir))/$(p).fish') \
	    $(foreach f,libattnc.a $(SONAME) libattnc.so pkgconfig/attnc.pc,'$(call to,$(libdir))/$(f)') \
	    '$(call to,$(includedir))/attnc.h'
	rm -rf '$(call to,$(doc_dir))'

# git sorts the files and gives them the time of the commit; gzip -n leaves the time out.
dist:
	git archive --prefix=attnc-$(VERSION)/ HEAD | gzip -9n >attnc-$(VERSION).tar.gz

.PHONY: lib install uninstall dist
