"""A contract, an application and their schema, for tests of agreements."""

from __future__ import annotations

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: orders.placed
name: Orders placed
version: 2.1.0
status: active
team:
  name: checkout
servers:
  - server: production
    type: kafka
    environment: production
    host: kafka:9092
    customProperties:
      - {property: registry, value: "http://registry:8081"}
schema:
  - name: OrderPlaced
    physicalName: orders.placed
    authoritativeDefinitions:
      - {type: schema, url: ./schemas/order.avsc}
    customProperties:
      - {property: compatibility, value: FULL_TRANSITIVE}
      - property: messageKey
        value: {subject: orders.placed-key, field: order_id}
      - property: headers
        value:
          - {name: trace_id, required: true, pattern: "^[0-9a-f]{32}$"}
    quality:
      - id: discount_fits
        type: custom
        engine: cel
        implementation: "message.total_cents >= message.discount_cents"
      - id: volume
        type: library
        metric: rowCount
        arguments: {window: PT1H}
        mustBeBetween: [1000, 200000]
    properties:
      - {name: order_id, logicalType: string, required: true}
      - name: total_cents
        logicalType: integer
        required: true
        logicalTypeOptions: {minimum: 0, exclusiveMaximum: 100000000}
        customProperties:
          - {property: unit, value: EUR.cent}
      - name: status
        logicalType: string
        enum:
          - {value: NEW, description: accepted by checkout}
          - {value: PAID, description: payment captured}
        customProperties:
          - {property: enumPolicy, value: open}
      - {name: email, logicalType: string, classification: confidential, tags: [pii, pii.email], deprecated: true}
      - name: items
        logicalType: array
        items:
          logicalType: object
          properties:
            - {name: sku, logicalType: string}
slaProperties:
  - {property: freshness, value: 5, unit: minutes, element: OrderPlaced.placed_at}
customProperties:
  - property: migration
    value:
      - {from: "1", to: "2", converter: converters/orders.yaml, sunset: "2027-03-31"}
  - {property: somebodyElses, value: [1, 2]}
"""
APPLICATION = """\
apiVersion: v1.0.0
kind: DataProduct
id: billing
name: billing
version: 4.7.1
status: active
team:
  name: finance
inputPorts:
  - name: orders
    version: "2"
    contractId: orders.placed
    customProperties:
      - {property: consumerGroups, value: [billing-main]}
      - {property: onUnknownEnum, value: default}
      - property: reads
        value:
          - order_id
          - {path: total_cents, as: integer, min: 0, unit: EUR.cent}
          - {path: status, enum: [NEW, PAID]}
          - {path: "items[].sku", whenPresent: true}
          - {path: $header.trace_id, required: true}
      - {property: reprocessesFrom, value: P30D}
      - {property: pinned, value: false}
"""
SCHEMA = """\
{"type": "record", "name": "OrderPlaced", "namespace": "shop", "fields": [
  {"name": "order_id", "type": "string"},
  {"name": "total_cents", "type": "long"},
  {"name": "discount_cents", "type": ["null", "long"], "default": null},
  {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]}},
  {"name": "email", "type": ["null", "string"], "default": null},
  {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
    {"name": "sku", "type": "string"}]}}},
  {"name": "placed_at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
"""
BRIDGE = "bridge: orders\nsource: {topic: orders}\ntarget: {topic: orders.v2}\n"
