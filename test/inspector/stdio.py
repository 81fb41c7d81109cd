"""Calls a tool of a command by the official client: `python stdio.py CONFIG TOOL ARGUMENTS`."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

config, tool, arguments = sys.argv[1:]
with open(config, encoding="utf-8") as file:
    own = json.load(file)["mcpServers"]["own"]


async def main():
    server = StdioServerParameters(command=own["command"], args=own["args"], env=own["env"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool(tool, json.loads(arguments))
        print(json.dumps(result.model_dump(by_alias=True)["structuredContent"]))


asyncio.run(main())
