"""The team's server: any number of processes on one PostgreSQL database."""
