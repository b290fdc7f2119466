"""The server of the Model Context Protocol: each tool's name, parameters and description, and how errors are returned.

The descriptions are what a language model reads. Every tool is marked as read-only.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from counterfoil.contracts.cli.run import exit_code_for, keep_traceback
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.assistants.tools import Tools

_READ_ONLY: Final = ToolAnnotations(readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False)
_INSTRUCTIONS: Final = (
    "Reads a schema registry for event streams, and checks changes of schemas. A finding of check_change may have a "
    "witness: a record that one side writes and the other cannot read. Nothing can be changed with these tools."
)

Subject = Annotated[str, Field(description="The subject, such as orders-value.")]
Version = Annotated[str, Field(description="SUBJECT@VERSION, such as orders-value@2 or orders-value@latest.")]
Environment = Annotated[str | None, Field(description="Only what is known of this environment.")]


def server_of(tools: "Tools", *, version: str) -> MCPServer[Any]:
    """Return the server of the tools; ``version`` is that of the program."""
    server: MCPServer[Any] = MCPServer("counterfoil", version=version, instructions=_INSTRUCTIONS, log_level="ERROR")

    @server.tool(annotations=_READ_ONLY)
    def find_schemas(text: Annotated[str, Field(description="A part of the names.")] = "") -> dict[str, Any]:
        """List the subjects of the registry whose names contain a text."""
        return _answer(lambda: tools.find_schemas(text))

    @server.tool(annotations=_READ_ONLY)
    def read_schema(
        subject: Subject, version: Annotated[int | None, Field(ge=1, description="Default: the latest.")] = None
    ) -> dict[str, Any]:
        """Read a version of a subject: its schema's text, type, id, references, metadata and rules."""
        return _answer(lambda: tools.read_schema(subject, version))

    @server.tool(annotations=_READ_ONLY)
    def compare_schemas(earlier: Version, later: Version) -> dict[str, Any]:
        """List what changed between two registered versions, and in which directions each change breaks."""
        return _answer(lambda: tools.compare_schemas(earlier, later))

    @server.tool(annotations=_READ_ONLY)
    def check_change(  # noqa: PLR0913 (the parameters of a tool)
        schema: Annotated[str, Field(description="The text of the proposed schema.")],
        schema_type: Annotated[str, Field(description="AVRO, PROTOBUF or JSON.")] = "AVRO",
        subject: Annotated[str | None, Field(description="Compare with the versions of this subject.")] = None,
        earlier: Annotated[str | None, Field(description="Instead of a subject: the text before the change.")] = None,
        level: Annotated[str | None, Field(description="Such as BACKWARD or FULL. Default: the subject's.")] = None,
        policy: Annotated[str | None, Field(description="Such as STRICT or SOUND. Default: the subject's.")] = None,
        files: Annotated[
            dict[str, str] | None, Field(description="Texts of schema files that it refers to, by path.")
        ] = None,
    ) -> dict[str, Any]:
        """Check a proposed schema, without registering it. Findings have a rule, a place, a witness and a fix."""
        return _answer(
            lambda: tools.check_change(
                schema, schema_type, subject=subject, earlier=earlier, level=level, policy=policy, files=files or {}
            )
        )

    @server.tool(annotations=_READ_ONLY)
    def who_reads(
        field: Annotated[str, Field(description="SUBJECT, or SUBJECT.PATH of a field.")],
        environment: Environment = None,
    ) -> dict[str, Any]:
        """List the consumers of a subject or of one field: what they declare, and what was seen of them."""
        return _answer(lambda: tools.who_reads(field, environment))

    @server.tool(annotations=_READ_ONLY)
    def can_i_deploy(
        application: Annotated[str, Field(description="The application.")],
        version: Annotated[str, Field(description="Its version.")],
        environment: Annotated[str, Field(description="The environment.")],
    ) -> dict[str, Any]:
        """Ask whether a version of an application may be deployed to an environment, and why not."""
        return _answer(lambda: tools.can_i_deploy(application, version, environment))

    @server.tool(annotations=_READ_ONLY)
    def decode_message(
        message: Annotated[str, Field(description="The bytes of the message in hexadecimal digits.")],
        reader: Annotated[str | None, Field(description="Also read it with this version: SUBJECT@VERSION.")] = None,
    ) -> dict[str, Any]:
        """Take one message apart: its frame, its schema, its value, and what another version reads of it."""
        return _answer(lambda: tools.decode_message(message, reader))

    @server.tool(annotations=_READ_ONLY)
    def explain_rule(
        rule: Annotated[str, Field(description="The rule of a finding, such as type-mismatch.")],
    ) -> dict[str, Any]:
        """Explain a rule: what goes wrong with records, and how to correct it."""
        return _answer(lambda: tools.explain_rule(rule))

    return server


def _answer(ask: "Callable[[], dict[str, Any]]") -> dict[str, Any]:
    """Return the answer; an error becomes one sentence that the model reads, and a bug has its traceback in a file."""
    try:
        return ask()
    except Exception as error:
        text = str(error) or type(error).__name__
        if exit_code_for(error) is ExitCode.BUG:
            text = f"unexpected {type(error).__name__}: {text} ({keep_traceback(error)})"
        raise ToolError(text) from error
