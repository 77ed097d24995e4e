"""The typed shapes that cross a process: filters, requests and answers, one file per noun.

OpenAPI, the MCP tools' schemas, the command line's filter flags and the checks of what comes in are all made
of these structs.
"""
