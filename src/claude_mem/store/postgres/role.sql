-- What members' transactions run as: it owns nothing, and the rules of access.sql bind it. Run by the schema's owner.

GRANT USAGE ON SCHEMA claude_mem TO claude_mem_member;
GRANT SELECT ON ALL TABLES IN SCHEMA claude_mem TO claude_mem_member;
REVOKE ALL ON team_keys FROM claude_mem_member;
GRANT SELECT (id, member, machine, scopes, created_at_epoch, expires_at_epoch, revoked_at_epoch, used_at_epoch),
      INSERT, UPDATE (revoked_at_epoch) ON team_keys TO claude_mem_member;
GRANT INSERT, UPDATE, DELETE ON sdk_sessions, observations TO claude_mem_member;
GRANT INSERT, DELETE ON session_summaries, user_prompts, observation_sightings TO claude_mem_member;
GRANT UPDATE (name, named) ON projects TO claude_mem_member;
GRANT INSERT, UPDATE ON team_members TO claude_mem_member;
GRANT INSERT, UPDATE (level), DELETE ON team_grants TO claude_mem_member;
GRANT INSERT ON team_pulls TO claude_mem_member;
GRANT UPDATE (acknowledged_at_epoch, answer) ON team_acknowledgements TO claude_mem_member;
