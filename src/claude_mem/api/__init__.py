"""The types that cross a process boundary: filters, requests and responses, one file per noun.

OpenAPI, the MCP tools' schemas, the command line's filter flags and the validation of input are all generated
from these structs.
"""
