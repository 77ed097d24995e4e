"""The settings: each is declared once, and only this package reads them."""

from claude_mem.settings.declarations import SETTINGS, Setting, Settings, SettingWarning
from claude_mem.settings.resolution import data_directory, load, read_file

__all__ = ["SETTINGS", "Setting", "SettingWarning", "Settings", "data_directory", "load", "read_file"]
