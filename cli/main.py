"""The ``shrag`` command: loads subcommands when called, and turns errors into messages and exit statuses."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import click

from shrag.bundle.errors import BundleDependencyMissing, BundleError
from shrag.cli.help import click_messages, translated
from shrag.cli.options.general import general_options, print_folders
from shrag.cli.output import Verbosity, echo_error, is_unread, language, verbosity
from shrag.cli.settings import check_options, configured_language, read_config
from shrag.corpora.data_folder import find_config
from shrag.corpora.errors import ConfigurationRejected, CorpusError
from shrag.corpora.files import MACHINE_ERRORS, DiskFailed, DiskFull
from shrag.corpora.near_names import did_you_mean
from shrag.evaluation.errors import EvaluationError, PlotLibraryMissing, ResultsMismatch
from shrag.indexing.errors import (
    DependencyMissing,
    DictionaryRejected,
    EngineUnavailable,
    GlossaryRejected,
    IndexDamaged,
    IndexingError,
    IndexMismatch,
    IndexMissing,
    TooManyCandidates,
    TooManyRejectedRecords,
    UnknownEncoder,
)
from shrag.messages.language import locale_language
from shrag.messages.text import Text, in_language
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
        "agreement ask bundle compare corpus doctor evaluate experiment glossary index init judge key mcp openapi plan "
        "report run search serve"
    ).split()
}
"""Name of a command → its module, which defines the click command ``command``."""

EXIT_STATUS: tuple[tuple[int, tuple[type[Exception], ...]], ...] = (
    (2, (UnknownStrategy, UnknownReranker, SettingRejected, UnknownEncoder, AddressTaken, UnknownName, PlanRejected)),
    (2, (ConfigurationRejected,)),
    (5, (DiskFull, DiskFailed, BudgetTooSmall, OutOfMemory)),
    (4, (StrategyUnavailable, ResultsMismatch, IndexMissing, IndexDamaged, IndexMismatch)),
    (6, (PlotLibraryMissing, DependencyMissing, EngineUnavailable, BundleDependencyMissing)),
    (3, (CorpusError, BundleError, EvaluationError, ServingError, UnknownArchitecture, WeightsRejected, ModelRefused)),
    (3, (TooManyCandidates, TooManyRejectedRecords, DictionaryRejected, GlossaryRejected)),
    (6, (ModelError,)),
    (1, (IndexingError,)),
)
"""Exit status → the errors that end with it. The first class that matches decides, so base classes such as
:class:`IndexingError` come after the classes derived from them.

