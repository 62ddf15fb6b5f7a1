#!/usr/bin/env python3
"""Runs what README.md promises, and looks whether what the documents link to is there.

A fenced `sh` block right after a line `<!-- ci -->` is run with `bash -euo pipefail` from the
repository's root. Every *.md file's relative links must lead to a file (and, within a document, to a
heading). Exits with 1 and says what is wrong.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Commands are short: they show the product, they do not build it.
SECONDS = 120

BLOCK = re.compile(r"^<!-- ci -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def main():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    faults = run_blocks(text) + dead_links()
    for fault in faults:
        print(f"readme: {fault}", file=sys.stderr)
    return 1 if faults else 0


def run_blocks(text):
    blocks = BLOCK.findall(text)
    marks = text.count("<!-- ci -->")
    if not blocks:
        return ["README.md has no sh block after a line <!-- ci -->"]
    if len(blocks) != marks:
        return [f"README.md has {marks} marks <!-- ci -->, but {len(blocks)} sh blocks right after one"]
    return [fault for block in blocks if (fault := run_block(block))]


def run_block(block):
    print("$ " + block.rstrip().replace("\n", "\n  "), flush=True)
    # A group of its own, so that nothing that a block starts outlives it.
    shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", block], cwd=ROOT, start_new_session=True)
    try:
        code = shell.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s: {block.splitlines()[0]}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    return f"exit {code}: {block.splitlines()[0]}" if code else None


def dead_links():
    documents = documents_of_the_repository()
    return [fault for document in documents for fault in dead_links_in(document)]


def documents_of_the_repository():
    """Git's view, so that nothing built or fetched is read."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    found = [ROOT / name for name in listing.split("\0") if name]
    return [document for document in found if document.is_file()]


def dead_links_in(document):
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z][a-z0-9+.-]*:", link, re.IGNORECASE):
            continue
        path, _, fragment = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        name = document.relative_to(ROOT)
        if not target.exists() or not target.is_relative_to(ROOT):
            yield f"{name}: no such file: {link}"
        elif fragment and target.suffix == ".md" and fragment.lower() not in anchors(target):
            yield f"{name}: no such heading: {link}"


def anchors(document):
    """Headings as GitHub names them."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    seen, names = {}, set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    names.update(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    return names


if __name__ == "__main__":
    sys.exit(main())
