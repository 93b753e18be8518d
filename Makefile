# What a developer types; each target installs what it needs. `make help` lists them. Settings, as in `make run PORT=0`,
# are in the environment of what a target runs.

PYTEST_ARGS ?=
# Its guest is given a fortnight.
LIFE_IN_LAB = LAB_TIMEOUT=1209600 tests/lab/run $(if $(JOINS),tests/lab/test_lossy_air.py) $(if $(LAB),tests/lab/test_random_life.py)
# Random requests, and random sequences of events in virtual time.
REQUESTS = tests/http/test_schemathesis.py tests/http/test_bad_input.py
MACHINES = $(addprefix tests/,daemon/manager/test_any_life.py daemon/manager/test_any_sleep.py domain/test_allocator_machine.py \
	mavlink/test_components.py mavlink/test_armed.py \
	domain/test_group_machine.py domain/test_allocator_choice.py simulator/test_story.py)
# Files, texts and pictures of any content.
READERS = tests/faults/test_reader_fuzz.py tests/browser/test_jpeg_size.py tests/browser/test_wifi_text.py

.DEFAULT_GOAL := help
.PHONY: help run check test test-all system lab bench soak lint site deb repository clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: ## message bus, daemon and HTTP shim in the foreground (PORT= STATE= SCENARIO= CONFIG= BACKEND= WATCHDOG=)
	@tools/set-up run >&2
	@exec .venv/bin/python tools/run_hub.py

check: ## the first minute: ruff, mypy, import rules, the tests of what needs neither bus nor root
	@tools/set-up check
	@tools/check

test: ## lint, most of the suite, the package in a booted Debian 12, each promise on real 802.11 (10 minutes)
	@tools/set-up test
	@tools/test

test-all: ## the rest of what must pass: Debian 13, all of the lab, another D-Bus library and message bus
	@tools/set-up test-all
	@tools/test-all

lab: ## only the tests on real 802.11, on Debian 12 and 13 (PYTEST_ARGS=)
	@tools/set-up test
	@LAB_SUITE=bookworm tests/lab/run $(PYTEST_ARGS)
	@.venv/bin/python -m pytest tests/browser/on_real_wifi.py
	@LAB_SUITE=trixie tests/lab/run $(PYTEST_ARGS)

system: ## only the tests in booted Debian 12 and 13, with the package installed
	@tools/set-up test
	@tests/system/run

site: ## the documents with a search, as a site in dist/site, which this checkout's hub serves at /docs/, too
	@tools/set-up site
	@rm -rf dist/site && mkdir -p dist/site && cp -r wifimgrd/http/page/site/* dist/site

deb: ## the Debian packages, and lists of their contents, into dist/ (MAINTAINER= HOMEPAGE=)
	@packaging/build_deb dist

repository: deb ## a signed repository of them for apt, into dist/repository (KEY= URL= REPOSITORY= VALID_DAYS= MAINTAINER= HOMEPAGE=)
	@packaging/build_repository "$${KEY:-}" dist "$${REPOSITORY:-dist/repository}" "$${URL:-http://127.0.0.1:8000}" "$${VALID_DAYS:-}"

bench: ## measurements, side by side in one run
	@tools/set-up bench
	@benchmarks/run

soak: ## the long version: CRASHES= (1000) kills, a random life of DURATION= (6h), and one of hubs at a broker, DAYS= (7) of a hub at work in virtual time, FUZZ= (2m) of noise through the relay, from cameras to their drivers, in MAVLink packets, in files and stills, and requests to the API; only those that are given; LAB=1: a life on real 802.11, and JOINS= there while frames are lost
	@! command -v python3 >/dev/null || python3 tests/soak.py
	@tools/set-up test
	@WIFIMGRD_CRASHES='$(or $(CRASHES),1000)' WIFIMGRD_SOAK='$(or $(DURATION),6h)' WIFIMGRD_FUZZ='$(or $(FUZZ),2m)' WIFIMGRD_DAYS='$(or $(DAYS),7)' WIFIMGRD_SEED='$(SEED)' $(if $(JOINS),WIFIMGRD_JOINS='$(JOINS)') $(if $(LAB)$(JOINS),$(LIFE_IN_LAB),.venv/bin/python -m pytest \
		$(if $(DURATION)$(CRASHES)$(FUZZ)$(DAYS),$(if $(CRASHES),tests/faults/test_crash_points.py) $(if $(DURATION),tests/faults/test_random_life.py tests/mqtt/fleet_life.py $(MACHINES)) $(if $(DAYS),tests/faults/test_week.py) $(if $(FUZZ),tests/faults/test_relay_fuzz.py tests/faults/test_driver_fuzz.py tests/mavlink/test_packet_fuzz.py $(READERS) $(REQUESTS)),tests/faults $(filter tests/browser/%,$(READERS)) $(REQUESTS) tests/mqtt/fleet_life.py tests/mavlink/test_packet_fuzz.py $(MACHINES)))

lint: ## ruff, mypy --strict, import rules
	@tools/set-up lint
	@tools/lint

clean: ## remove what was installed and built here
	rm -rf .bus .venv .node .camera-clients .ground-stations .dbus-fast .generated-clients .paho-mqtt .dbus-broker frontend/node_modules frontend/src/records.ts wifimgrd/http/page/built wifimgrd/http/page/site build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
