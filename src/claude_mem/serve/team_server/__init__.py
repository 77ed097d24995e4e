"""The server of a team's memory: any number of processes on one PostgreSQL database."""
