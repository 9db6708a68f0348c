# SPDX-License-Identifier: MIT
# Sees to it, before any other file is looked at, that the packages the wanted goals need are here:
# what follows asks the file system for headers while it is read. When all is there it costs some
# milliseconds.

wanted		:= $(or $(MAKECMDGOALS),all)
setup-level	:= $(if $(filter check% test%,$(wanted)),check,$(if $(filter demo% models bench%,$(filter-out demo-llm,$(wanted))),demo,build))
setup-level	+= $(if $(filter guest% modules selftests lint,$(wanted)),guest) \
		   $(if $(filter firmware guest,$(wanted)),firmware)
setup-level	+= $(if $(filter tidy,$(wanted)),tidy) $(if $(filter fuzz%,$(wanted)),fuzz)
# Nothing is installed for `make clean`, `make help` or a dry run.
ifneq ($(filter-out clean distclean help,$(wanted)),)
ifeq ($(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),)
setup-failed	:= $(foreach l,$(setup-level),$(shell CC='$(CC)' scripts/deps.sh $l >&2 || echo $l))
ifneq ($(strip $(setup-failed)),)
$(error packages are missing)
endif
endif
endif

# As many jobs as there are processors, unless the caller says otherwise.
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS	+= -j$(shell nproc)
endif

# Models and pictures live outside $(BUILD): a sanitizer's build uses the same ones.
NPU_MODELS	?= $(CURDIR)/build/models
NPU_ORT		?= $(NPU_MODELS)/ort
export NPU_MODELS NPU_ORT

## make models		fetch the models, pictures and test data
.PHONY: models
models:
	scripts/models.sh all

PICTURE		?= $(NPU_MODELS)/imageTextN.png

## make demo		read the text in a picture (PICTURE=file.jpg; a sample without)
.PHONY: demo
demo: $(BUILD)/npu-ocr
	@scripts/models.sh ocr $(if $(filter $(NPU_MODELS)/%,$(PICTURE)),text)
	$(BUILD)/npu-ocr --annotate $(BUILD)/demo.png $(PICTURE)
	@echo 'The picture with its boxes is $(BUILD)/demo.png; another one: $(BUILD)/npu-ocr picture.jpg'

PROMPT		?= In the beginning

## make demo-llm	a small language model of the tree goes on with PROMPT='In the beginning'
.PHONY: demo-llm
demo-llm: $(BUILD)/kjv.npu $(BUILD)/npu-llm
	@$(BUILD)/npu-llm $< -n 120 -p '$(PROMPT)'
	@echo 'Another: make demo-llm PROMPT="And it came to pass"; $(BUILD)/npu-llm --help has all options.'

$(BUILD)/kjv.npu: models/kjv/kjv-Q8_0.gguf $(BUILD)/npu-compile
	$(BUILD)/npu-compile -q $< -o $@

PREFIX		?= /usr/local
LIBDIR		?= $(PREFIX)/lib
INCLUDEDIR	?= $(PREFIX)/include
BINDIR		?= $(PREFIX)/bin
# Debug information is more than half of every file; INSTALL_STRIP= keeps it.
INSTALL_STRIP	?= -s
# What the public headers include of uapi/ goes with them.
PUBLIC_HEADERS	= $(wildcard libnpu/include/*.h) $(addprefix uapi/npu_,isa.h isa_table.h isa_desc.h)

## make install		library, headers, libnpu.pc and tools below DESTDIR and PREFIX
.PHONY: install
install: lib tools
	install -d $(addprefix $(DESTDIR),$(LIBDIR)/pkgconfig $(INCLUDEDIR)/npu $(BINDIR))
	install -m 644 $(BUILD)/libnpu.a $(DESTDIR)$(LIBDIR)
	$(if $(INSTALL_STRIP),strip --strip-debug $(DESTDIR)$(LIBDIR)/libnpu.a)
	install -m 755 $(INSTALL_STRIP) $(BUILD)/libnpu.so.0 $(DESTDIR)$(LIBDIR)
	ln -sf libnpu.so.0 $(DESTDIR)$(LIBDIR)/libnpu.so
	sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|;s|@LIBS@|$(LIBNPU_LIBS)|' \
		scripts/libnpu.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/libnpu.pc
	install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(INCLUDEDIR)/npu
	$(if $(TOOLS),install -m 755 $(INSTALL_STRIP) $(addprefix $(BUILD)/,$(TOOLS)) \
		$(DESTDIR)$(BINDIR))
	install -m 755 tools/npu-qemu/npu-qemu $(DESTDIR)$(BINDIR)
	install -d $(DESTDIR)$(PREFIX)/share/npu
	install -m 755 scripts/apt-lib.sh $(addprefix scripts/guest-,lib.sh root.sh initrd.sh init) $(DESTDIR)$(PREFIX)/share/npu
	install -m 644 driver/70-npu.rules $(DESTDIR)$(PREFIX)/share/npu
