#!/usr/bin/env python3
"""Runs what README.md promises, and looks whether what the documents link to is there.

A fenced `sh` block right after a line `<!-- ci -->` is run with `bash -euo pipefail` from the
repository's root. The blocks of README.zh-CN.md must be the same, but for comments. The block that installs the
systemd unit, the unit and the container file are not run, but what one names the other must make. Every *.md file's
relative links must lead to a file (and, within a document, to a heading). Exits with 1 and says what is wrong.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Commands are short: they show the product, they do not build it.
SECONDS = 120
HOST = "target/release/messageweave-lb"
UNIT = "deploy/messageweave-lb.service"
CONTAINER = "deploy/Containerfile"

BLOCK = re.compile(r"^<!-- ci -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SH = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(^|\s+)#.*$", re.MULTILINE)
INSTALL = re.compile(r"install (?:-D )?-m \d+ (?:-g \S+ )?(.*) (/\S+)$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def main():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    faults = run_blocks(text) + other_blocks(text) + [*unit(text), *container()] + dead_links()
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


def other_blocks(text):
    other = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    ours, theirs = ([COMMENT.sub("", block) for block in SH.findall(each)] for each in (text, other))
    return [] if ours == theirs else ["README.zh-CN.md: its sh blocks are not those of README.md"]


def unit(text):
    """The files that the unit names are those that README.md installs, and its flags and keys exist."""
    body = (ROOT / UNIT).read_text(encoding="utf-8")
    block = COMMENT.sub("", next(block for block in SH.findall(text) if "systemctl" in block))
    installed, made = set(), what_make_makes(re.search(r"^make (.*)$", block, re.MULTILINE)[1])
    for sources, target in INSTALL.findall(block):
        for source in sources.split():
            installed.add(target + Path(source).name if target.endswith("/") else target)
            # The certificate is the reader's own.
            shipped = source.startswith("deploy/") and (ROOT / source).is_file()
            if not names(made, source) and not shipped and not source.endswith(".pem"):
                yield f"README.md installs {source}, which its `make` does not make"
    for command in re.findall(r"^Exec\w+=(/usr/local/.*)$", body.replace("\\\n", ""), re.MULTILINE):
        yield from (f"{UNIT}: README.md does not install {path}"
                    for path in re.findall(r"(?<!\S)/\S+", command) if path not in installed)
        yield from unknown_flags(UNIT, command)
    if shutil.which("systemd-analyze"):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / Path(UNIT).name
            copy.write_text(body.replace("=/usr/local/bin/messageweave-lb ", "=/bin/true "), encoding="utf-8")
            verify = subprocess.run(["systemd-analyze", "--man=no", "verify", copy], capture_output=True, text=True)
        yield from (f"{UNIT}: {line}" for line in verify.stderr.splitlines() if copy.name in line)


def container():
    body = (ROOT / CONTAINER).read_text(encoding="utf-8")
    made = what_make_makes(re.search(r"^RUN make (.*)$", body, re.MULTILINE)[1])
    yield from (f"{CONTAINER}: its `make` does not make {path}"
                for path in re.findall(r"/src/(\S+)", body) if not names(made, path))
    channel = re.search(r'channel = "(\d+\.\d+)', (ROOT / "rust-toolchain.toml").read_text(encoding="utf-8"))[1]
    if f"FROM rust:{channel}-" not in body:
        yield f"{CONTAINER}: not the Rust {channel} of rust-toolchain.toml"
    yield from unknown_flags(CONTAINER, re.search(r"^CMD .*$", body, re.MULTILINE)[0])


def what_make_makes(goals):
    """Its recipes, which name what they make."""
    return subprocess.run(["make", "-nB", *goals.split()], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def names(text, path):
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w./-])", text)


def unknown_flags(name, command):
    subcommand = re.search(r"\b(serve|check)\b", command)[1]
    text = subprocess.run([ROOT / HOST, subcommand, "--help"], check=True, capture_output=True, text=True).stdout
    unknown = [flag for flag in re.findall(r"--[\w-]+", command) if not re.search(rf"{flag}(?![\w-])", text)]
    return [f"{name}: `{subcommand}` has no {flag}" for flag in unknown]


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
