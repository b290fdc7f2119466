"""Whether the answers of the product are those that a fleet demands, and stories that show where they are not."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from strategies.fleets.drawing import drawn_story
from strategies.fleets.oracle import Answer, Fleet
from strategies.fleets.product import Player
from strategies.fleets.story import CanDeploy, CanRegister, Story

if TYPE_CHECKING:
    from strategies.fleets.oracle import Expected
    from strategies.fleets.product import Answered


class Fault(StrEnum):
    """In which way an answer is wrong."""

    WRONG_YES = "wrong yes"
    WRONG_NO = "wrong no"
    WRONG_UNKNOWN = "wrong where nobody writes"
    UNNAMED = "a consumer that breaks is not named"
    FAILED = "the product failed"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong answer, with the story that leads to it; its last step is the question."""

    fault: Fault
    story: Story
    expected: Expected | None
    answered: Answered | None
    failure: str = ""


@dataclass(slots=True)
class Tally:
    """What was asked, and what was wrong."""

    asked: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)


def fault_of(expected: Expected, answered: Answered) -> Fault | None:
    """Return in which way an answer is wrong; None if it is right, or not judged."""
    if expected.answer is Answer.YES:
        return None if answered.deployable is True else Fault.WRONG_NO
    if expected.answer is Answer.EITHER:
        return None
    if expected.answer is Answer.UNKNOWN:
        return None if answered.deployable is None else Fault.WRONG_UNKNOWN
    if answered.deployable is True:
        return Fault.WRONG_YES
    broken = {name for name, _, _ in expected.broken}
    return None if broken <= answered.broken else Fault.UNNAMED


async def play(story: Story) -> Tally:
    """Play a story to the product and to the judge, and compare their answers."""
    player, fleet, tally = Player(story.language), Fleet(story.language), Tally()
    await player.begin()
    for number, step in enumerate(story.steps):
        if not isinstance(step, CanDeploy | CanRegister):
            await player.apply(step)
            fleet.apply(step)
            continue
        if isinstance(step, CanDeploy) and (step.application, step.version) not in fleet.published:
            continue
        expected = fleet.expected(step)
        if expected.answer is Answer.EITHER and not expected.causes:
            continue  # nobody reads the topic
        answered = await player.answer(step)
        tally.asked[expected.answer] += 1
        if expected.answer is Answer.EITHER:
            tally.doubts[", ".join(expected.causes)] += 1
        fault = fault_of(expected, answered)
        if fault is not None:
            events = [each for each in story.steps[:number] if not isinstance(each, CanDeploy | CanRegister)]
            shown = Story(story.language, (*events, step))
            tally.wrong.append(Wrong(fault, shown, expected, answered))
    return tally


def played(story: Story) -> Tally:
    """Play a story; a failure of the product is a fault."""
    try:
        return asyncio.run(play(story))
    except Exception as error:  # noqa: BLE001 - whatever it is, the story shows it
        return Tally(wrong=[Wrong(Fault.FAILED, story, None, None, f"{type(error).__name__}: {error}")])


def judged_seed(seed: int, language: str) -> Tally:
    """Play the story of a seed."""
    return played(drawn_story(seed, language))
