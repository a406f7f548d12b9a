"""From a question to a cited answer: strategies and their events, answers, HTTP and MCP servers, and the web page."""
