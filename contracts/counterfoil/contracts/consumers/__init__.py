"""The judgement of a change by the consumers whose files are known: who reads what the change breaks."""
