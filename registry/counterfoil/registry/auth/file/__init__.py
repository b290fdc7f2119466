"""The access file: who exists, who may do what, whom to believe. It is read again while a server runs."""
