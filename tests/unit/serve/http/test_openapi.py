import json
import re
from pathlib import Path
from typing import Any

import claude_mem
from claude_mem.serve.http import openapi
from claude_mem.serve.http.app import TABLE
from claude_mem.serve.requests import fields

DOCUMENT: dict[str, Any] = json.loads(json.dumps(openapi.document(TABLE, "1.2.3", 4711)))
GUIDE = Path(claude_mem.__file__).parents[2] / "docs" / "http-reference.md"


def operations() -> list[dict[str, Any]]:
    return [operation for path in DOCUMENT["paths"].values() for operation in path.values()]


def test_every_route_that_exists_over_tcp_is_described_once() -> None:
    described = [(method.upper(), path) for path, found in DOCUMENT["paths"].items() for method in found]
    assert sorted(described) == sorted((row.method, row.path) for row in TABLE if not row.socket_only)
    assert len({operation["operationId"] for operation in operations()}) == len(operations())


def test_the_document_says_who_it_is_and_that_a_token_or_a_cookie_is_needed() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "1.2.3"
    assert DOCUMENT["servers"] == [{"url": "http://127.0.0.1:4711"}]
    assert DOCUMENT["security"] == [{"token": []}, {"cookie": []}]
    assert DOCUMENT["paths"]["/signin"]["get"]["security"] == []


def test_every_reference_leads_somewhere() -> None:
    for reference in re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(DOCUMENT)):
        assert reference in DOCUMENT["components"]["schemas"]


def test_every_parameter_in_a_path_is_declared() -> None:
    for path, found in DOCUMENT["paths"].items():
        for operation in found.values():
            declared = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))


def test_every_example_fits_its_own_schema() -> None:
    for operation in operations():
        contents = [response.get("content", {}) for response in operation["responses"].values()]
        contents += [operation["requestBody"]["content"]] if "requestBody" in operation else []
        for content in contents:
            media = content.get("application/json", {})
            if "example" in media and "properties" in media["schema"]:
                assert set(media["example"]) <= set(media["schema"]["properties"])


def test_every_route_and_field_is_in_the_reference() -> None:
    guide = GUIDE.read_text()
    for row in TABLE:
        assert f"`{row.method} {row.path}`" in guide
        for field in (field for shape in (row.body, row.query) if shape for field in fields(shape)):
            assert f"`{field.name}`" in guide, f"{row.path}: {field.name}"
