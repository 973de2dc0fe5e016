PYTHON ?= .venv/bin/python
PURE := $(addprefix tests/,unit application asl core skills values worker workflows workforce) $(wildcard tests/features/*/test_*rules.py)

.PHONY: test system fast changed check format reference verbs pictures site screenshots bench bench-peers lab demo mcpb lock pin release accept-letta accept-agents

test: ## the first tier: behaviour, in-process; SUBJECT=gate for one subject in both tiers
	$(PYTHON) -m pytest -n auto --dist loadfile $(if $(SUBJECT),tests tests/system -k $(SUBJECT))

system: ## the second tier: processes, crashes, browser, other programs, types and security
	$(PYTHON) -m pytest tests/system -n 5 --dist loadfile

fast: ## what needs no Redis, each with a few drawn examples
	$(PYTHON) -m pytest -n auto --hypothesis-profile fast $(PURE)

changed: ## the tests of the files that differ from HEAD, in both tiers
	$(PYTHON) -m pytest -n auto --changed

check: ## lint, types, layers
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && $(PYTHON) -m mypy && \
	.venv/bin/pyright -p tests/python --pythonpath $(PYTHON) && .venv/bin/lint-imports

format:
	$(PYTHON) -m ruff format . && $(PYTHON) -m ruff check --fix .

reference: ## the derived pages of docs/reference/, after a wanted change of what they are made of
	$(PYTHON) -m deploy.reference docs/reference

verbs: ## what is derived from the descriptions of verbs, after a change of one
	$(PYTHON) -m interfaces

pictures: ## docs/concepts/pictures/, after a change of deploy/pictures/concepts.py
	$(PYTHON) -m deploy.pictures docs/concepts/pictures

site: ## the pages as a site with search in generated/site; needs no network
	$(PYTHON) -m deploy.site generated/site

screenshots: ## docs/pictures/, the page's screens in both themes; needs chromium
	$(PYTHON) -m tests.system.browser.screenshots docs/pictures
	$(PYTHON) -m tests.system.browser.ended_screens docs/tutorials/pictures

bench: ## table and figures in benchmarks/results/
	$(PYTHON) -m benchmarks && $(PYTHON) -m benchmarks --fsync always

bench-peers: ## dcf beside BullMQ, docket, Celery, RQ and Restate: docs/explanation/benchmarks.md (OPTIONS="--rounds 1 --dry")
	$(PYTHON) -m benchmarks.peers $(OPTIONS)

lab: ## the fault lab: every kind for so many seconds
	$(PYTHON) -m lab --all --seconds $(or $(SECONDS),60)

demo: ## the order pipeline, a flow
	.venv/bin/dcf run workflows/order_flow.py --input workflows/order_processing/order.json

lock: ## requirements/*.txt, after a change of pyproject.toml; OPTIONS=--upgrade for newer versions of everything
	$(PYTHON) -m deploy.release.lock $(OPTIONS)

pin: ## the digests of images that the Dockerfile and docker-compose.yml name, as their registry has them now; needs docker
	$(PYTHON) -m deploy.release.pin

release: ## dist/: wheel, sdist, bundle, SBOM and image, tried in a bare environment (docs/contributing/releases.md)
	$(PYTHON) -m deploy.release dist

mcpb: ## dist/dcf.mcpb, the bundle for desktop clients
	$(PYTHON) deploy/mcpb/build.py dist/dcf.mcpb

accept-letta: ## the acceptance runs with real agents on a real Letta, and their record
	DCF_LETTA=1 DCF_LETTA_RECORD=tests/system/letta/records $(PYTHON) -m pytest tests/system/letta/test_acceptance.py

accept-agents: ## the order pipeline by hosted agents of every recipe, with faults, and its record
	DCF_AGENTS=1 DCF_AGENTS_RECORD=tests/system/hosting/records $(PYTHON) -m pytest tests/system/hosting/test_acceptance.py tests/system/hosting/test_a2a.py tests/system/stories/test_a2a_sdk.py tests/system/stories/test_webhook_acceptance.py
