"""A real nginx with one of the recipes in ``deploy/nginx``: on a free port, in a folder of its own.

If the Debian package is not installed it is unpacked in the cache: :mod:`local_services.debian`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local_services.debian import installed_program, library_path, unpacked_packages
from local_services.process import Service, ServiceInFolder, free_port, is_listening

if TYPE_CHECKING:
    from collections.abc import Mapping

_RECIPES: Final = Path(__file__).parents[1] / "nginx"
_PACKAGES: Final = ("nginx",)
_STREAM_PACKAGES: Final = ("libnginx-mod-stream",)
_STREAM_MODULE: Final = Path("usr", "lib", "nginx", "modules", "ngx_stream_module.so")
_CONFIGURATION: Final = """\
{modules}
{user}
daemon off;
worker_processes 1;
error_log stderr;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include conf.d/*.conf;
}}
include stream.d/*.conf;
"""


class Nginx(ServiceInFolder):
    """A running nginx with the file ``recipe`` of ``deploy/nginx``; a context manager that stops it.

    ``replaced`` are texts of the recipe and what stands in their place: addresses and files. Its port 443 becomes
    ``port``. ``snippets`` are further files that the recipe includes, by name. A recipe with a block ``stream`` stands
    beside nginx's block ``http``.
    """

    def __init__(self, recipe: str, replaced: Mapping[str, str], *, snippets: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-nginx-"))
        text = (_RECIPES / recipe).read_text()
        for old, new in {"listen 443": f"listen 127.0.0.1:{self.port}", **replaced}.items():
            if old not in text:
                raise ValueError(f"{recipe} does not contain {old}")
            text = text.replace(old, new)
        is_stream = "\nstream {" in text
        program, environment = _program()
        modules = _stream_module(program) if is_stream else ""
        user = "user root;" if os.geteuid() == 0 else ""
        self._write("nginx.conf", _CONFIGURATION.format(modules=modules, user=user, folder=self._folder))
        self._write(f"{'stream' if is_stream else 'conf'}.d/counterfoil.conf", text)
        for path in _RECIPES.glob("*-proxy.conf"):
            self._write(f"snippets/{path.name}", path.read_text())
        for name, content in (snippets or {}).items():
            self._write(f"snippets/{name}", content)
        self._service = self._start(program, environment)

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def _start(self, program: Path, environment: Mapping[str, str]) -> Service:
        command = [str(program), "-p", str(self._folder), "-c", str(self._folder / "nginx.conf"), "-e", "stderr"]
        service = Service("nginx", command, log=self._folder / "nginx.log", environment=environment)
        service.wait_ready(partial(is_listening, self.port))
        return service


def _program() -> tuple[Path, Mapping[str, str]]:
    """Return the path of nginx, and the environment that it needs."""
    program = installed_program("nginx")
    if program is not None:
        return program, {}
    packages = unpacked_packages("nginx", _PACKAGES, size="1 MB")
    return packages / "usr" / "sbin" / "nginx", library_path(packages)


def _stream_module(program: Path) -> str:
    """Return the line that loads nginx's module for the block ``stream``; none if ``program`` has it built in."""
    built = subprocess.run([program, "-V"], capture_output=True, text=True, check=True).stderr
    if "--with-stream " in built:
        return ""
    module = Path("/") / _STREAM_MODULE
    if not module.exists():
        module = unpacked_packages("nginx-stream", _STREAM_PACKAGES, size="100 kB") / _STREAM_MODULE
    return f"load_module {module};"
