"""From groups to request bodies and back.

Groups with the same verifiers share a `Job`: the distinct completions (`Item`), each with one slot per verifier for the
verdict. What is still empty is cut into chunks by bytes and by work; a job that doesn't fit is sent in parts. A group's
result is built from the slots (`View`), so that neither order nor length can change on the way.

Bodies are joined from JSON encoded once: the bytes that are counted are the bytes that are sent, retries encode nothing.
What is done for each completion is kept to a few plain statements: a step has ten thousand of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from trainer_client.answers import Said, Scored, ScoredGroup, Unscored, Verifier
from trainer_client.client_errors import RequestRefused
from trainer_client.group_complaints import complaint
from verifier_protocol import (
    CodeSpec,
    FormatSpec,
    FunctionTests,
    Group,
    GroupStats,
    InteractiveTests,
    MathSpec,
    StdinTests,
    UnscoredReason,
    VerifierSpec,
    completion_text,
)

GroupLike = Group | Mapping[str, Any]
ITEM_OVERHEAD_BYTES = 1
PIECE_OVERHEAD_BYTES = 64
BODY_OVERHEAD_BYTES = 64
BLOCK_COMPLETIONS = 256
MAX_GROUPS = 1024  # of one request; a service takes 4,096 unless it was told otherwise
# Work of one completion, in units of one math answer.
FORMAT_WORK = 0.1
OTHER_WORK = 1.0
CODE_BASE_WORK = 8.0
CODE_CASE_WORK = 2.0
UNKNOWN_VERSION = "unknown"
_GROUPS = TypeAdapter(list[Group])


@dataclass(slots=True, eq=False)
class Item:
    """A distinct completion: its JSON, a verdict for each verifier once there is one, and where the caller has it first.

    `group` and `position` are its first indices in what the caller gave; `copies` says how often it was given. The JSON
    is made when a chunk is cut, so that the first chunk is on its way before the last one is encoded.
    """

    text: str
    verdicts: list[Said | None]
    group: int
    position: int
    copies: int = 1
    body: bytes = b""

    def lacking(self) -> int:
        """How many verdicts are not there yet. (`count` and `in` would compare models, which is slow.)"""
        return sum([verdict is None for verdict in self.verdicts])

    def encoded(self) -> bytes:
        if not self.body:
            self.body = encode_text(self.text)
        return self.body


@dataclass(slots=True, eq=False)
class Job:
    """Everything that is to be verified in one way. `views` are its groups, of which the first `answered` have results."""

    specs: list[VerifierSpec]
    spec_bodies: list[bytes]
    work: list[float]
    items: dict[str, Item]
    keys: list[bytes] = field(default_factory=list)  # of the specs, in the cache; made when they are needed
    views: list[View] = field(default_factory=list)
    answered: int = 0


@dataclass(slots=True, eq=False)
class View:
    """A group and its index, the item of each of its completions, and its result once every slot is filled."""

    group: Group
    index: int
    job: Job
    items: list[Item]
    result: ScoredGroup | None = None


@dataclass(slots=True, eq=False)
class Piece:
    """Some items of one job, to be verified by some of its verifiers (by index)."""

    job: Job
    verifiers: tuple[int, ...]
    items: list[Item]


Chunk = list[Piece]


def checked_groups(groups: Iterable[GroupLike]) -> list[Group]:
    """Groups as models. Raises RequestRefused, with the field and without any of the values, for what is no group."""
    if isinstance(groups, Mapping | str | Group):
        raise RequestRefused("groups: give a list of groups", field="groups")
    given = list(groups)
    try:
        return _GROUPS.validate_python([dict(g) if isinstance(g, Mapping) else g for g in given])
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        path, said = complaint(first, given)
        raise RequestRefused(f"{path}: {said}", field=path) from None


def encode_text(text: str) -> bytes:
    """A string as JSON. Lone surrogates, which no UTF-8 can carry, become U+FFFD."""
    try:
        return to_json(text)  # six times as fast as the json module
    except PydanticSerializationError:
        return to_json(replace_surrogates(text))


def replace_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_spec(spec: VerifierSpec, path: str) -> bytes:
    """A verifier's spec as JSON, only what was set: an older service need not know fields that nobody uses."""
    try:
        if isinstance(spec, MathSpec | FormatSpec):  # no field of theirs can hold NaN, which to_json would write as null
            return spec.model_dump_json(exclude_unset=True).encode()
        return json.dumps(spec.model_dump(exclude_unset=True), ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, PydanticSerializationError):
        raise RequestRefused(f"{path} holds half of a surrogate pair, which JSON can't carry", field=path) from None
    except ValueError:
        raise RequestRefused(f"{path} holds NaN or an infinity, which JSON can't carry", field=path) from None


