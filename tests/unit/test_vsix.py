"""The package of the VS Code extension."""

import importlib.util
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("vsix", ROOT / "scripts" / "vsix.py")
assert SPEC
assert SPEC.loader
vsix = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(vsix)


def test_it_has_every_file_of_the_extension_and_names_it_as_its_manifest_does(tmp_path: Path) -> None:
    packed = vsix.package(tmp_path / "x.vsix")
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))  # our own bytes
        ElementTree.fromstring(archive.read("[Content_Types].xml"))
        about = json.loads(archive.read("extension/package.json"))
    ours = {f"extension/{file.name}" for file in (ROOT / "extensions" / "vscode").iterdir()}
    assert names == ours | {"extension.vsixmanifest", "[Content_Types].xml", "extension/LICENSE.txt"}
    identity = next(manifest.iter("{http://schemas.microsoft.com/developer/vsx-schema/2011}Identity"))
    assert (identity.get("Id"), identity.get("Version"), identity.get("Publisher")) == (
        about["name"],
        about["version"],
        about["publisher"],
    )


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    assert vsix.package(tmp_path / "a").read_bytes() == vsix.package(tmp_path / "b").read_bytes()
