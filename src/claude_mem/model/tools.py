"""What sort of thing a tool does, by its name, whichever agent has it. Pure."""

from __future__ import annotations

from enum import Enum, auto


class Sort(Enum):
    READ = auto()
    LOOK = auto()  # listings and searches
    EDIT = auto()
    WRITE = auto()
    COMMAND = auto()
    AGENT = auto()
    WEB = auto()
    OTHER = auto()


# Claude Code's names, Codex's, Gemini's, OpenCode's, Cursor's, Cline's and Droid's, in lower case.
NAMES = {
    Sort.READ: "read notebookread read_file read_many_files view",
    Sort.LOOK: "glob grep ls list search_file_content grep_search list_directory list_dir file_search"
    " codebase_search toolsearch search_files list_files",
    Sort.EDIT: "edit multiedit notebookedit replace edit_file search_replace apply_patch patch str_replace",
    Sort.WRITE: "write write_file create_file",
    Sort.COMMAND: "bash bashoutput powershell shell local_shell exec_command run_shell_command"
    " run_terminal_cmd execute execute_command",
    Sort.AGENT: "task agent",
    Sort.WEB: "webfetch websearch web_fetch web_search google_web_search fetch fetch_url fetchurl",
}
_SORTS = {name: sort for sort, names in NAMES.items() for name in names.split()}


def sort_of(tool: str) -> Sort:
    # An MCP server's file tools carry its name in front: mcp__files__read_file.
    return _SORTS.get(tool.lower().rpartition("__")[2], Sort.OTHER)
