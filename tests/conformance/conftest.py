"""Which methods the conformance suite runs over: every one that is found, or the one in a file elsewhere.

pytest tests/conformance
pytest tests/conformance --method-file ~/my_method.py
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from replirank import methods
from replirank.methods import Method


def pytest_addoption(parser):
    parser.addoption("--method-file", help="hold the method in this file to the contract, instead of those found")


def pytest_generate_tests(metafunc):
    if "method" in metafunc.fixturenames:
        file = metafunc.config.getoption("--method-file", default=None)
        metafunc.parametrize("method", [file] if file else methods.ids(), indirect=True, scope="module")


@pytest.fixture(scope="module")
def method(request) -> type[Method]:
    """The class of the method under test."""
    return methods.find(request.param) if request.param in methods.ids() else in_file(request.param)


def in_file(path: str) -> type[Method]:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    here = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Method) and value.__module__ == module.__name__
    ]
    assert len(here) == 1, f"{path}: {len(here)} subclasses of Method instead of one"
    return here[0]
