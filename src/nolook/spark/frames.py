"""Tables of Spark, and files that its workers read: one state a partition comes back."""

from __future__ import annotations

import os
import sys
import weakref
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from nolook._language import parameter_name
from nolook._validation import require
from nolook._version import __version__
from nolook.errors import ParameterError, TableError
from nolook.spark.cluster import Engine, PartResult, next_pieces, packed, state_of, unpacked
from nolook.spark.moving import ByUnit, Pieces
from nolook.tables.folders import Folder
from nolook.tables.read import is_of_spark
from nolook.tables.source import Column, Source, attempt, in_words

__all__ = [
    "SparkFiles",
    "SparkFrame",
    "Stream",
    "on_spark",
    "placed",
    "start_session",
    "without_cells",
]

_ANSWER = "part int, version string, state binary"
_PIECE = "place int, rows binary"
# Tasks for each core: fewer wait for the slowest, and more for Spark, which takes longer to start
# one than that takes to read a small part.
_TASKS = 4

T = TypeVar("T")

#: Turns the record batches of a partition into answers.
_Answers: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]

#: Turns the record batches of a partition into the parts it holds, each with its number.
_Parts: TypeAlias = Callable[[Iterable[Any]], Iterator[tuple[int, Source]]]


def placed(frame: Any) -> Any:  # noqa: ANN401
    """Return a table of Spark with its columns called by their places: c0, c1 and so on.

    Spark takes "A" and "a" for one name, and a point for a part of one.
    """
    return frame.toDF(*(f"c{i}" for i in range(len(frame.schema.fields))))


def on_spark(opened: Source, session: object) -> SparkFiles:
    """Have the workers of a session of Spark read files.

    Raises ParameterError for anything but a session, or for a source that is not files.
    """
    if not is_of_spark(session, "SparkSession"):
        raise ParameterError(
            f"engine is a value of type {type(session).__name__}; expected a session of Spark "
            "(SparkSession.builder.getOrCreate())"
        )
    if not isinstance(opened, Folder):
        raise ParameterError(
            f"{parameter_name('engine')} is given, but {opened.name} is not a file or "
            "folder; expected files that Spark's workers can open, or a table of Spark "
            f"(leave {parameter_name('engine')} out)"
        )
    refuse_races(session)
    return SparkFiles(opened, session)


def refuse_races(session: Any) -> None:  # noqa: ANN401
    """Refuse a session that runs slow tasks twice: which draw came first would depend on it."""
    if str(session.conf.get("spark.speculation", "false")).lower() == "true":
        raise ParameterError(
            "spark.speculation is true; expected false (a task that draws at random must not race "
            "with its own second run: start the session without it)"
        )


def start_session(master: str | None) -> Any:  # noqa: ANN401 -- an optional package
    """Return a session of Spark at an address, or at the one its own settings name.

    It shows no progress, and of its log errors alone.
    """
    session = require("pyspark.sql", "tables of Spark", "spark").SparkSession
    # Spark's own choice is the system's Python, which has no nolook.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = session.builder.appName("nolook")
    for key, value in (("spark.log.level", "ERROR"), ("spark.ui.showConsoleProgress", "false")):
        builder = builder.config(key, value)
    if master is not None:
        builder = builder.master(master)
    unreachable = (
        "no session of Spark can be started; expected Java and an address such as local[4] or "
        f"spark://HOST:7077 ({parameter_name('spark_master')}; its own words are above)"
    )
    return attempt(unreachable, builder.getOrCreate)


class _OnSpark(Engine):
    """Common parts of both."""

    engine = "Spark"

    def __init__(self) -> None:
        super().__init__()
        self._moved: dict[ByUnit, tuple[int, Any]] = {}

    def _collect(self, frame: Any, answers: _Answers) -> list[PartResult]:  # noqa: ANN401
        failed = (
            f"Spark could not finish a pass over {self.name}: a task failed too often, or no "
            f"worker answered; expected workers with nolook {__version__} that can read all of it "
            "(Spark's own log says more, and may quote cells; start again)"
        )
        rows = attempt(failed, lambda: _in_few(frame).mapInArrow(answers, _ANSWER).collect())
        return [PartResult(row["part"], row["version"], bytes(row["state"])) for row in rows]

    def states(self, task: bytes, names: Sequence[str]) -> tuple[list[PartResult], int | None]:
        """Have the statistic of a task updated in every partition."""
        frame, parts, due = self._divided(names)
        return self._collect(frame, partial(_of_parts, task, parts)), due

    def states_by_unit(
        self, task: bytes, names: Sequence[str], by_unit: ByUnit
    ) -> tuple[list[PartResult], int | None]:
        """Have rows moved to as many places as Spark makes partitions where it moves rows.

        What was moved stays on the workers' disks for the passes to come, as long as this source.
        """
        if by_unit not in self._moved:
            self._moved[by_unit] = attempt(_gone(self.name), self._move, names, by_unit)
        count, places = self._moved[by_unit]
        answers = self._collect(places, partial(_of_places, task))
        return answers, count if answers else 0

    def _move(self, names: Sequence[str], by_unit: ByUnit) -> tuple[int, Any]:
        from pyspark import StorageLevel

        frame, parts, _ = self._divided(names)
        count = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        pieces = _in_few(frame).mapInArrow(partial(_pieces, by_unit, parts, count), _PIECE)
        moved = pieces.repartition(count, "place").persist(StorageLevel.DISK_ONLY)
        weakref.finalize(self, _let_go, moved).atexit = False  # the session's end does it
        return count, moved

    @abstractmethod
    def _divided(self, names: Sequence[str]) -> tuple[Any, _Parts, int | None]:
        """Return a frame, what makes numbered parts of its partitions, and how many are due."""