The statuses: 0 done, 1 unexpected error, 2 usage, 3 input rejected, 4 index missing, damaged or mismatched, 5 out of
disk, memory or GPU memory, 6 a dependency missing or down, 130 interrupted."""


class LazyGroup(click.Group):
    """Imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and check its options in ``shrag.toml``; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = translated(importlib.import_module(COMMANDS[cmd_name]).command, language.get())
        check_options((ctx.default_map or {}).get(cmd_name, {}), command, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command.

        Raises:
            click.UsageError: There is no such command; the message suggests the most similar name.
        """
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(
                Text("There is no command {name!r}.{hint}", name=args[0], hint=did_you_mean(args[0], COMMANDS)), ctx
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command.

        Raises:
            RuntimeError: A pipe other than stdout broke, which click would take for stdout.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if is_unread(sys.stdout):
                raise
            raise RuntimeError(f"{type(error).__name__}: {error}") from error


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SHRAG", "max_content_width": 100},
)
@general_options
@click.pass_context
def shrag(ctx: click.Context) -> None:
    """Offline search and cited answers over Korean and English scholarly text."""
    if ctx.invoked_subcommand != "serve":  # it has the same options and prints the folders itself
        print_folders(ctx)


def run(arguments: Sequence[str], program: str = "shrag") -> int:
    """Run the command line ``arguments`` (without the program's name) and return its exit status.

    Errors are printed on stderr. With ``-v``, an unexpected error is printed with its traceback.
    """
    before = verbosity.set(Verbosity.NORMAL)
    chosen = locale_language(os.environ, configured_language(find_config()))
    language_before = language.set(chosen)
    try:
        with click_messages(chosen):
            return _run(arguments, program)
    finally:
        language.reset(language_before)
        verbosity.reset(before)


def _run(arguments: Sequence[str], program: str) -> int:
    try:
        config = read_config(find_config(), COMMANDS)
        group = translated(shrag, language.get())
        result: Any = group.main(list(arguments), prog_name=program, standalone_mode=False, default_map=config)
    except click.ClickException as error:
        shown = StringIO()
        _localised(error).show(shown)
        echo_error(shown.getvalue(), nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo_error(Text("Interrupted."))
        return 130
    except SystemExit:
        return 0  # click exits like this when stdout is a closed pipe, as in `shrag … | head`
    except Exception as error:
        return _report(error)
    return result if isinstance(result, int) else 0


def _localised(error: click.ClickException) -> click.ClickException:
    if not isinstance(error, click.UsageError) or not isinstance(error.message, Text):
        return error
    message = in_language(error.message, language.get())
    if isinstance(error, click.BadParameter):
        return click.BadParameter(message, error.ctx, error.param, error.param_hint)
    return click.UsageError(message, error.ctx)


def _report(error: Exception) -> int:
    for status, classes in EXIT_STATUS:
        if isinstance(error, classes):
            echo_error(Text("shrag: {error}", error=error))
            return status
    if isinstance(error, MemoryError):
        echo_error(
            Text("shrag: The memory is used up: close some programs, or raise the limit of this process (`ulimit -v`).")
        )
        return 5
    if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
        what = error.filename or Text("A file")
        echo_error(
            Text(
                "shrag: {what} cannot be used ({strerror}): {advice}.",
                what=what,
                strerror=error.strerror,
                advice=MACHINE_ERRORS[error.errno],
            )
        )
        return 5
    if isinstance(error, OSError) and (error.filename is not None or isinstance(error, PermissionError)):
        echo_error(Text("shrag: {path_problem}", path_problem=_path_problem(error)))
        return 2
    description = f"{type(error).__name__}: {error}"
    if verbosity.get() is Verbosity.VERBOSE:
        echo_error("".join(traceback.format_exception(error)), nl=False)
        echo_error(Text("shrag: unexpected {description} (report the traceback).", description=description))
    else:
        echo_error(
            Text(
                "shrag: unexpected {description} (run it again with `shrag -v` and report the traceback).",
                description=description,
            )
        )
    return 1


def _path_problem(error: OSError) -> Text:
    """Return a message about what is wrong with the path of ``error`` and how to repair it."""
    if error.filename is None:  # of a file descriptor, or of a library
        return Text(
            "A file cannot be used ({reason}): give this user permission to use the files of the data folder.",
            reason=error.strerror,
        )
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path(str(error.filename))
    # The first part of the path, from the root, that exists and is not a folder.
    wrong = next((each for each in (*reversed(path.parents), path) if _is_no_folder(each)), None)
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        way = Text("give this user permission to use it, or choose another folder with --home")
    elif isinstance(error, NotADirectoryError | FileExistsError) and wrong is not None:
        return Text(
            "{path} is not a folder, and a folder is needed there: move it elsewhere, or choose another with --home.",
            path=wrong,
        )
    else:
        way = Text("check the path, or choose another folder with --home")
    return Text("{path} cannot be used ({reason}): {way}.", path=path, reason=error.strerror, way=way)


def _is_no_folder(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False


def main(program: str = "shrag") -> None:
    """Run the command line of this process and exit, without the interpreter's clean-up."""
    # At the default threshold of 700, garbage collection takes a sixth of the time of building a small index.
    gc.set_threshold(50_000)
    status = run(sys.argv[1:], program)
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    # An orderly shutdown of Java and Kiwi takes a third of a second and is not needed.
    os._exit(status)
