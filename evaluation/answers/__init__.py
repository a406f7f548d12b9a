"""What an answer is worth: against reference answers, against its records, and as the form that was asked for."""
