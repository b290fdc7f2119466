"""An ordinary implementation: FastAPI with a response model, SQLAlchemy's ORM, a session for each request.

``idiomatic.py PORT FILE`` serves ``/schemas/ids/{id}`` from a SQLite file of 1,000 rows, each with the schema of the
response in FILE. The server settings are those of the registry.
"""

import json
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

ROWS = 1000


class Base(DeclarativeBase):
    """The tables."""


class StoredSchema(Base):
    """A row."""

    __tablename__ = "schemas"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class SchemaOut(BaseModel):
    """A response."""

    model_config = ConfigDict(from_attributes=True, serialize_by_alias=True)
    text: str = Field(serialization_alias="schema")


def application(url, text):
    engine = create_async_engine(url)
    sessions = async_sessionmaker(engine, expire_on_commit=False)

    @asynccontextmanager
    async def lifespan(_app):
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with sessions() as session:
            session.add_all([StoredSchema(id=number, text=text) for number in range(1, ROWS + 1)])
            await session.commit()
        yield
        await engine.dispose()

    async def session_of_request():
        async with sessions() as session:
            yield session

    app = FastAPI(lifespan=lifespan)

    @app.get("/schemas/ids/{schema_id}", response_model=SchemaOut)
    async def schema_by_id(schema_id: int, session: Annotated[AsyncSession, Depends(session_of_request)]):
        found = await session.get(StoredSchema, schema_id)
        if found is None:
            raise HTTPException(404, "Schema not found")
        return found

    return app


def main():
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    text = json.loads(file.read_bytes())["schema"]
    with tempfile.TemporaryDirectory(prefix="counterfoil-idiomatic-") as folder:
        uvicorn.run(
            application(f"sqlite+aiosqlite:///{folder}/schemas.db", text),
            port=port,
            http="httptools",
            loop="uvloop",
            access_log=False,
            log_level="error",
            server_header=False,
        )


if __name__ == "__main__":
    main()
