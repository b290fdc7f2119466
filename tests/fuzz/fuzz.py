"""Coverage-guided fuzzing of the parsers and of the check.

    python tests/fuzz/fuzz.py [avro|protobuf|json ...]

Every target (all kinds of each language, ``decode`` of Avro alone, see ``targets.py``)
runs for FUZZ_SECONDS, 60 by default, in a process of its own. What breaks one is kept under
``tests/fuzz/crashes/<language>/`` and is an ordinary test from then on. What was learnt is kept between runs, outside
the tree. Exit code 1: something broke.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS), str(TESTS.parent / "deploy")]

MEMORY_MB = 1500
MAX_SEEDS = 300  # more take the time that mutations should have
INSTRUMENTED_LIMIT_S = 8.0  # coverage makes it about as many times slower
HALF = 2


def main() -> int:
    if sys.argv[1:2] == ["--target"]:
        _fuzz(*sys.argv[2:4], arguments=sys.argv[4:])
        return 0
    from targets import LANGUAGES, TARGETS

    seconds = int(os.environ.get("FUZZ_SECONDS") or 60)
    asked = sys.argv[1:] or [*LANGUAGES]
    broken = [
        f"{language} {kind}"
        for language, kind in TARGETS
        if language in asked and _run(language, kind, seconds=seconds) != 0
    ]
    _say(f"Broken: {', '.join(broken)}; see tests/fuzz/crashes" if broken else "Nothing broke")
    return 1 if broken else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(language: str, kind: str, *, seconds: int) -> int:
    """One target in a process of its own; its exit code."""
    from targets import CRASHES, seeds

    from local_services import cache_folder

    learnt = cache_folder() / "fuzz" / f"{language}-{kind}"
    learnt.mkdir(parents=True, exist_ok=True)
    (CRASHES / language).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        every = list(dict.fromkeys(seeds(language, kind)))
        for number, seed in enumerate(every[:: len(every) // MAX_SEEDS + 1]):
            (Path(folder) / str(number)).write_bytes(seed)
        command = [
            *(sys.executable, __file__, "--target", language, kind),
            *(str(learnt), folder),
            f"-max_total_time={seconds}",
            f"-timeout={int(INSTRUMENTED_LIMIT_S * 2)}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-artifact_prefix={CRASHES / language}/{kind}-",
            *("-max_len=8000", "-print_final_stats=1", "-verbosity=0"),
        ]
        _say(f"== {language} {kind}, {seconds} s")
        return subprocess.run(command, check=False).returncode


def _fuzz(language: str, kind: str, *, arguments: list[str]) -> None:
    """This process as one target."""
    import atheris

    with atheris.instrument_imports(include=["counterfoil.schema", "counterfoil.sdk.serde"]):
        import targets

        from counterfoil.schema.languages.table import language_for

        language_for(targets.LANGUAGES[language])
        for seed in targets.seeds(language, kind):  # loads what is loaded only when it is needed
            targets.run(language, kind, seed, limit_s=INSTRUMENTED_LIMIT_S)
            break
    from mutations import mutate

    def mutate_bytes(data: bytes, max_size: int, seed: int) -> bytes:
        if seed % HALF:
            return atheris.Mutate(data, max_size)
        return mutate(language, kind, data, seed=seed)[:max_size]

    def one_input(data: bytes) -> None:
        targets.run(language, kind, data, limit_s=INSTRUMENTED_LIMIT_S)

    atheris.Setup([sys.argv[0], *arguments], one_input, custom_mutator=mutate_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
