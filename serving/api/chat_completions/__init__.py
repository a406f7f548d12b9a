"""The API of OpenAI: models and chat completions."""
