"""Stand-ins for the programs that unpack rar and 7z, and archives that only they can read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Does what the program of its name does, with the options that replirank gives it, and refuses any others.
STUB = r"""
import json, os, sys

program, *options, archive = os.path.basename(sys.argv[0]), *sys.argv[1:]
with open(archive, "rb") as file:
    content = json.loads(file.read().split(b"\n", 1)[1])
show = {"bsdtar": "-tf", "lsar": "", "7z": "l -ba -slt", "unrar": "lb -p-"}
extract = {"bsdtar": "-xf", "unar": "-quiet -force-overwrite -no-directory", "7z": "x -y", "unrar": "x -idq -p- -o+"}

if options == show.get(program, "?").split():
    if program == "lsar":
        print(f"{archive}: RAR 5")
    for name in content["members"]:
        print(f"Path = {name}\nSize = 1\n" if program == "7z" else name)
elif options == extract.get(program, "?").split():
    for name, member in content["members"].items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        if isinstance(member, dict):
            (kind, goal), = member.items()
            os.mkfifo(name) if kind == "fifo" else getattr(os, kind)(goal, name)
        elif member is not None:
            with open(name, "x") as file:
                file.write(member)
            os.chmod(name, 0o400)
    if program in content["damaged_for"]:
        sys.exit(f"{program} 6.0\nCRC failed in {name}\n")
else:
    sys.exit(f"{program}: unknown options {options}")
"""


def stub_programs(monkeypatch, folder: Path, *programs: str) -> None:
    """Put stand-ins for these programs, and nothing else, on the PATH."""
    folder.mkdir()
    for name in (*programs, *(["lsar"] if "unar" in programs else [])):
        (folder / name).write_text(f"#!{sys.executable} -IS\n{STUB}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def write_foreign(path: Path, members: dict, damaged_for: list[str] | None = None) -> Path:
    """An archive that starts like a rar or 7z. A member is a text, None for a folder, or {kind of link: goal}."""
    head = b"7z\xbc\xaf\x27\x1c" if path.suffix == ".7z" else b"Rar!"
    content = {"members": members, "damaged_for": damaged_for or []}
    path.write_bytes(head + b"\n" + json.dumps(content).encode())
    return path
