"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

check = (
    "counterfoil.contracts.cli.check:check",
    "Check changed schemas against a git ref, a file or a registry.",
    "Check",
)
init = (
    "counterfoil.contracts.cli.start:init",
    "Write counterfoil.yaml, the project file, for the schemas here.",
    "Check",
)
generate = "counterfoil.contracts.cli.generate:generate", "Write contract and product files from schemas.", "Contracts"
lint = (
    "counterfoil.contracts.cli.lint:lint",
    "Check contract, product, project and schema files by themselves.",
    "Check",
)
test = "counterfoil.contracts.cli.test:test", "Test records of topics against contracts and a proposed schema.", "Check"
diff = "counterfoil.contracts.cli.diff:diff", "List what changed between two schemas.", "Check"
approve = "counterfoil.contracts.cli.approve:approve", "Accept single findings of a check until a day.", "Check"
publish = "counterfoil.contracts.cli.publish:publish", "Store contract and product files in a registry.", "Contracts"
can_i_deploy = (
    "counterfoil.contracts.cli.deployments:can_i_deploy",
    "Print whether a version may be deployed, or a contract retired.",
    "Contracts",
)
record = (
    "counterfoil.contracts.cli.deployments:record",
    "Record which version of an application is live where.",
    "Contracts",
)
usage = "counterfoil.contracts.cli.lists:usage", "Print who reads a subject and its fields.", "Contracts"
plan = (
    "counterfoil.contracts.cli.plan:plan",
    "Print what has to change so that a registry has what the files declare.",
    "Registry",
)
apply = "counterfoil.contracts.cli.plan:apply", "Make the changes of a plan in a registry.", "Registry"
schema = (
    "counterfoil.contracts.cli.publish:schema",
    "Print the text of one schema, and register schema files.",
    "Registry",
)
decode = (
    "counterfoil.contracts.cli.consume:decode",
    "Take one message apart: frame, schema, value, and what a reader makes of it.",
    "Messages",
)
encode = (
    "counterfoil.contracts.cli.produce:encode",
    "Write values as messages: JSON lines to hexadecimal digits or a file.",
    "Messages",
)
consume = "counterfoil.contracts.cli.consume:consume", "Print a few records of a topic, with their schemas.", "Messages"
produce = "counterfoil.contracts.cli.produce:produce", "Write a few records to a topic, from JSON lines.", "Messages"
completion = (
    "counterfoil.contracts.cli.start:completion",
    "Print the completion of commands for a shell.",
    "Administration",
)
tutorial = (
    "counterfoil.contracts.cli.start:tutorial",
    "Make the start of a tutorial in an empty folder.",
    "Check",
)
environments = (
    "counterfoil.contracts.cli.lists:environments",
    "List the environments, or what is live in one.",
    "Contracts",
)
applications = (
    "counterfoil.contracts.cli.lists:applications",
    "List the applications, or the versions of one.",
    "Contracts",
)
matrix = "counterfoil.contracts.cli.lists:matrix", "Print which versions fit together in an environment.", "Contracts"
mcp = "counterfoil.contracts.cli.start:mcp", "Serve read-only tools to a language model (MCP).", "Administration"
