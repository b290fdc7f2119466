"""Exit with 0 if the registry in this container is ready, with 1 if it is not."""

import os
import ssl
import sys
import urllib.error
import urllib.request

scheme = "https" if os.environ.get("COUNTERFOIL_TLS_CERTIFICATE") else "http"
url = f"{scheme}://127.0.0.1:{os.environ.get('COUNTERFOIL_PORT', '8081')}/health/ready"
# The certificate is for the server's name, not for this address, over which nothing secret is sent.
unverified = ssl._create_unverified_context()  # noqa: S323, SLF001  see above
try:
    with urllib.request.urlopen(url, timeout=2, context=unverified) as reply:  # noqa: S310  this machine
        sys.exit(0 if reply.status == 200 else 1)  # noqa: PLR2004 - HTTP's OK
except (urllib.error.URLError, OSError) as problem:
    print(problem, file=sys.stderr)
    sys.exit(1)
