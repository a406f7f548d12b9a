"""The ``shrag`` command: loads subcommands when called, and turns errors into messages and exit statuses."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click

from shrag.cli.options.general import general_options, print_folders
from shrag.cli.output import Verbosity, echo_error, verbosity
from shrag.cli.settings import check_options, read_config
from shrag.corpora.data_folder import find_config
from shrag.corpora.errors import ConfigurationRejected, CorpusError
from shrag.corpora.files import MACHINE_ERRORS, DiskFailed, DiskFull
from shrag.corpora.near_names import did_you_mean
from shrag.evaluation.errors import EvaluationError, PlotLibraryMissing, ResultsMismatch
from shrag.indexing.errors import (
    DependencyMissing,
    DictionaryRejected,
    GlossaryRejected,
    IndexDamaged,
    IndexingError,
    IndexMismatch,
    IndexMissing,
    TooManyRejectedRecords,
    UnknownEncoder,
)
from shrag.models.errors import (
    BudgetTooSmall,
    ModelError,
    ModelRefused,
    OutOfMemory,
    PlanRejected,
    UnknownArchitecture,
    UnknownName,
    WeightsRejected,
)
from shrag.serving.errors import (
    AddressTaken,
    ServingError,
    SettingRejected,
    StrategyUnavailable,
    UnknownReranker,
    UnknownStrategy,
)

COMMANDS = {
    name: f"shrag.cli.commands.{name}"
    for name in (
        "agreement ask compare corpus doctor evaluate experiment glossary index init judge key mcp openapi plan "
        "report run search serve"
    ).split()
}
"""Name of a command → its module, which defines the click command ``command``."""

EXIT_STATUS: tuple[tuple[int, tuple[type[Exception], ...]], ...] = (
    (2, (UnknownStrategy, UnknownReranker, SettingRejected, UnknownEncoder, AddressTaken, UnknownName, PlanRejected)),
    (2, (ConfigurationRejected,)),
    (5, (DiskFull, DiskFailed, BudgetTooSmall, OutOfMemory)),
    (4, (StrategyUnavailable, ResultsMismatch, IndexMissing, IndexDamaged, IndexMismatch)),
    (6, (PlotLibraryMissing, DependencyMissing)),
    (3, (CorpusError, EvaluationError, ServingError, UnknownArchitecture, WeightsRejected, ModelRefused)),
    (3, (TooManyRejectedRecords, DictionaryRejected, GlossaryRejected)),
    (6, (ModelError,)),
    (1, (IndexingError,)),
)
"""0 done, 1 unexpected, 2 usage, 3 input rejected, 4 index missing, damaged or mismatched, 5 out of disk, memory or
GPU memory, 6 a dependency missing or down, 130 interrupted. The first class that matches decides: base classes such as
:class:`IndexingError` come after the classes derived from them."""


class LazyGroup(click.Group):
    """Imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and check its options in ``shrag.toml``; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        check_options((ctx.default_map or {}).get(cmd_name, {}), command, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; ``click.UsageError`` for an unknown one suggests the most similar name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"There is no command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SHRAG", "max_content_width": 100},
)
@general_options
@click.pass_context
def shrag(ctx: click.Context) -> None:
    """Offline search and cited answers over Korean and English scholarly text."""
    if ctx.invoked_subcommand != "serve":  # which has these options too, and prints this itself
        print_folders(ctx)


def run(arguments: Sequence[str]) -> int:
    """Run the command line ``arguments`` (without the program's name) and return its exit status.

    An error is printed on stderr; with ``-v`` an unexpected one with its traceback.
    """
    before = verbosity.set(Verbosity.NORMAL)
    try:
        return _run(arguments)
    finally:
        verbosity.reset(before)


def _run(arguments: Sequence[str]) -> int:
    try:
        config = read_config(find_config(), COMMANDS)
        result: Any = shrag.main(list(arguments), prog_name="shrag", standalone_mode=False, default_map=config)
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        echo_error(shown.getvalue(), nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo_error("Interrupted.")
        return 130
    except SystemExit:
        return 0  # click exits like this when stdout is a closed pipe, as in `shrag … | head`
    except Exception as error:
        return _report(error)
    return result if isinstance(result, int) else 0


def _report(error: Exception) -> int:
    for status, classes in EXIT_STATUS:
        if isinstance(error, classes):
            echo_error(f"shrag: {error}")
            return status
    if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
        what = error.filename or "A file"
        echo_error(f"shrag: {what} cannot be used ({error.strerror}): {MACHINE_ERRORS[error.errno]}.")
        return 5
    if isinstance(error, OSError) and (error.filename is not None or isinstance(error, PermissionError)):
        echo_error(f"shrag: {_path_problem(error)}")
        return 2
    description = f"{type(error).__name__}: {error}"
    if verbosity.get() is Verbosity.VERBOSE:
        echo_error("".join(traceback.format_exception(error)), nl=False)
        echo_error(f"shrag: unexpected {description} (report the traceback).")
    else:
        echo_error(f"shrag: unexpected {description} (run it again with `shrag -v` and report the traceback).")
    return 1


def _path_problem(error: OSError) -> str:
    """Return what is wrong with the path of ``error``, and the way out."""
    if error.filename is None:  # a descriptor's, or a library's
        return f"A file cannot be used ({error.strerror}): give this user the right to the files of the home."
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path(str(error.filename))
    # The path itself, or the first of the folders above it that is none.
    wrong = next((each for each in (*reversed(path.parents), path) if _is_no_folder(each)), None)
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        way = "give this user the right to it, or choose another folder with --home"
    elif isinstance(error, NotADirectoryError | FileExistsError) and wrong is not None:
        return f"{wrong} is no folder, and a folder is needed there: move it away, or choose another with --home."
    else:
        way = "check the path, or choose another folder with --home"
    return f"{path} cannot be used ({error.strerror}): {way}."


def _is_no_folder(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False


def main() -> None:
    """Run the command line of this process and exit, without the interpreter's clean-up."""
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        status = 0
    # An orderly shutdown of Java and Kiwi takes a third of a second and is not needed.
    os._exit(status)