def work_of(spec: VerifierSpec) -> float:
    """What one completion costs the service, in units of one math answer."""
    if isinstance(spec, FormatSpec):
        return FORMAT_WORK
    if isinstance(spec, CodeSpec):
        cases = len(spec.tests.cases) if isinstance(spec.tests, StdinTests | FunctionTests | InteractiveTests) else 1
        return CODE_BASE_WORK + CODE_CASE_WORK * cases
    return OTHER_WORK


def make_views(groups: Iterable[Group]) -> list[View]:
    """Groups, in order, over as few jobs as there are ways to verify, still without their completions (`fill`).

    Raises RequestRefused for what JSON can't carry.
    """
    jobs: dict[tuple[bytes, ...], Job] = {}
    views = []
    for index, group in enumerate(groups):
        specs = group.verifiers
        bodies = [encode_spec(spec, f"groups[{index}].verifiers[{v}]") for v, spec in enumerate(specs)]
        job = jobs.get(key := tuple(bodies))
        if job is None:
            job = jobs[key] = Job(specs, bodies, [work_of(spec) for spec in specs], {})
        view = View(group, index, job, [])
        job.views.append(view)
        views.append(view)
    return views


def blocks(views: Iterable[View]) -> Iterator[list[View]]:
    """The views in order, cut behind every BLOCK_COMPLETIONS completions."""
    block: list[View] = []
    size = 0
    for view in views:
        block.append(view)
        size += len(view.group.completions)
        if size >= BLOCK_COMPLETIONS:
            yield block
            block, size = [], 0
    if block:
        yield block


def fill(views: Iterable[View]) -> tuple[list[Piece], int]:
    """Give each view its items.

    Returns the items that no view had before, those of a job together, and how many of the completions are answered
    already: equal to one that was sent with an earlier block.
    """
    new: dict[int, Piece] = {}
    answered = 0
    for view in views:
        job = view.job
        items = job.items
        piece = new.get(id(job)) or new.setdefault(id(job), Piece(job, tuple(range(len(job.specs))), []))
        blank: list[Said | None] = [None] * len(job.specs)
        for n, completion in enumerate(view.group.completions):
            text = completion if isinstance(completion, str) else completion_text(completion)
            item = items.get(text)
            if item is None:
                item = items[text] = Item(text, blank.copy(), view.index, n)
                piece.items.append(item)
            else:
                item.copies += 1
                answered += all(item.verdicts)
            view.items.append(item)
    return [piece for piece in new.values() if piece.items], answered


def jobs_of(views: Iterable[View]) -> list[Job]:
    return list({id(view.job): view.job for view in views}.values())


def missing_pieces(job: Job, items: Iterable[Item]) -> list[Piece]:
    """Items with an empty slot, those that lack the same verifiers together."""
    by_verifiers: dict[tuple[int, ...], list[Item]] = {}
    blank: list[Said | None] = [None] * len(job.specs)
    everything = tuple(range(len(job.specs)))
    for item in items:
        if item.verdicts == blank:
            missing = everything
        else:
            missing = tuple([v for v, verdict in enumerate(item.verdicts) if verdict is None])
        if missing:
            by_verifiers.setdefault(missing, []).append(item)
    return [Piece(job, verifiers, members) for verifiers, members in by_verifiers.items()]


def cut_chunks(pieces: Iterable[Piece], max_bytes: int, max_work: float, *, first_work: float = math.inf) -> Iterator[Chunk]:
    """Cut pieces, in order, into chunks within both limits. An item that is too large by itself goes alone.

    `first_work`: the first chunk's limit; each may have twice the work of the one before, up to `max_work`.
    """
    chunk: Chunk = []
    size = BODY_OVERHEAD_BYTES
    work = 0.0
    most_work = min(first_work, max_work)
    for piece in pieces:
        head = PIECE_OVERHEAD_BYTES + sum(len(piece.job.spec_bodies[v]) + 1 for v in piece.verifiers)
        item_work = sum(piece.job.work[v] for v in piece.verifiers)
        part: list[Item] = []
        for item in piece.items:
            item_bytes = len(item.body or item.encoded()) + ITEM_OVERHEAD_BYTES
            added = item_bytes if part else item_bytes + head
            full = size + added > max_bytes or work + item_work > most_work or len(chunk) >= MAX_GROUPS
            if full and (chunk or part):
                if part:
                    chunk.append(Piece(piece.job, piece.verifiers, part))
                yield chunk
                chunk, part, size, work = [], [], BODY_OVERHEAD_BYTES, 0.0
                most_work = min(most_work * 2, max_work)
                added = item_bytes + head
            part.append(item)
            size += added
            work += item_work
        if part:
            chunk.append(Piece(piece.job, piece.verifiers, part))
    if chunk:
        yield chunk


