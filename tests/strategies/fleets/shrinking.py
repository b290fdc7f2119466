"""The shortest story with the same fault, and its words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from strategies.fleets.judging import Wrong, played
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.shapes import Shape, changed, printed, records_of, shapes_of
from strategies.fleets.story import CanDeploy, CanRegister, Deploy, Publish, Question, Retain, Story, Undeploy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strategies.fleets.story import Event, FieldRead, Port

_TRIES = 400


def shrunk(wrong: Wrong, tries: int = _TRIES) -> Wrong:
    """Return a wrong answer of the same fault, in a story from which nothing can be left out."""
    left = tries
    has_changed = True
    while has_changed:
        has_changed = False
        for pass_ in (_fewer_events, _smaller_shapes, _smaller_events):
            number = 0
            while left > 0 and (story := next(islice(pass_(wrong.story), number, None), None)) is not None:
                left -= 1
                found = None if story == wrong.story else _same(story, wrong)
                if found is None:
                    number += 1
                else:
                    wrong, has_changed = found, True
    return wrong


def _same(story: Story, wrong: Wrong) -> Wrong | None:
    for each in played(story).wrong:
        is_last = each.story.steps[-1] == story.steps[-1]
        if each.fault is wrong.fault and (is_last or wrong.expected is None):
            return each
    return None


def _fewer_events(story: Story) -> Iterator[Story]:
    """Yield stories without some events in a row, the longest rows first."""
    *events, question = story.steps
    for size in (8, 4, 2, 1):
        for first in range(len(events) - size, -1, -1):
            yield replace(story, steps=(*events[:first], *events[first + size :], question))


def _smaller_events(story: Story) -> Iterator[Story]:
    *events, question = story.steps
    for index, event in enumerate(events):
        for less in () if isinstance(event, Question) else _less(event):
            yield replace(story, steps=(*events[:index], less, *events[index + 1 :], question))


def _smaller_shapes(story: Story) -> Iterator[Story]:
    """Yield stories in which all schemas are without a field, or without something that a field has."""
    shapes = [shape for step in story.steps for shape in _shapes(step)]
    names = ((one.name, field.name) for shape in shapes for one in records_of(shape) for field in one.fields)
    for record, name in dict.fromkeys(names):
        yield _mapped(story, partial(_without_field, record=record, name=name))
    yield _mapped(
        story, lambda one: replace(one, fields=tuple(replace(each, has_default=False) for each in one.fields))
    )
    yield _mapped(story, lambda one: replace(one, fields=tuple(replace(each, unit="") for each in one.fields)))
    yield _mapped(story, lambda one: replace(one, fallback=""))
    for name in dict.fromkeys(one.name for shape in shapes for one in shapes_of(shape) if one.symbols):
        for symbol in dict.fromkeys(each for shape in shapes for one in shapes_of(shape) for each, _ in one.symbols):
            yield _mapped(story, partial(_without_symbol, name=name, symbol=symbol))


def _less(event: Event) -> Iterator[Event]:
    if isinstance(event, Deploy):
        plain = Deploy(event.environment, event.application, event.version)
        if event != plain:
            yield plain
        if event.environment != "production":
            yield replace(event, environment="production")
    if not isinstance(event, Publish):
        return
    if len(event.offers) > 1:
        yield from (replace(event, offers=(each,)) for each in event.offers)
    if any(each.key is not None for each in event.offers):
        yield replace(event, offers=tuple(replace(each, key=None) for each in event.offers))
    for index, port in enumerate(event.ports):
        if len(event.ports) > 1:
            yield replace(event, ports=(*event.ports[:index], *event.ports[index + 1 :]))
        for less in _less_of_port(port):
            yield replace(event, ports=(*event.ports[:index], less, *event.ports[index + 1 :]))


def _less_of_port(port: Port) -> Iterator[Port]:
    if port.declared is not None:
        yield replace(port, declared=None)
    if port.on_unknown_enum:
        yield replace(port, on_unknown_enum="")
    if port.is_from_start:
        yield replace(port, is_from_start=False)
    if port.key_reads:
        yield replace(port, key_reads=())
    for index, read in enumerate(port.reads or ()):
        assert port.reads is not None
        if len(port.reads) > 1:
            yield replace(port, reads=(*port.reads[:index], *port.reads[index + 1 :]))
        if read.is_required:
            less = replace(read, is_required=False)
            yield replace(port, reads=(*port.reads[:index], less, *port.reads[index + 1 :]))


def _shapes(step: Event | Question) -> Iterator[Shape]:
    if isinstance(step, Publish):
        for each in step.offers:
            yield each.shape
            if each.key is not None:
                yield each.key
        yield from (each.declared for each in step.ports if each.declared is not None)
    elif isinstance(step, Retain):
        yield from step.shapes
    elif isinstance(step, CanRegister):
        yield step.shape


def _mapped(story: Story, change: Callable[[Shape], Shape]) -> Story:
    def whole(shape: Shape | None) -> Shape | None:
        return None if shape is None else changed(shape, change)

    steps: list[Event | Question] = []
    for step in story.steps:
        if isinstance(step, Publish):
            offers = tuple(
                replace(each, shape=changed(each.shape, change), key=whole(each.key)) for each in step.offers
            )
            ports = tuple(replace(each, declared=whole(each.declared)) for each in step.ports)
            steps.append(replace(step, offers=offers, ports=ports))
        elif isinstance(step, Retain):
            steps.append(replace(step, shapes=tuple(changed(each, change) for each in step.shapes)))
        elif isinstance(step, CanRegister):
            steps.append(replace(step, shape=changed(step.shape, change)))
        else:
            steps.append(step)
    return replace(story, steps=tuple(steps))


def _without_field(shape: Shape, record: str, name: str) -> Shape:
    if shape.name != record or (len(shape.fields) < 2 and shape.field(name)):
        return shape
    return replace(shape, fields=tuple(each for each in shape.fields if each.name != name))


def _without_symbol(shape: Shape, name: str, symbol: str) -> Shape:
    if shape.name != name or len(shape.symbols) < 3:
        return shape
    symbols = tuple(each for each in shape.symbols if each[0] != symbol)
    return replace(shape, symbols=symbols, fallback="" if shape.fallback == symbol else shape.fallback)


def report(wrong: Wrong) -> str:
    """Return a wrong answer in words: what happened, the question, the answer, and what breaks."""
    lines = [f"{wrong.fault} ({wrong.story.language})"]
    lines += [f"  {line}" for step in wrong.story.steps for line in _words(step, wrong.story.language)]
    if wrong.failure:
        lines.append(f"  the product: {wrong.failure}")
    if wrong.answered is not None and wrong.expected is not None:
        word = {True: "yes", False: "no", None: "unknown"}[wrong.answered.deployable]
        lines.append(f"  the product: {word}")
        lines += [f"    {each}" for each in wrong.answered.words]
        lines.append(f"  the judge: {wrong.expected.answer}")
        for name, (place, way), example in wrong.expected.broken:
            lines.append(f"    {name} at {printed(place)} ({way}): {example}")
    return "\n".join(lines)


def _words(step: Event | Question, language: str) -> Iterator[str]:
    text = LANGUAGES[language].text
    if isinstance(step, Publish):
        yield from _words_of_version(step, text)
    elif isinstance(step, Deploy):
        flags = {"approved": step.is_approved, "release": step.is_release, step.instance: bool(step.instance)}
        how = [each for each, counts in flags.items() if counts]
        yield f"deploy {step.application} {step.version} to {step.environment} {' '.join(how)}".rstrip()
    elif isinstance(step, Undeploy):
        yield f"end {step.application} {step.version} in {step.environment}"
    elif isinstance(step, Retain):
        yield from (f"{step.topic} still has, in {step.environment}: {_line(text(each))}" for each in step.shapes)
    elif isinstance(step, CanDeploy):
        yield f"can-i-deploy {step.application} {step.version} to {step.environment}?"
    else:
        yield f"may {step.topic}-value get {_line(text(step.shape))}?"


def _line(text: str) -> str:
    return " ".join(text.split())


def _words_of_version(event: Publish, text: Callable[[Shape], str]) -> Iterator[str]:
    yield f"publish {event.application} {event.version}"
    for offer in event.offers:
        units = {each.name: each.unit for each in offer.shape.fields if each.unit}
        yield f"  writes {offer.topic}: {_line(text(offer.shape))}{f' units {units}' if units else ''}"
        if offer.key is not None:
            yield f"  keys: {_line(text(offer.key))}"
    for port in event.ports:
        yield f"  reads {port.topic}: {_reads(port.reads)} {_options(port)}".rstrip()
        if port.declared is not None:
            yield f"  readerSchema: {_line(text(port.declared))}"


def _reads(reads: tuple[FieldRead, ...] | None) -> str:
    if reads is None:
        return "the whole record"
    return ", ".join(f"{printed(each.path)}{' (required)' if each.is_required else ''}" for each in reads)


def _options(port: Port) -> str:
    found = [f"$key.{printed(each.path)}{' (required)' if each.is_required else ''}" for each in port.key_reads]
    found += [f"onUnknownEnum {port.on_unknown_enum}"] if port.on_unknown_enum else []
    return " ".join([*found, *(["from the start"] if port.is_from_start else [])])
