"""Rules and users of other systems as the text of an access file, for review. Nothing is applied."""
