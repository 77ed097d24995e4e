"""Packages extensions/vscode as a .vsix: a zip file with the extension's files, a manifest and their types.

The same files always produce the same bytes.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "extensions" / "vscode"
TYPES = {
    "js": "application/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "txt": "text/plain",
}
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # as far back as a zip can say


def package(target: Path) -> Path:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    files = {f"extension/{each.name}": each.read_bytes() for each in EXTENSION.iterdir() if each.is_file()}
    files["extension/LICENSE.txt"] = (ROOT / "LICENSE").read_bytes()
    made: dict[str, str | bytes] = {
        "extension.vsixmanifest": _manifest(manifest),
        "[Content_Types].xml": _types(),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in (made | dict(sorted(files.items()))).items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, content)
    return target


def _manifest(about: dict[str, Any]) -> str:
    identity = f"Id={quoteattr(about['name'])} Version={quoteattr(about['version'])}"
    properties = {
        "Microsoft.VisualStudio.Code.Engine": about["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionDependencies": "",
        "Microsoft.VisualStudio.Code.ExtensionPack": "",
        "Microsoft.VisualStudio.Code.ExtensionKind": ",".join(about["extensionKind"]),
        "Microsoft.VisualStudio.Code.LocalizedLanguages": "",
    }
    properties_xml = "".join(
        f"<Property Id={quoteattr(id)} Value={quoteattr(value)}/>" for id, value in properties.items()
    )
    asset = '<Asset Type="{}" Path="extension/{}" Addressable="true"/>'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">'
        f'<Metadata><Identity Language="en-US" {identity} Publisher={quoteattr(about["publisher"])}/>'
        f"<DisplayName>{escape(about['displayName'])}</DisplayName>"
        f'<Description xml:space="preserve">{escape(about["description"])}</Description>'
        f"<Categories>{escape(','.join(about['categories']))}</Categories>"
        f"<License>extension/LICENSE.txt</License><Properties>{properties_xml}</Properties></Metadata>"
        '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>'
        f"<Assets>{asset.format('Microsoft.VisualStudio.Code.Manifest', 'package.json')}"
        f"{asset.format('Microsoft.VisualStudio.Services.Content.Details', 'README.md')}"
        f"{asset.format('Microsoft.VisualStudio.Services.Content.License', 'LICENSE.txt')}"
        "</Assets></PackageManifest>\n"
    )


def _types() -> str:
    content_types = "".join(
        f'<Default Extension=".{each}" ContentType="{type}"/>' for each, type in TYPES.items()
    )
    xmlns = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{xmlns}">{content_types}</Types>\n'


if __name__ == "__main__":
    version = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["version"]
    default = ROOT / "dist" / f"claude-mem-{version}.vsix"
    print(package(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
