"""The shapes of the bodies under ``/associations``, for the OpenAPI description."""

from __future__ import annotations

from pydantic import Field

from counterfoil.registry.api.models import (
    CamelShape,
    ErrorBody,
    RegisteredBody,
    RegistrationBody,
)


class _ResourceShape(CamelShape):
    resource_name: str | None = Field(None, description="Letters, digits, `_` and `-`, 256 at most.")
    resource_namespace: str | None = Field(None, description="As the name; that of the topic's cluster.")
    resource_id: str | None = None
    resource_type: str = Field("topic", description="The only one there is.")


class AssociationRequestBody(CamelShape):
    """One association to make or change."""

    subject: str | None = Field(None, description="STRONG: `:.namespace:name-type`, which need not be said.")
    association_type: str = Field("value", description="key or value.")
    lifecycle: str | None = Field(None, description="STRONG with a schema, else WEAK.")
    frozen: bool | None = None
    # The JSON key is "schema", a name that pydantic reserves.
    schema_request: RegistrationBody | None = Field(None, alias="schema", description="Registered along.")
    normalize: bool = False


class ResourceRequestBody(_ResourceShape):
    """The associations to make or change for one resource."""

    associations: list[AssociationRequestBody]


class AssociationOperationBody(AssociationRequestBody):
    """One operation of a batch."""

    op_type: str = Field(description="CREATE, UPSERT or DELETE.")
    cascade_lifecycle: bool = Field(default=False, description="DELETE: also what belongs to the resource alone.")


class ResourceOperationsBody(_ResourceShape):
    """The operations on one resource, all or none."""

    associations: list[AssociationOperationBody]


class MutationsBody(CamelShape):
    """Operations on several resources."""

    requests: list[ResourceOperationsBody]


class ResourceQueryBody(_ResourceShape):
    """Which associations of one resource: by its id, or by name and namespace."""

    association_types: list[str] | None = None
    lifecycle: str | None = None


class ResourceQueriesBody(CamelShape):
    """Which associations of several resources."""

    requests: list[ResourceQueryBody]


class AssociationResultBody(CamelShape):
    """One association of the resource around it."""

    subject: str
    association_type: str
    lifecycle: str
    frozen: bool | None = None
    schema_registered: RegisteredBody | None = Field(None, alias="schema")


class ResourceResultBody(_ResourceShape):
    """A resource, and associations of it."""

    associations: list[AssociationResultBody] | None = None


class SlotBody(CamelShape):
    """What became of one item of a batch: one of the two."""

    result: ResourceResultBody | None = None
    error: ErrorBody | None = None


class SlotsBody(CamelShape):
    """What became of a batch, item by item."""

    results: list[SlotBody]
