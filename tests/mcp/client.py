"""The official Python client against `envdoc mcp`: client.py ENVDOC MODE, in the repository's directory.

MODE is how the client negotiates: `legacy` (initialize) or `auto` (server/discover). Every tool is called on recorded inputs, every
answer is validated against the tool's schema and against docs/schemas. The last line is the number of answers.
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import anyio
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ResourceTemplateReference

SERVER = "tests/servers/broken-driver-library-mismatch.json"
HEALTHY = "tests/servers/healthy-l40s.json"
LOG = "tests/logs/failures/a9-kernel-oom-a.log"
DOCKERFILE = "tests/lint/seeds/multi-node.Dockerfile"
TOOLS = ["check", "explain", "resolve", "lint", "inspect", "diagnose", "snapshot"]
answers = 0


def published(tool):
    return json.loads(Path(f"docs/schemas/{tool}.json").read_text())


class Session:
    def __init__(self, client, tools):
        self.client = client
        self.schemas = {tool.name: tool.output_schema for tool in tools}

    async def call(self, tool, **arguments):
        """An answer of a tool, valid by both schemas."""
        global answers
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, f"{tool} {arguments}: {result.content[0].text}"
        document = result.structured_content
        Draft202012Validator(self.schemas[tool]).validate(document)
        Draft202012Validator(published(tool)).validate({key: value for key, value in document.items() if key != "cut"})
        assert len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) <= arguments.get("max_bytes", 65536)
        assert len(result.content) == 1 and result.content[0].text, tool
        answers += 1
        return document, result.content[0].text

    async def fails(self, tool, expected, **arguments):
        """The text of an error: the words of the program, as a result that a model reads."""
        global answers
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text
        assert result.is_error and text.startswith("error: ") and expected in text, f"{tool} {arguments}: {text}"
        answers += 1


async def lists(client):
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS, tools
    for tool in tools:
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert tool.annotations.open_world_hint == (tool.name == "inspect")
        assert tool.input_schema["additionalProperties"] is False and "$ref" not in json.dumps(tool.input_schema)
        for name, argument in tool.input_schema["properties"].items():
            assert len(argument["description"]) > 10, f"{tool.name} {name}"
        schema = dict(tool.output_schema)
        schema["properties"] = {key: value for key, value in schema["properties"].items() if key != "cut"}
        assert schema == published(tool.name), tool.name
    return tools


async def check(session):
    document, text = await session.call("check", **{"from": SERVER})
    results = {result["check"]: result for result in document["results"]}
    assert results["driver-library-mismatch"]["status"] == "error"
    assert "driver-library-mismatch" in text and "\x1b" not in text
    only, _ = await session.call("check", **{"from": SERVER}, only=["driver"])
    assert 0 < len(only["results"]) < len(document["results"])
    assert {result["group"] for result in only["results"]} == {"driver"}
    missing, _ = await session.call("check", **{"from": HEALTHY}, expect=["gpus=64"])
    assert missing["summary"]["error"] > 0
    # This machine, whatever it is.
    here, _ = await session.call("check", timeout=20)
    assert here["results"]
    await session.fails("check", "did you mean driver?", only=["dirver"])
    await session.fails("check", "unknown argument \"form\"", form=SERVER)
    await session.fails("check", "is of type string, not array", only="driver")
    await session.fails("check", "cannot read /no/such/file.json", **{"from": "/no/such/file.json"})
    await session.fails("check", "standard input is the connection", **{"from": "-"})
    await session.fails("check", "greater than 0", timeout=0)


async def parts(session):
    """All parts of a long answer are the whole answer."""
    whole, _ = await session.call("check", **{"from": SERVER}, max_bytes=1048576)
    assert "cut" not in whole
    results, cursor, count = [], None, 0
    while True:
        arguments = {"from": SERVER, "max_bytes": 8192} | ({"cursor": cursor} if cursor else {})
        part, text = await session.call("check", **arguments)
        first = part["cut"]["lists"][0]
        assert text.startswith("Partial answer: /results"), text
        assert (first["list"], first["first"], first["total"]) == ("/results", len(results), len(whole["results"]))
        results += part["results"]
        count += 1
        cursor = part["cut"]["next_cursor"]
        if cursor is None:
            break
    assert results == whole["results"] and count > 2
    await session.fails("check", "invalid cursor", cursor="last")
    await session.fails("check", "has expired", cursor="999.1")
    await session.fails("check", "it must be 8192 to 1048576", max_bytes=1)


async def others(session):
    document, _ = await session.call("explain", text="driver-library-mismatch")
    assert document["topic"] == "check" and document["explanation"].startswith("# driver-library-mismatch")
    for text, topic in [("xid 79", "failure"), ("torch==2.6.0+cu121", "name"), ("cache-left-in-layer", "rule")]:
        document, _ = await session.call("explain", text=text)
        assert document["topic"] == topic, document
    await session.fails("explain", "did you mean driver-library-mismatch?", text="driver-libary-mismatch")
    await session.fails("explain", "is empty", text="")

    document, text = await session.call("resolve", cuda="12.1", python="3.12")
    assert document["stack"]["torch"] == "2.5.1" and "2.5.1" in text
    document, _ = await session.call("resolve", torch="2.6.1")
    assert document["stack"] is None and document["conflict"]
    document, _ = await session.call("resolve", **{"from": [HEALTHY]}, deepspeed="any", prefer="stable")
    assert document["stack"]["deepspeed"]
    await session.fails("resolve", "error: ", cuda="twelve")

    document, text = await session.call("lint", paths=[DOCKERFILE])
    assert document["findings"] and document["files"] == [DOCKERFILE] and DOCKERFILE in text
    document, _ = await session.call("lint", paths=["tests/lint/seeds"], only=["dockerfile"])
    assert document["checked"]
    await session.fails("lint", "must name a file")
    await session.fails("lint", "type: expected one of", paths=[DOCKERFILE], type="novel")
    await session.fails("lint", "standard input is the connection", paths=["-"])

    document, text = await session.call("diagnose", paths=[LOG])
    assert document["causes"][0]["id"] == "mem-kernel-oom-kill", document["causes"][0]
    document, _ = await session.call("diagnose", paths=[LOG], **{"from": SERVER})
    assert document["causes"]
    await session.fails("diagnose", "cannot be used together", paths=[LOG], here=True, **{"from": SERVER})
    await session.fails("diagnose", "missing field `paths`")
    await session.fails("diagnose", "no such file", paths=["/no/such.log"])

    # Without an argument for it, nothing asks a registry.
    await session.fails("inspect", "its registry was not asked", image="registry.invalid/team/train:1", host="unix:///no/such.sock")
    await session.fails("inspect", "image: ", image="UPPER/case image")


async def redaction(session):
    """What a log and this machine say about people and networks stays here, unless the call says otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "job.log")
        log.write_text("rank0: connecting to 203.0.113.77 with token=s3cr3tvalue99\ntorch.OutOfMemoryError: CUDA out of memory.\n")
        document, text = await session.call("diagnose", paths=[str(log)])
        assert "203.0.113.77" not in json.dumps(document) + text and "s3cr3tvalue99" not in json.dumps(document) + text
    document, text = await session.call("snapshot", timeout=20, max_bytes=1048576)
    assert document["redacted"] is True and document["readings"] and "replaced by placeholders" in text
    document, text = await session.call("snapshot", timeout=20, redact=False, max_bytes=8192)
    assert document["redacted"] is False and document["cut"]["next_cursor"] and "are kept" in text


