"""The server of the Model Context Protocol: each tool's name, parameters and description, and how errors are returned.

The descriptions are what a language model reads. Every tool is marked as read-only. Parameters that may be left out are
texts, empty by default: the package reads a text that looks like JSON as JSON, unless the parameter is a text alone.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from counterfoil.schema.datum import JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.assistants import Tools


if TYPE_CHECKING:
    Answer = Callable[[Callable[[], JsonObject]], JsonObject]

_READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_INSTRUCTIONS: Final = (
    "Reads a schema registry for event streams, and checks changes of schemas. A finding of check_change may have a "
    "witness: a record that one side writes and the other cannot read. Nothing can be changed with these tools."
)

Subject = Annotated[str, Field(description="The subject, such as orders-value.")]
Version = Annotated[str, Field(description="SUBJECT@VERSION, such as orders-value@2 or orders-value@latest.")]
Environment = Annotated[str, Field(description="Only what is known of this environment.")]


def server_of(tools: "Tools", *, version: str, sentence_of: "Callable[[Exception], str]") -> MCPServer[Any]:
    """Return the server of the tools; ``version`` is that of the program.

    ``sentence_of`` returns what a model reads of an error.
    """

    def answer(ask: "Callable[[], JsonObject]") -> JsonObject:
        try:
            return ask()
        except Exception as error:
            raise ToolError(sentence_of(error)) from error

    server: MCPServer[Any] = MCPServer("counterfoil", version=version, instructions=_INSTRUCTIONS, log_level="ERROR")
    _add_tools_of_schemas(server, tools, answer)
    _add_tools_of_readers(server, tools, answer)
    return server


def _add_tools_of_schemas(server: MCPServer[Any], tools: "Tools", answer: "Answer") -> None:
    """Add what finds, reads, compares and checks schemas."""

    @server.tool(annotations=_READ_ONLY)
    def find_schemas(text: Annotated[str, Field(description="A part of the names.")] = "") -> JsonObject:
        """List the subjects of the registry whose names contain a text."""
        return answer(lambda: tools.find_schemas(text))

    @server.tool(annotations=_READ_ONLY)
    def read_schema(
        subject: Subject, version: Annotated[int | None, Field(ge=1, description="Default: the latest.")] = None
    ) -> JsonObject:
        """Read a version of a subject: its schema's text, type, id, references, metadata and rules."""
        return answer(lambda: tools.read_schema(subject, version))

    @server.tool(annotations=_READ_ONLY)
    def compare_schemas(earlier: Version, later: Version) -> JsonObject:
        """List what changed between two registered versions, and in which directions each change breaks."""
        return answer(lambda: tools.compare_schemas(earlier, later))

    @server.tool(annotations=_READ_ONLY)
    def check_change(
        schema: Annotated[str, Field(description="The text of the proposed schema.")],
        *,
        schema_type: Annotated[str, Field(description="AVRO, PROTOBUF or JSON.")] = "AVRO",
        subject: Annotated[str, Field(description="Compare with the versions of this subject.")] = "",
        earlier: Annotated[str, Field(description="Instead of a subject: the text before the change.")] = "",
        level: Annotated[str, Field(description="Such as BACKWARD or FULL. Default: the subject's.")] = "",
        policy: Annotated[str, Field(description="Such as STRICT or SOUND. Default: the subject's.")] = "",
        files: Annotated[
            dict[str, str] | None, Field(description="Texts of schema files that it refers to, by path.")
        ] = None,
    ) -> JsonObject:
        """Check a proposed schema, without registering it. Findings have a rule, a place, a witness and a fix."""
        return answer(
            lambda: tools.check_change(
                schema, schema_type, subject=subject, earlier=earlier, level=level, policy=policy, files=files
            )
        )


def _add_tools_of_readers(server: MCPServer[Any], tools: "Tools", answer: "Answer") -> None:
    """Add what is about consumers, deployments, messages and rules."""

    @server.tool(annotations=_READ_ONLY)
    def who_reads(
        field: Annotated[str, Field(description="SUBJECT, or SUBJECT.PATH of a field.")],
        environment: Environment = "",
    ) -> JsonObject:
        """List the consumers of a subject or of one field: what they declare, and what was seen of them."""
        return answer(lambda: tools.who_reads(field, environment))

    @server.tool(annotations=_READ_ONLY)
    def can_i_deploy(
        application: Annotated[str, Field(description="The application.")],
        version: Annotated[str, Field(description="Its version.")],
        environment: Annotated[str, Field(description="The environment.")],
    ) -> JsonObject:
        """Ask whether a version of an application may be deployed to an environment, and why not."""
        return answer(lambda: tools.can_i_deploy(application, version, environment))

    @server.tool(annotations=_READ_ONLY)
    def decode_message(
        message: Annotated[str, Field(description="The bytes of the message in hexadecimal digits.")],
        reader: Annotated[str, Field(description="Also read it with this version: SUBJECT@VERSION.")] = "",
    ) -> JsonObject:
        """Take one message apart: its frame, its schema, its value, and what another version reads of it."""
        return answer(lambda: tools.decode_message(message, reader))

    @server.tool(annotations=_READ_ONLY)
    def explain_rule(
        rule: Annotated[str, Field(description="The rule of a finding, such as type-mismatch.")],
    ) -> JsonObject:
        """Explain a rule: what goes wrong with records, and how to correct it."""
        return answer(lambda: tools.explain_rule(rule))
