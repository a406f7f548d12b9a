"""Parts shared by strategies that ask several queries."""
