"""HTTP mechanics shared by the JSON API, the MCP server and the web page."""
