"""Exit with 0 if the registry in this container is ready, with 1 if it is not."""

import os
import sys
import urllib.error
import urllib.request

url = f"http://127.0.0.1:{os.environ.get('COUNTERFOIL_PORT', '8081')}/health/ready"
try:
    with urllib.request.urlopen(url, timeout=2) as reply:
        sys.exit(0 if reply.status == 200 else 1)  # noqa: PLR2004 - HTTP's OK
except (urllib.error.URLError, OSError) as problem:
    print(problem, file=sys.stderr)
    sys.exit(1)