async def resources(client):
    global answers
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            break
    uris = [str(resource.uri) for resource in found]
    assert len(uris) == len(set(uris)) and len(uris) > 500, len(uris)
    templates = (await client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == [f"envdoc://{one}/{{id}}" for one in ["check", "rule", "signature"]]
    for uri in ["envdoc://check/driver-library-mismatch", "envdoc://rule/cache-left-in-layer", "envdoc://signature/mem-kernel-oom-kill"]:
        assert uri in uris, uri
    for uri in uris:
        contents = (await client.read_resource(uri)).contents
        assert contents[0].mime_type == "text/markdown" and contents[0].text.startswith("# "), uri
        answers += 1
    try:
        await client.read_resource("envdoc://check/no-such-check")
        raise AssertionError("a resource that does not exist was read")
    except MCPError:
        pass
    reference = ResourceTemplateReference(type="ref/resource", uri="envdoc://check/{id}")
    completed = await client.complete(reference, {"name": "id", "value": "driver-library-mis"})
    assert completed.completion.values == ["driver-library-mismatch"], completed


async def cancellation(client):
    """A call that the client gives up is cancelled, and the session goes on."""
    # Too large to be read in the time.
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "long.log")
        line = b"step 1 loss 2.0 lr 0.0001 grad_norm 1.0 tokens 1234567\n"
        with log.open("wb") as file:
            for _ in range(8):
                file.write(line * 150_000)
        start = time.monotonic()
        with anyio.move_on_after(0.05) as scope:
            await client.call_tool("diagnose", {"paths": [str(log)]})
        result = await client.call_tool("explain", {"text": "xid 79"})
        assert scope.cancelled_caught and not result.is_error
        assert time.monotonic() - start < 30


async def main(envdoc, mode):
    parameters = StdioServerParameters(command=envdoc, args=["mcp", "--no-config"])
    async with Client(parameters, mode=mode, read_timeout_seconds=120) as client:
        assert client.server_info.name == "envdoc" and "unknown" in client.instructions
        session = Session(client, await lists(client))
        await check(session)
        await parts(session)
        await others(session)
        await redaction(session)
        await resources(client)
        await cancellation(client)
        print(f"{client.protocol_version}: {answers} answers")


asyncio.run(main(sys.argv[1], sys.argv[2]))
