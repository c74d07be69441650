# Everything runs in .venv, which .ci/venv makes and fills.
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-matrix bench docs sbom audit lint style types structure clean
BIN := .venv/bin
comma := ,
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

help:
	@echo 'make demo [URDF=arm.urdf] [ARGS=...]   a simulated arm that floats and tracks'
	@echo 'make demo VIEW=1                       the same, in the browser'
	@echo 'make test [ARGS=...]                   the tests, without the slow ones'
	@echo 'make test-all [ARGS=...]               all tests'
	@echo 'make test-matrix [CELLS=...]           a slice of the tests on several Pythons and ROS releases'
	@echo 'make bench                             measure the speed, beside Pinocchio, MuJoCo and an echo node'
	@echo 'make docs                              build the pages: docs/_build/index.html'
	@echo 'make sbom, make audit                  what is installed, as CycloneDX; its known vulnerabilities'
	@echo 'make lint                              check style, types and structure only'
	@echo 'make clean                             remove all that these made'
	@echo 'PYTHON=python3.12 chooses the Python; a sourced ROS 2 is used if there is one.'

demo:
	@.ci/venv plot$(if $(VIEW),$(comma)view)
	@$(BIN)/robodyn demo $(if $(URDF),--urdf "$(URDF)") $(if $(VIEW),--view) $(ARGS)

test:
	@.ci/venv plot,test
	@.ci/tests 'not slow' $(ARGS)

test-all:
	@.ci/venv plot,test
	@.ci/tests 'slow or not slow' $(ARGS)

test-matrix:
	@.ci/matrix $(CELLS)

bench:
	@.ci/venv plot,test
	@$(BIN)/python benchmark/dynamics.py
	@$(BIN)/python benchmark/cycle.py
	@$(BIN)/python benchmark/acceptance.py
	@$(BIN)/python benchmark/round_trip.py

docs:
	@.ci/venv docs
	@$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo 'built: docs/_build/index.html'

AUDIT := .venv-audit/bin

$(AUDIT)/pip-audit:
	@$(or $(PYTHON),python3) -m venv .venv-audit
	@$(AUDIT)/pip install -q cyclonedx-bom pip-audit

sbom: $(AUDIT)/pip-audit
	@.ci/venv plot
	@$(AUDIT)/cyclonedx-py environment $(BIN)/python -o sbom.json
	@echo 'written: sbom.json'

audit: $(AUDIT)/pip-audit
	@.ci/venv plot
	@$(AUDIT)/pip-audit --path $(BIN)/../lib/python*/site-packages >audit.txt; code=$$?; cat audit.txt; \
	  ! grep '^numpy .*not found' audit.txt || { echo 'nothing was compared: no database was reached'; exit 2; }; exit $$code

lint:
	@.ci/venv plot,test
	@$(MAKE) --no-print-directory -j2 -Otarget style types structure

style:
	@$(BIN)/python -m pytest -q test/test_flake8.py

types:
	@$(BIN)/python -m mypy

structure:
	@$(BIN)/python -m pytest -q test/test_pep257.py test/test_structure.py

clean:
	rm -rf .venv .venv-audit .venv-matrix sbom.json audit.txt .pytest_cache .mypy_cache .hypothesis build dist install log docs/_build robodyn_ros.egg-info \
	  robodyn_demo.png robodyn_demo.npz robodyn_demo_*.log
	find robodyn_ros test launch benchmark tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
