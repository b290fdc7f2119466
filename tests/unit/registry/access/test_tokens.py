"""API tokens: their form, and whether one is accepted."""

from __future__ import annotations

import asyncio
import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.identities.passwords import StoredToken, generate_token, parse_token, verify_token
from counterfoil.registry.access.identity import UnprovenCaller, UnprovenReason
from counterfoil.schema.errors import StoreUnavailable

TOKEN = generate_token()
STORED = StoredToken(TOKEN.id, TOKEN.digest, "Service:ci", expires=1000.0)


class Tokens:
    def __init__(self, *stored):
        self.stored = {each.id: each for each in stored}

    async def find_token(self, token_id, /):
        return self.stored.get(token_id)


class NoStore:
    async def find_token(self, token_id, /):
        raise StoreUnavailable(f"The store cannot be reached for {token_id}")


def verified(token, store, now=0.0):
    return asyncio.run(verify_token(token, store, clock=lambda: now))


def test_a_token_has_the_documented_form_and_is_read_back():
    assert re.fullmatch("cfr_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}", TOKEN.text)
    assert parse_token(TOKEN.text) == TOKEN
    assert TOKEN.secret not in repr(TOKEN)
    assert len({generate_token().text for _ in range(100)}) == 100


def test_the_checksum_is_the_crc_32_in_base_62():
    body = "cfr_000000000000_" + "A" * 43  # its CRC-32 is 225_066_669
    assert parse_token(body + "0FEM7Z").secret == "A" * 43
    assert parse_token(body + "000000") is None


@given(st.integers(0, len(TOKEN.text) - 1), st.characters(codec="ascii"))
def test_a_token_with_one_other_character_is_none(place, character):
    edited = TOKEN.text[:place] + character + TOKEN.text[place + 1 :]
    assert parse_token(edited) == (TOKEN if edited == TOKEN.text else None)


@given(st.text())
def test_every_text_is_a_token_or_none(text):
    assert parse_token(text) is None or parse_token(text).text == text


def test_the_owner_is_who_calls():
    identity = verified(TOKEN, Tokens(STORED))
    assert (identity.principal, identity.method, identity.token_id) == ("Service:ci", "token", TOKEN.id)
    assert identity.expires == 1000.0


@pytest.mark.parametrize(
    ("stored", "now", "reason"),
    [
        ([], 0.0, UnprovenReason.WRONG),
        ([dataclasses.replace(STORED, digest=generate_token().digest)], 0.0, UnprovenReason.WRONG),
        ([dataclasses.replace(STORED, is_active=False)], 0.0, UnprovenReason.WRONG),
        ([STORED], 1000.0, UnprovenReason.EXPIRED),
    ],
)
def test_other_tokens_are_refused(stored, now, reason):
    assert verified(TOKEN, Tokens(*stored), now) == UnprovenCaller(reason)


def test_a_store_that_cannot_be_reached_is_no_verdict():
    assert verified(TOKEN, NoStore()).reason is UnprovenReason.UNAVAILABLE
