"""OpenAI's API: models and chat completions."""
