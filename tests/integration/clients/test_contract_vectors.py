"""The golden vectors of ``counterfoil generate vectors``, written and read by serializers here and elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from counterfoil.contracts.cli.generate import generate
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.values import form_of
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.serde.multi import LANGUAGES
from local_services.javascript import node_packages, node_program
from strategies.avro.codec_tiers import TIERS, use_tier

FOLDER = Path(__file__).parents[2] / "data" / "vectors"
VECTORS = FOLDER / "vectors.jsonl"
LINES = [json.loads(line) for line in VECTORS.read_text("utf-8").splitlines()]
SCHEMAS = ["ride.avsc", "ride.proto", "ride.schema.json"]


def test_the_file_is_what_the_command_writes(monkeypatch):
    monkeypatch.chdir(FOLDER)
    assert run(generate, ["vectors", *SCHEMAS, "--count", "15", "--out", VECTORS.name, "--check"]) == 0
    assert {each["format"] for each in LINES} == {"AVRO", "JSON", "PROTOBUF"}


@pytest.mark.parametrize("tier", TIERS)
def test_the_serializers_write_and_read_them(tier, monkeypatch):
    use_tier(monkeypatch.setenv, tier)
    for vector in LINES:
        language = SchemaType(vector["format"])
        form = form_of(language)
        codec = LANGUAGES[language].make_codec(**form.options)
        parsed = codec.parse(Schema(vector["schema"], language), (), validation=Validation.STRICT)
        data, start = bytes.fromhex(vector["bytes_hex"]), vector["framing"]["bytes"]
        show = form.decoder(codec, parsed, None, codec.frame_suffix(parsed))
        assert show(data, start) == vector["decoded"], vector["name"]
        written = codec.encoder(parsed)(form.value(parsed, vector["value"]), data[:start])
        assert show(written, start) == vector["decoded"], vector["name"]


def test_javascript_reads_and_writes_the_same():
    here = Path(__file__).parent / "javascript"
    done = subprocess.run(
        [node_program(), here / "contract_vectors.cjs"],
        input=VECTORS.read_text("utf-8"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        env={**os.environ, "NODE_PATH": str(node_packages(here))},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == len(LINES)
