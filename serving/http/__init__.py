"""The HTTP layer that the JSON API, the MCP server and the web page share."""
