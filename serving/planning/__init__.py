"""Answering a question by way of other questions: what the strategies that plan share."""
