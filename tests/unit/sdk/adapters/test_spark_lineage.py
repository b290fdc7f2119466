"""What a Spark query reads, from plans in the form in which Spark writes them as JSON."""

from __future__ import annotations

from typing import Any

from counterfoil.sdk.adapters.spark_lineage import from_avro, reads_of_plan

EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
OPERATORS = "org.apache.spark.sql.catalyst.plans.logical."
FIELDS = ("order_id", "total", "items")
OURS = {"from_registry(orders-value, 0)": FIELDS}
VALUE = from_avro("value")

Tree = list[dict[str, Any]]


def expression(kind: str, *children: Tree, **fields: Any) -> Tree:
    own = {"class": f"{EXPRESSIONS}{kind}", "num-children": len(children), **fields}
    return [own, *(node for child in children for node in child)]


def column(number: int, name: str = "") -> Tree:
    return expression("AttributeReference", name=name, exprId={"id": number})


def alias(number: int, child: Tree) -> Tree:
    return expression("Alias", child, exprId={"id": number})


def part(child: Tree, name: str | None, ordinal: int = 0) -> Tree:
    return expression("GetStructField", child, name=name, ordinal=ordinal)


def of_items(child: Tree, name: str) -> Tree:
    return expression("GetArrayStructFields", child, field={"name": name})


def decoded(field: str = "value") -> Tree:
    return expression("AvroDataToCatalyst", column(0, field))


def operator(kind: str, *inputs: Tree, **fields: Any) -> Tree:
    own = {"class": f"{OPERATORS}{kind}", "num-children": len(inputs), "child": 0, **fields}
    return [own, *(node for each in inputs for node in each)]


def source() -> Tree:
    return operator("LogicalRDD", output=[column(0, "value")])


def project(child: Tree, *expressions: Tree) -> Tree:
    return operator("Project", child, projectList=list(expressions))


def explode(child: Tree, what: Tree, *made: int, kind: str = "Explode") -> Tree:
    generator = expression(kind, what)
    return operator("Generate", child, generator=generator, generatorOutput=[column(number) for number in made])


def decode(number: int = 1) -> Tree:
    return project(source(), alias(number, decoded()))


def reads(plan: Tree) -> dict[str, list[str]]:
    return reads_of_plan(plan, OURS)


def test_parts_are_followed_through_projections_and_conditions() -> None:
    inner = project(decode(), alias(2, part(column(1), "buyer")), alias(3, part(column(1), "note")))
    condition = expression("GreaterThan", part(column(2), "age"), expression("Literal", value="3"))
    plan = project(operator("Filter", inner, condition=condition), alias(4, part(column(2), "email")))
    assert reads(plan) == {VALUE: ["buyer.age", "buyer.email"]}


def test_a_value_that_a_query_returns_or_passes_to_a_function_is_read_whole() -> None:
    assert reads(decode()) == {VALUE: ["*"]}
    assert reads(operator("GlobalLimit", decode(), limitExpr=expression("Literal", value="1"))) == {VALUE: ["*"]}
    assert reads(project(decode(), alias(2, expression("StructsToJson", column(1))))) == {VALUE: ["*"]}
    assert reads(project(decode(), alias(2, part(column(1), None)))) == {VALUE: ["*"]}


def test_a_value_that_nobody_uses_is_not_read() -> None:
    assert reads(project(decode(), alias(2, expression("Literal", value="1")))) == {}
    assert reads(operator("Aggregate", decode(), aggregateExpressions=[alias(2, expression("Count"))])) == {}


