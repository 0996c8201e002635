# One obvious entry for each thing one does with this tree; CMakePresets.json says how, tools/ does the rest.
.PHONY: all everything test check asan tsan fuzz bench clean help

all: build/release/build.ninja  ## build the programs: build/release/bin
	cmake --build --preset release --target programs

everything: build/release/build.ninja  ## the programs, their tests and benches
	cmake --build --preset release

build/%/build.ninja:
	cmake --preset $*

test:  ## all tests; make test T=name builds and runs those with that name
	tools/run-tests --build $(T)
	tools/run-tests --jobs 4 --again $(T)

check:  ## layers, sizes, layout, banned calls, headers, catalogue, conformance, links
	tools/check

asan:  ## build with ASan and UBSan, run all tests (T=name works too)
	tools/run-tests --preset asan --build $(T)
	tools/run-tests --preset asan $(T)

tsan:  ## build with TSan, run the C tests (T=name works too)
	tools/run-tests --preset tsan --only unit --build $(T)
	tools/run-tests --preset tsan --only unit $(T)

fuzz: build/fuzz/build.ninja  ## replay the fuzz corpora; FUZZ_SECONDS=n also fuzzes that long per target
	cmake --build --preset fuzz
	FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run-fuzz

bench: everything  ## run the benches against their budgets
	AR_BIN=$(CURDIR)/build/release/bin bench/run

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)$$/make \1\t\2/p' $(MAKEFILE_LIST) | sed 's/^make all/make    /' | expand -t 14
