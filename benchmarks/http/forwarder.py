"""A network that takes its time: ``forwarder.py PORT TARGET DELAY_MS`` hands on what comes, later, in order.

``DELAY_MS`` is for the way there and back: each way takes half of it.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop


class End(asyncio.Protocol):
    """One end of a connection: what comes in here is handed to ``other``, ``delay_s`` later; None is its end."""

    def __init__(self, delay_s, other=None):
        self._loop = asyncio.get_running_loop()
        self._delay_s = delay_s
        self._early = []
        self.other = other
        self.transport = None

    def connection_made(self, transport):
        """Take note of where to send to."""
        self.transport = transport

    def data_received(self, data):
        """Hand on what came."""
        self._loop.call_later(self._delay_s, self._hand_on, data)

    def connection_lost(self, _):
        """Hand on that nothing more will come."""
        self._loop.call_later(self._delay_s, self._hand_on, None)

    def send(self, data):
        """Send what came at the other end."""
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
    """The end that others connect to; it connects on."""

    def __init__(self, delay_s, target):
        super().__init__(delay_s)
        self._target = target

    def connection_made(self, transport):
        """Connect on."""
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
