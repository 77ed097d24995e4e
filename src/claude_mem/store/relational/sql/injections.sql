-- The statements of injections.py. `-- name: x` opens one; the next line says what it is for.

-- name: add_rendering
-- Records the content of a file in context/.
INSERT INTO renderings (stamp, refs, tokens, created_at_epoch) VALUES (:stamp, :refs, :tokens, :created_at_epoch)
ON CONFLICT (stamp) DO UPDATE
    SET refs = excluded.refs, tokens = excluded.tokens, created_at_epoch = excluded.created_at_epoch;

-- name: prune_renderings
-- Files of long ago are gone.
DELETE FROM renderings
WHERE stamp NOT IN (SELECT stamp FROM renderings ORDER BY created_at_epoch DESC, stamp DESC LIMIT :keep);

-- name: rendering
-- The content of one file.
SELECT refs, tokens FROM renderings WHERE stamp = :stamp;
