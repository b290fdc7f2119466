"""A network that takes its time: ``forwarder.py PORT TARGET DELAY_MS`` hands on what comes, later, in order.

``DELAY_MS`` is for the way there and back: each way takes half of it.
"""

from __future__ import annotations

import asyncio
import sys


async def forward(reader, writer, delay_s):
    """Hand on what comes, ``delay_s`` later, in order."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        loop.call_later(delay_s, writer.write, data)
    loop.call_later(delay_s, writer.close)


async def delay(port, target, delay_s):
    async def accept(reader, writer):
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(forward(reader, there_writer, delay_s), forward(there_reader, writer, delay_s))

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(delay(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 2000))
