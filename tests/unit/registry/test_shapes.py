"""The shapes in the description of the API have the members that requests and answers really have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.api import models
from counterfoil.registry.api.keys.models import KekBody, KekChangeBody, NewKekBody
from counterfoil.schema.rest.config import CONFIG, LEVEL_IN_FORCE
from counterfoil.schema.rest.keys import CHANGEABLE, KEK, NEW_KEK
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE, RULE_SET, SCHEMA
from counterfoil.schema.rest.versions import COMPATIBILITY, CONTEXT_ID, SUBJECT_VERSION

if TYPE_CHECKING:
    from pydantic import BaseModel

    from counterfoil.schema.rest.object_forms import ObjectForm

CASES: list[tuple[type[BaseModel], ObjectForm[Any], set[str]]] = [
    (models.ReferenceBody, REFERENCE, set()),
    (models.MetadataBody, METADATA, set()),
    (models.RuleBody, RULE, set()),
    (models.RuleSetBody, RULE_SET, set()),
    (models.SchemaBody, SCHEMA, {"id", "version"}),
    (models.SubjectVersionBody, SUBJECT_VERSION, set()),
    (models.ContextIdBody, CONTEXT_ID, set()),
    (models.CompatibilityBody, COMPATIBILITY, set()),
    (models.ConfigUpdateBody, CONFIG, set()),
    (models.ConfigBody, CONFIG, {LEVEL_IN_FORCE}),
    (KekChangeBody, CHANGEABLE, set()),
    (NewKekBody, NEW_KEK, set()),
    (KekBody, KEK, set()),
]


@pytest.mark.parametrize(("shape", "form", "beside"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_shape_has_the_members_of_the_form(shape: type[BaseModel], form: ObjectForm[Any], beside: set[str]) -> None:
    described = {field.alias or name for name, field in shape.model_fields.items()}
    assert described == {member.key for member in form.members} | beside
