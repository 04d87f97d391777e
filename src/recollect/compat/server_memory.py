"""The nine tools of the reference MCP memory server, with its names, arguments and results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from recollect.compat.graph_file import GraphFile
from recollect.errors import RecollectError
from recollect.home import Home
from recollect.mcp.server import over_stdio, plain_server

__all__ = [
    "AddedObservations",
    "Deleted",
    "Entities",
    "GraphEntity",
    "GraphRelation",
    "NewObservations",
    "Nodes",
    "OldObservations",
    "Relations",
    "Results",
    "build_graph_server",
    "serve_graph",
]

URI = "memory://knowledge-graph"


class GraphEntity(TypedDict):
    """An entity of the graph."""

    name: Annotated[str, Field(description="Its name.")]
    entityType: Annotated[str, Field(description="What it is, such as person.")]
    observations: Annotated[list[str], Field(description="Facts about it, one each.")]


GraphRelation = TypedDict(
    "GraphRelation",
    {
        "from": Annotated[str, Field(description="GraphEntity where it begins.")],
        "to": Annotated[str, Field(description="GraphEntity where it ends.")],
        "relationType": Annotated[str, Field(description="What connects them, such as works at.")],
    },
)
GraphRelation.__doc__ = "A relation of the graph, between two entities."


class NewObservations(TypedDict):
    """Observations to add to an entity."""

    entityName: str
    contents: list[str]


class OldObservations(TypedDict):
    """Observations to delete from an entity."""

    entityName: str
    observations: list[str]


class AddedObservations(TypedDict):
    """Observations that were new to an entity."""

    entityName: str
    addedObservations: list[str]


class Entities(TypedDict):
    """Result of create_entities."""

    entities: list[GraphEntity]


class Relations(TypedDict):
    """Result of create_relations."""

    relations: list[GraphRelation]


class Results(TypedDict):
    """Result of add_observations."""

    results: list[AddedObservations]


class Deleted(TypedDict):
    """Result of the tools that delete."""

    success: bool
    message: str


class Nodes(TypedDict):
    """Result of the tools that read."""

    entities: list[GraphEntity]
    relations: list[GraphRelation]


def serve_graph(path: Path, home: Home, workspace: str, agent: str) -> None:
    """Serve the tools on stdin and stdout until stdin ends. Due upkeep runs in the background."""
    over_stdio(build_graph_server(GraphFile(path, home, workspace, agent)), home)


def build_graph_server(graph: GraphFile) -> MCPServer[Any]:
    """Build the server with the tools and the resource of the whole graph."""

    def create_entities(entities: list[GraphEntity]) -> Annotated[CallToolResult, Entities]:
        """Add entities to the knowledge graph. One whose name exists already is left as it is."""
        new = _done(graph.create_entities, entities)
        return _result({"entities": new}, new)

    def create_relations(relations: list[GraphRelation]) -> Annotated[CallToolResult, Relations]:
        """Add relations between entities, in the active voice. Known ones are left out."""
        new = _done(graph.create_relations, relations)
        return _result({"relations": new}, new)

    def add_observations(observations: list[NewObservations]) -> Annotated[CallToolResult, Results]:
        """Add observations to entities that exist."""
        results = _done(graph.add_observations, observations)
        return _result({"results": results}, results)

    def delete_entities(entityNames: list[str]) -> Annotated[CallToolResult, Deleted]:
        """Delete entities and all relations from and to them."""
        return _deleted("Entities", graph.delete_entities, entityNames)

    def delete_observations(deletions: list[OldObservations]) -> Annotated[CallToolResult, Deleted]:
        """Delete observations from entities."""
        return _deleted("Observations", graph.delete_observations, deletions)

    def delete_relations(relations: list[GraphRelation]) -> Annotated[CallToolResult, Deleted]:
        """Delete relations."""
        return _deleted("Relations", graph.delete_relations, relations)

    def read_graph() -> Annotated[CallToolResult, Nodes]:
        """Read the whole knowledge graph."""
        return _result(_done(graph.read_graph))

    def search_nodes(query: str) -> Annotated[CallToolResult, Nodes]:
        """Find entities that contain a text in their name, type or an observation, with their relations."""
        return _result(_done(graph.search_nodes, query))

    def open_nodes(names: list[str]) -> Annotated[CallToolResult, Nodes]:
        """Read entities by their names, with their relations."""
        return _result(_done(graph.open_nodes, names))

    writes = (create_entities, create_relations, add_observations)
    deletes, reads = (delete_entities, delete_observations, delete_relations), (read_graph, search_nodes, open_nodes)
    tools = [_tool(one, reads=one in reads, deletes=one in deletes) for one in (*writes, *deletes, *reads)]
    server = plain_server("memory-server", "A knowledge graph that lasts beyond this session.", tools)

    @server.resource(URI, name="knowledge-graph", title="Knowledge Graph", mime_type="application/json")
    def knowledge_graph() -> str:
        """All entities and relations."""
        return json.dumps(graph.read_graph(), ensure_ascii=False, indent=2)

    return server


def _tool(function: Callable[..., Any], *, reads: bool, deletes: bool) -> Tool:
    hints = ToolAnnotations(
        read_only_hint=reads, destructive_hint=deletes, idempotent_hint=reads or deletes, open_world_hint=False
    )
    title = function.__name__.replace("_", " ").title()
    return Tool.from_function(function, title=title, structured_output=True, annotations=hints)


def _done(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except RecollectError as error:
        raise ToolError(str(error)) from error


def _deleted(what: str, function: Callable[..., None], given: Any) -> CallToolResult:
    _done(function, given)
    message = f"{what} deleted successfully"
    return CallToolResult(content=[TextContent(text=message)], structured_content={"success": True, "message": message})


def _result(structured: dict[str, Any], shown: Any = None) -> CallToolResult:
    """Return a result with its text: JSON with an indentation, as the other server has it."""
    text = json.dumps(structured if shown is None else shown, ensure_ascii=False, indent=2)
    return CallToolResult(content=[TextContent(text=text)], structured_content=structured)
