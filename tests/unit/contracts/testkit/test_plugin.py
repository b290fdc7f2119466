"""pytest's plugin for contracts, in runs of pytest inside this process."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import find

import counterfoil.contracts.testkit.reads_plugin
import counterfoil.contracts.testkit.strategies  # noqa: F401 - the runs of pytest forget what they import themselves
from counterfoil.contracts.testkit import Stream, from_contract
from counterfoil.contracts.testkit.session import SESSION
from counterfoil.sdk import AvroDeserializer
from strategies.contracts.kit_project import write_project

pytest_plugins = ["pytester"]

PLUGIN = "counterfoil.contracts.testkit.pytest_plugin"


@pytest.fixture(scope="module", autouse=True)
def everything_is_loaded(tmp_path_factory):
    """Load what the runs use, since they forget the modules that they load themselves."""
    SESSION.begin(str(write_project(tmp_path_factory.mktemp("loaded"))))
    stream = Stream(SESSION)
    (record,) = stream.examples("orders.placed", n=1)
    assert AvroDeserializer(stream.registry)(record.value) == record.decoded
    assert find(from_contract("orders.placed"), lambda _: True)


@pytest.fixture
def run(pytester: pytest.Pytester):
    """Return a function that runs tests in a folder with a contract."""
    write_project(pytester.path)

    def run_tests(code: str, *options: str, plugins: tuple[str, ...] = ()) -> pytest.RunResult:
        pytester.makepyfile(test_own=textwrap.dedent(code))
        named = [word for plugin in (PLUGIN, *plugins) for word in ("-p", plugin)]
        return pytester.runpytest_inprocess("--disable-plugin-autoload", *named, "-p", "no:cacheprovider", *options)

    return run_tests


pytestmark = pytest.mark.slow  # each runs pytest

READS = """
    import pytest
    @pytest.mark.parametrize("n", [1, 2])
    def test_handles(stream, n):
        for record in stream.examples("orders.placed", n=3):
            order = record.decoded
            order["order_id"], [item["sku"] for item in order["items"]], record.header("trace_id"), order.get("{name}")
            record.decoded_key
"""


@pytest.mark.slow
def test_fixtures_give_the_contract_and_real_messages(run):
    code = """
        import pytest
        from counterfoil.contracts.testkit import BrokenPromise, assert_produces
        from counterfoil.sdk import AvroDeserializer

        @pytest.mark.contract("orders.placed")
        def test_both(contract, stream):
            read = AvroDeserializer(stream.registry)
            for record in stream.examples(contract.id, n=5):
                assert read(record.value) == record.decoded
                assert_produces(contract, record.decoded, key=record.decoded_key, headers=record.headers)
                assert record.as_confluent().value() == record.value
            with pytest.raises(BrokenPromise, match="total_cents: value-outside-range: -1 EUR.cent"):
                assert_produces(contract, {**record.decoded, "total_cents": -1, "discount_cents": -9})

        def test_of_the_setting(contract):
            assert contract.topic == "orders.placed"
    """
    run(code, "-o", "counterfoil_contract=orders.odcs.yaml").assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_fixture_without_a_name_says_what_to_do(run):
    result = run("def test_it(contract): pass")
    result.stdout.fnmatch_lines(["*UsageError: the fixture contract needs the name of one: mark the test with*"])


def test_an_unknown_contract_is_named_with_those_that_are_there(run):
    result = run("def test_it(stream): stream.examples('orders.palced')")
    result.stdout.fnmatch_lines(["*InputNotFound: there is no contract 'orders.palced' here; known: orders.placed"])


def test_a_test_fails_that_reads_what_is_not_declared(run):
    result = run(READS.format(name="email"), "--check-reads")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["The test reads $key, email; billing.odps.yaml does not declare that it reads this of orders.placed"]
    )


def test_declared_paths_that_no_test_reads_are_warnings(run, pytester):
    place = pytester.path / "billing.odps.yaml"
    place.write_text(place.read_text().replace("- order_id\n", "- order_id\n          - $key\n"))
    result = run(READS.format(name="total_cents"), "--check-reads")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["warning: billing.odps.yaml declares status of orders.placed, which no test read"])


@pytest.mark.slow
def test_reads_are_added_to_the_file_and_nothing_else_is_changed(run, pytester):
    place = pytester.path / "billing.odps.yaml"
    before = place.read_text().replace("- order_id\n", "- order_id   # the key\n")
    place.write_text(before)
    run(READS.format(name="email"), "--record-reads=billing.odps.yaml").assert_outcomes(passed=2)
    added = "          - $key\n          - email\n"
    after = "          - {path: $header.trace_id, required: true}\n"
    assert place.read_text() == before.replace(after, after + added)
    run(READS.format(name="email"), "--check-reads").assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_new_file_is_written(run, pytester):
    result = run(READS.format(name="status"), "--record-reads=shipping.odps.yaml")
    result.stdout.fnmatch_lines(
        ["shipping.odps.yaml: orders.placed: $header.trace_id, $key, items?].sku, order_id, status"]
    )
    text = (pytester.path / "shipping.odps.yaml").read_text()
    assert "id: shipping" in text
    assert "contractId: orders.placed" in text


@pytest.mark.slow
def test_what_workers_read_is_joined(run):
    code = """
        import pytest
        from counterfoil.contracts.testkit.session import SESSION
        @pytest.mark.parametrize("name", ["order_id", "status", "total_cents", "placed_at"])
        def test_reads_one(name):
            SESSION.recorder.note("orders.placed", [name])
    """
    result = run(code, "--record-reads=new.odps.yaml", "-n2", plugins=("xdist",))
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["new.odps.yaml: orders.placed: order_id, placed_at, status, total_cents"])


def test_reads_of_strategies_models_and_own_deserializers_are_recorded(run):
    code = """
        from dataclasses import dataclass
        from hypothesis import given, settings
        from counterfoil.contracts.testkit import from_contract
        from counterfoil.sdk import AvroDeserializer

        @dataclass
        class OrderPlaced:
            order_id: str
            total_cents: int

        @settings(max_examples=2, database=None)
        @given(order=from_contract("orders.placed"))
        def test_any(order):
            order["status"]

        def test_model(stream):
            read = stream.observe(AvroDeserializer(stream.registry, model=OrderPlaced))
            for record in stream.examples("orders.placed", n=2):
                assert isinstance(read(record.value), OrderPlaced)
    """
    result = run(code, "--record-reads=new.odps.yaml", plugins=("hypothesispytest",))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["new.odps.yaml: orders.placed: order_id, status, total_cents"])


def test_versions_without_a_registry_say_where_one_is_named(run, pytester):
    place = pytester.path / "orders.odcs.yaml"
    place.write_text(place.read_text().replace("{property: registry,", "{property: other,"))
    result = run("def test_it(stream): stream.examples('orders.placed', schema='all-live')")
    result.stdout.fnmatch_lines(
        ["*UsageMistake: the versions of orders.placed-value are in a registry, and none is known*"]
    )