def _in_few(frame: Any) -> Any:  # noqa: ANN401
    """Return a frame whose partitions are put together where there are many for the cores."""
    try:
        cores = frame.sparkSession.sparkContext.defaultParallelism
    except Exception:  # noqa: BLE001 -- Spark Connect does not tell
        return frame
    return frame.coalesce(_TASKS * cores)


def _let_go(moved: Any) -> None:  # noqa: ANN401
    with suppress(Exception):  # the session may have ended
        moved.unpersist()


class SparkFrame(_OnSpark):
    """A table of Spark: its partitions are its parts.

    Raises TableError for a stream.
    """

    name, label = "the Spark table", None

    def __init__(self, frame: Any) -> None:  # noqa: ANN401
        super().__init__()
        unreadable = f"{self.name} does not tell its columns (is its session still running?)"
        if attempt(unreadable, lambda: frame.isStreaming):
            raise TableError(f"{self.name} is a stream; expected rows that can be read again")
        fields = attempt(unreadable, lambda: frame.schema.fields)
        refuse_races(frame.sparkSession)
        self.columns = tuple(_column(field) for field in fields)
        self._frame = frame

    def _divided(self, names: Sequence[str]) -> tuple[Any, _Parts, None]:
        known = [column.name for column in self.columns]
        chosen = [f"c{known.index(name)}" for name in names]
        frame = attempt(_gone(self.name), lambda: placed(self._frame).select(*chosen))
        return frame, partial(_partition, tuple(names)), None


class SparkFiles(_OnSpark):
    """Files that Spark's workers open by the same paths: it only says who reads what."""

    def __init__(self, opened: Folder, session: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.name, self.label, self.columns = opened.name, opened.label, opened.columns
        self._opened, self._session = opened, session

    def _divided(self, names: Sequence[str]) -> tuple[Any, _Parts, int]:  # noqa: ARG002
        parts = tuple(packed(part) for part in self._opened.parts())
        count = len(parts)
        places = attempt(_gone(self.name), lambda: self._session.range(0, count, 1, count))
        return places, partial(_named, parts), count


def _gone(name: str) -> str:
    return f"{name} cannot be read; expected a session of Spark that is running (start it again)"


class Stream:
    """The record batches of a partition, which come once."""

    name = SparkFrame.name
    columns: tuple[Column, ...] = ()

    def __init__(self, names: tuple[str, ...], batches: Iterable[Any]) -> None:
        self._names, self._batches = names, batches

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield them, with their columns' own names."""
        for batch in self._batches:
            arrays = [batch.column(self._names.index(name)) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def parts(self) -> Sequence[Source]:
        """Return the stream."""
        return (self,)


def _partition(names: tuple[str, ...], batches: Iterable[Any]) -> Iterator[tuple[int, Source]]:
    """Yield the only part that a partition of a table is, in a worker."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    yield context.partitionId(), Stream(names, batches)


def _named(parts: tuple[bytes, ...], batches: Iterable[Any]) -> Iterator[tuple[int, Source]]:
    """Yield the parts of files whose numbers a partition holds, in a worker."""
    for batch in batches:
        for part in batch.column(0).to_pylist():
            yield part, unpacked(parts[part])


def _of_parts(task: bytes, parts: _Parts, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the answers for the parts of a partition, in a worker."""
    for part, source in parts(batches):
        yield _answer(part, without_cells(state_of, task, source, part))


def _pieces(by_unit: ByUnit, parts: _Parts, places: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the pieces of the parts of a partition, in a worker."""
    for _, source in parts(batches):
        pieces = by_unit.pieces(source, places)
        while (cut := without_cells(next_pieces, pieces)) is not None:
            if cut:
                yield _records(cut, (pa.int32(), pa.binary()), ("place", "rows"))


def _of_places(task: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the answers for the places whose pieces a partition holds, in a worker."""
    places: defaultdict[int, Pieces] = defaultdict(Pieces)
    for batch in batches:
        for place, piece in zip(*batch.columns, strict=True):
            places[place.as_py()].add(piece.as_buffer())
    for place, rows in places.items():
        with closing(rows):
            yield _answer(place, without_cells(state_of, task, rows, place))


def without_cells(action: Callable[..., T], *args: Any) -> T:  # noqa: ANN401
    """Do something with rows; what a library says of it goes to no log, as it may quote cells.

    Spark runs a task that fails once more, elsewhere.
    """
    try:
        return action(*args)
    except Exception as error:  # noqa: BLE001 -- whatever it is
        kind = type(error).__name__
    raise RuntimeError(f"nolook {__version__} could not read a part ({kind})")


def _answer(part: int, state: bytes) -> Any:  # noqa: ANN401
    kinds = (pa.int32(), pa.string(), pa.binary())
    return _records([(part, __version__, state)], kinds, PartResult._fields)


def _records(rows: Sequence[Any], kinds: Sequence[Any], names: Sequence[str]) -> Any:  # noqa: ANN401
    columns = zip(zip(*rows, strict=True), kinds, strict=True)
    arrays = [pa.array(cells, kind) for cells, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _column(field: Any) -> Column:  # noqa: ANN401
    """Return a column as Spark declares it; what has no type of Arrow's cannot be used."""
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        kind = to_arrow_type(field.dataType)
    except Exception:  # noqa: BLE001 -- of several libraries
        kind = None
    return Column(field.name, kind, in_words(kind), field.nullable)
