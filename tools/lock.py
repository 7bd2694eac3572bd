"""Write requirements.lock by uv, with hashes and without an index address, then environment.yml from it.

Run it by `make lock` after a change of the packages in pyproject.toml: versions that are locked stay. `make lock
UPGRADE=1` takes the newest ones, and results may change with them. It needs uv, which the rest of the project does not.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPILE = [
    *("uv", "pip", "compile", "pyproject.toml", "--all-extras", "--output-file", "requirements.lock", "--quiet"),
    # One version of each package for Python 3.11 to 3.13, on every platform.
    *("--universal", "--fork-strategy", "fewest", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
]
HEAD = """\
# Made by `make lock` from requirements.lock: the same versions of the same packages, for conda.
name: replirank
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python >=3.11,<3.14
  - pip
  - pip:
"""


def pins(lock: str) -> list[str]:
    """The requirements of a lock file without their hashes."""
    return [match[1].strip() for match in re.finditer(r"^([a-z0-9][^\\\n]*==[^\\\n]*)", lock, re.MULTILINE)]


def main() -> None:
    # uv keeps the versions of the file that it writes to, unless it is told to upgrade.
    subprocess.run([*COMPILE, *sys.argv[1:]], cwd=ROOT, check=True)
    lock = (ROOT / "requirements.lock").read_text()
    (ROOT / "environment.yml").write_text(HEAD + "".join(f'      - "{pin}"\n' for pin in pins(lock)))


if __name__ == "__main__":
    main()
