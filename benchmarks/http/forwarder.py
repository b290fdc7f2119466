"""A network with latency: ``forwarder.py PORT TARGET DELAY_MS`` forwards all data later, in order.

``DELAY_MS`` is for the way there and back: each direction takes half of it.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop


class End(asyncio.Protocol):
    """One end of a connection: received data is sent by ``other``, ``delay_s`` later; None is the end of the data."""

    def __init__(self, delay_s, other=None):
        self._loop = asyncio.get_running_loop()
        self._delay_s = delay_s
        self._early = []
        self.other = other
        self.transport = None

    def connection_made(self, transport):
        """Keep the transport."""
        self.transport = transport

    def data_received(self, data):
        """Forward the data after the delay."""
        self._loop.call_later(self._delay_s, self._hand_on, data)

    def connection_lost(self, _):
        """Forward the end of the data after the delay."""
        self._loop.call_later(self._delay_s, self._hand_on, None)

    def send(self, data):
        """Send what the other end has received."""
        if data is None:
            self.transport.close()
        else:
            self.transport.write(data)

    def _hand_on(self, data):
        if self.other is None:
            self._early.append(data)
        else:
            self.other.send(data)


class Entrance(End):
    """The end that clients connect to; it connects to the target."""

    def __init__(self, delay_s, target):
        super().__init__(delay_s)
        self._target = target

    def connection_made(self, transport):
        """Begin to connect to the target."""
        super().connection_made(transport)
        self._connecting = self._loop.create_task(self._connect())

    async def _connect(self):
        _, other = await self._loop.create_connection(lambda: End(self._delay_s, self), "127.0.0.1", self._target)
        for data in self._early:
            other.send(data)
        self.other = other


async def delay(port, target, delay_s):
    server = await asyncio.get_running_loop().create_server(lambda: Entrance(delay_s, target), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(delay(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 2000))
