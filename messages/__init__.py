"""Messages to people, in English and in Korean: templates with values, and the language to show them in."""
