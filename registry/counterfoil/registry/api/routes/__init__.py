"""The routes: each is declared once, as FastAPI's ``APIRoute``."""
