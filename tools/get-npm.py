#!/usr/bin/env python3
"""Fetch the packages that FOLDER/package.json names into FOLDER/node_modules, and nothing that they name in turn.

Usage: tools/get-npm.py FOLDER

The browser tests use two packages as they are. Debian's npm would do the same, with 350 Debian packages of its own. Versions
and checksums are those of package-lock.json; registry and certificates are npm's own settings (npm_config_registry,
npm_config_cafile, .npmrc), proxies those of the environment.
"""
import base64
import hashlib
import io
import json
import os
import pathlib
import shutil
import ssl
import sys
import tarfile
import urllib.request


def setting(key, fallback):
    """npm's setting KEY: the environment, then the user's file, then the machine's."""
    value = os.environ.get("npm_config_" + key)
    for file in (pathlib.Path.home() / ".npmrc", pathlib.Path("/etc/npmrc")):
        if value is None and file.is_file():
            pairs = (line.partition("=") for line in file.read_text().splitlines())
            value = next((v.strip() for k, _, v in pairs if k.strip() == key), None)
    return value or fallback


def download(name, version):
    registry = setting("registry", "https://registry.npmjs.org/").rstrip("/")
    url = f"{registry}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    trust = ssl.create_default_context(cafile=setting("cafile", None))
    with urllib.request.urlopen(url, timeout=60, context=trust) as answer:
        return answer.read()


def unpack(packed, folder):
    """The files of an npm package, which all lie below one folder; no file leaves FOLDER."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar.getmembers():
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            if not member.isfile() or not parts or ".." in parts:
                continue
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())


def main(folder):
    wanted = json.loads((folder / "package.json").read_text())["devDependencies"]
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    for name, version in wanted.items():
        target = folder / "node_modules" / name
        mark = target / ".integrity"
        entry = locked["node_modules/" + name]
        if entry["version"] != version:
            sys.exit(f"get-npm: package-lock.json has {name} {entry['version']}, package.json {version}")
        if mark.is_file() and mark.read_text() == entry["integrity"]:
            continue
        packed = download(name, version)
        if entry["integrity"] != "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode():
            sys.exit(f"get-npm: {name} {version} is not what package-lock.json says: wrong checksum")
        unpack(packed, target)
        mark.write_text(entry["integrity"])
        print(f"setup: {name} {version}, {len(packed) / 1e6:.1f} MB")


try:
    main(pathlib.Path(sys.argv[1]))
except OSError as error:
    sys.exit(f"get-npm: {error}")