def halves(chunk: Chunk) -> list[Chunk] | None:
    """The chunk in two, for a service that finds it too large; None if it is a single completion."""
    if len(chunk) > 1:
        middle = len(chunk) // 2
        return [chunk[:middle], chunk[middle:]]
    (piece,) = chunk
    if len(piece.items) < 2:
        return None
    middle = len(piece.items) // 2
    return [[Piece(piece.job, piece.verifiers, part)] for part in (piece.items[:middle], piece.items[middle:])]


def group_id(tag: str, position: int) -> str:
    """The id of a group on the wire. `tag` is drawn anew for each request, so that an answer to another one (late, doubled
    or cached on the way) is never taken for this one's, however alike the two look."""
    return f"{tag}.{position}"


def encode_chunk(chunk: Chunk, deadline_s: float, tag: str) -> bytes:
    """The body of one request. Group ids are tag and position in the chunk: the answer must echo them in order.

    `tag`: letters and digits.
    """
    parts = []
    before = b'{"groups":['
    for position, piece in enumerate(chunk):
        parts.append(b'%s{"id":"%s","completions":[' % (before, group_id(tag, position).encode()))
        parts.append(b",".join([item.body or item.encoded() for item in piece.items]))
        parts.append(b'],"verifiers":[%s]}' % b",".join([piece.job.spec_bodies[v] for v in piece.verifiers]))
        before = b","
    parts.append(b'],"deadline_s":%s}' % repr(round(deadline_s, 3)).encode())
    return b"".join(parts)


_FIELD = re.compile(r"^groups\[(\d+)\](?:\.(completions|verifiers)\[(\d+)\])?(.*)$", re.DOTALL)


def caller_field(chunk: Chunk, path: str | None) -> str | None:
    """A problem's field path, from positions in the chunk to positions in what the caller passed."""
    match = _FIELD.match(path) if path else None
    if match is None or int(match[1]) >= len(chunk):
        return path
    piece = chunk[int(match[1])]
    group = piece.items[0].group
    if match[2] == "verifiers" and int(match[3]) < len(piece.verifiers):
        where = f"groups[{group}].verifiers[{piece.verifiers[int(match[3])]}]"
    elif match[2] == "completions" and int(match[3]) < len(piece.items):
        where = completion_path(piece.items[int(match[3])])
    else:
        where = f"groups[{group}]"
    return where + match[4]


def completion_path(item: Item) -> str:
    return f"groups[{item.group}].completions[{item.position}]"


def unscored(kind: str, reason: UnscoredReason, detail: str) -> Unscored:
    """The client's own verdict for what no service judged."""
    return Unscored(kind, reason, True, Verifier(kind, UNKNOWN_VERSION), detail)


def reward_of(specs: Sequence[VerifierSpec], verdicts: Sequence[Said]) -> tuple[float | None, bool]:
    """The weighted sum of the scores, None as soon as one verifier left the completion unscored; whether all are full."""
    terms = []
    passed = True
    for spec, verdict in zip(specs, verdicts, strict=True):
        if not isinstance(verdict, Scored):
            return None, False
        score = verdict.score
        terms.append(spec.weight * score)
        if score != 1.0:
            passed = False
    return math.fsum(terms), passed


def stats_of(rewards: Sequence[float | None], passed: int) -> GroupStats:
    """Statistics over the completions that have a reward, as the service defines them (population std)."""
    known = [reward for reward in rewards if reward is not None]
    if not known:
        return GroupStats(mean=None, std=None, pass_rate=None, unscored=len(rewards), zero_variance=False)
    mean = math.fsum(known) / len(known)
    return GroupStats(
        mean=mean,
        std=math.sqrt(math.fsum([(reward - mean) ** 2 for reward in known]) / len(known)),
        pass_rate=passed / len(known),
        unscored=len(rewards) - len(known),
        zero_variance=max(known) == min(known),
    )


def result_of(view: View) -> ScoredGroup:
    """The group's result: verdict i answers completion i. Every slot must be filled; equal completions share a row."""
    specs = view.job.specs
    rows = []
    rewards = []
    passed = 0
    for item in view.items:
        row = cast("list[Said]", item.verdicts)
        reward, full = reward_of(specs, row)
        rows.append(row)
        rewards.append(reward)
        passed += full
    return ScoredGroup(view.group.id, rewards, rows, stats_of(rewards, passed))


def answer_views(job: Job) -> Iterator[View]:
    """Give results to those of the job's groups that can have them, in order, up to the first that still lacks a verdict.

    Called after each answer, it builds results while other requests are under way.
    """
    while job.answered < len(job.views):
        view = job.views[job.answered]
        if not view.items or not all(all(item.verdicts) for item in view.items):  # a verdict is true, an empty slot is not
            return
        view.result = result_of(view)
        job.answered += 1
        yield view