def test_items_of_arrays_and_entries_of_maps_have_their_own_paths() -> None:
    lines = part(column(1), "lines")
    exploded = explode(decode(), lines, 2)
    assert reads(project(exploded, alias(3, part(column(2), "sku")))) == {VALUE: ["lines[].sku"]}
    assert reads(project(exploded, alias(3, expression("Literal", value="1")))) == {VALUE: ["lines[]"]}
    skus = explode(decode(), of_items(lines, "sku"), 2, 3, kind="PosExplode")
    assert reads(project(skus, column(3))) == {VALUE: ["lines[].sku"]}
    first = expression("GetArrayItem", of_items(lines, "sku"), expression("Literal", value="0"))
    assert reads(project(decode(), alias(2, first))) == {VALUE: ["lines[].sku"]}
    entries = explode(decode(), part(column(1), "attrs"), 2, 3)
    assert reads(project(entries, column(3))) == {VALUE: ["attrs{}"]}
    other = explode(decode(), lines, 2, kind="Inline")
    assert reads(project(other, column(2))) == {VALUE: ["lines"]}


def test_both_sides_of_a_join_and_all_of_a_union_count() -> None:
    left = project(decode(1), alias(2, part(column(1), "id")))
    right = project(decode(3), alias(4, part(column(3), "id")), alias(5, part(column(3), "name")))
    joined = operator("Join", left, right, condition=expression("EqualTo", column(2), column(4)))
    assert reads(project(joined, column(5))) == {VALUE: ["id", "name"]}
    assert reads(joined) == {VALUE: ["id", "name"]}
    united = operator("Union", left, right, output=[column(9)])
    assert reads(project(united, column(9))) == {VALUE: ["id", "name"]}


def test_keys_have_a_name_of_their_own() -> None:
    plan = project(source(), alias(1, part(decoded("key"), "id")), alias(2, part(decoded(), "total")))
    assert reads(plan) == {from_avro("key"): ["id"], VALUE: ["total"]}


def ours(result: int) -> Tree:
    """Return the column of ``from_registry``, whose function has the result ``result``."""
    parts = [
        each
        for number, name in enumerate(FIELDS)
        for each in (expression("Literal", value=name), part(column(result), f"c{number}", number))
    ]
    is_read = part(column(result), "is_read", len(FIELDS))
    return expression("CaseWhen", is_read, expression("CreateNamedStruct", *parts))


def test_columns_of_from_registry_have_the_names_of_the_schema() -> None:
    [name] = OURS
    call = expression("PythonUDF", column(0, "value"), name=name)
    evaluated = operator("ArrowEvalPython", source(), udfs=[call], resultAttrs=[column(5)])
    assert reads(project(evaluated, alias(6, ours(5)))) == {name: ["items", "order_id", "total"]}
    inner = project(evaluated, alias(6, ours(5)))
    plan = project(inner, alias(7, part(column(6), "total", 1)), alias(8, of_items(part(column(6), "items", 2), "sku")))
    assert reads(plan) == {name: ["items[].sku", "total"]}
    filtered = operator("Filter", evaluated, condition=expression("IsNotNull", part(column(5), "c1", 1)))
    assert reads(project(filtered, alias(6, expression("Literal", value="1")))) == {name: ["total"]}
    permissive = expression(
        "CreateNamedStruct",
        *(expression("Literal", value="value"), ours(5)),
        *(expression("Literal", value="reason"), part(column(5), "reason", len(FIELDS) + 1)),
    )
    inner = project(evaluated, alias(6, permissive))
    assert reads(project(inner, alias(7, part(part(column(6), "value"), "order_id")))) == {name: ["order_id"]}


def test_a_value_that_is_no_record_is_read_whole() -> None:
    name = "from_registry(counts-value, 0)"
    call = expression("PythonUDF", column(0, "value"), name=name)
    evaluated = operator("ArrowEvalPython", source(), udfs=[call], resultAttrs=[column(5)])
    value = expression("CaseWhen", part(column(5), "is_read", 1), part(column(5), "c0", 0))
    assert reads_of_plan(project(evaluated, alias(6, value)), {name: ("",)}) == {name: ["*"]}


def test_the_function_of_another_package_is_none_of_ours() -> None:
    call = expression("PythonUDF", part(decoded(), "total"), name="other")
    evaluated = operator("BatchEvalPython", source(), udfs=[call], resultAttrs=[column(5)])
    assert reads(project(evaluated, column(5))) == {VALUE: ["total"]}
