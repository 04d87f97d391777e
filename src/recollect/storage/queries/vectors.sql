-- name: put
INSERT INTO embeddings (agent, entry_id, number, model, dim, vector, stale)
VALUES (:agent, :entry_id, :number, :model, :dim, :vector, :stale)
ON CONFLICT (agent, entry_id) DO UPDATE SET number = excluded.number, model = excluded.model, dim = excluded.dim,
    vector = excluded.vector, stale = excluded.stale

-- name: outdate
UPDATE embeddings SET stale = 1 WHERE agent = :agent AND entry_id = :entry_id

-- name: some_stale
SELECT 1 FROM embeddings WHERE agent = :agent AND model = :model AND dim = :dim AND stale = 1 LIMIT 1

-- name: forget
DELETE FROM embeddings WHERE agent = :agent AND entry_id = :entry_id

-- name: fresh
SELECT number, vector FROM embeddings
WHERE agent = :agent AND model = :model AND dim = :dim AND number > :number ORDER BY number

-- name: exact
SELECT number, (SELECT doc FROM entries WHERE entries.agent = :agent AND entries.id = embeddings.entry_id), vector
FROM embeddings WHERE agent = :agent AND model = :model AND dim = :dim AND number IN (:numbers*)

-- Subqueries instead of joins, because a planner without statistics may start from all vectors of the model.
-- name: embedded
SELECT doc FROM entries
WHERE agent = :agent AND doc IN (:docs*) AND EXISTS (
    SELECT 1 FROM embeddings
    WHERE embeddings.agent = :agent AND embeddings.entry_id = entries.id AND model = :model AND dim = :dim
)

-- name: of_docs
SELECT doc, (
    SELECT vector FROM embeddings
    WHERE embeddings.agent = :agent AND embeddings.entry_id = entries.id AND model = :model AND dim = :dim
)
FROM entries WHERE agent = :agent AND doc IN (:docs*)

-- Vector search in the server. Exact without an index; with one, its recall depends on ef_search.
-- name: nearest
SELECT embeddings.number, entries.doc, embeddings.vector
FROM embeddings JOIN entries ON entries.agent = :agent AND entries.id = embeddings.entry_id
WHERE embeddings.agent = :agent AND embeddings.model = :model AND embeddings.dim = :dim!
ORDER BY CAST(embeddings.vector AS vector(:dim!)) <=> CAST(CAST(:vector AS vector) AS vector(:dim!))
LIMIT :limit

-- name: index
CREATE INDEX IF NOT EXISTS embeddings_hnsw_:dim! ON embeddings
USING hnsw ((CAST(vector AS vector(:dim!))) vector_cosine_ops) WHERE dim = :dim!

-- name: search_list
SELECT set_config('hnsw.ef_search', :size, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('enable_indexscan', :index, true)

-- Entries without a vector, or with a stale one of the model, except long-term chunks, which permanently have none. If
-- `others` is 1, also entries whose vector is of another model.
-- name: missing
SELECT entries.id, entries.kind, entries.content
FROM entries LEFT JOIN embeddings ON embeddings.agent = :agent AND embeddings.entry_id = entries.id
WHERE entries.agent = :agent AND entries.scope <> 'account' AND entries.id > :after
    AND NOT (entries.kind = 'chunk' AND entries.lifetime = 'long_term')
    AND (
        embeddings.entry_id IS NULL OR (embeddings.stale = 1 AND embeddings.model = :model AND embeddings.dim = :dim)
        OR (:others = 1 AND (embeddings.model <> :model OR embeddings.dim <> :dim))
    )
ORDER BY entries.id LIMIT :limit

-- name: to_move
SELECT count(*)
FROM entries LEFT JOIN embeddings ON embeddings.agent = :agent AND embeddings.entry_id = entries.id
WHERE entries.agent = :agent AND entries.scope <> 'account'
    AND NOT (entries.kind = 'chunk' AND entries.lifetime = 'long_term')
    AND (
        embeddings.entry_id IS NULL OR embeddings.stale = 1 OR embeddings.model <> :model OR embeddings.dim <> :dim
    )

-- name: some
SELECT model, dim FROM embeddings WHERE agent = :agent AND model = :model AND dim = :dim LIMIT 1

-- Two index lookups, independent of the number of vectors.
-- name: other_before
SELECT model, dim FROM embeddings WHERE agent = :agent AND model <= :model AND (model < :model OR dim < :dim)
ORDER BY agent, model, dim, number LIMIT 1

-- name: other_after
SELECT model, dim FROM embeddings WHERE agent = :agent AND model >= :model AND (model > :model OR dim > :dim)
ORDER BY agent DESC, model DESC, dim DESC, number DESC LIMIT 1

-- name: count
SELECT count(*) FROM embeddings WHERE agent = :agent AND model = :model AND dim = :dim

-- name: packs
SELECT pack, length(numbers) FROM codes WHERE agent = :agent AND model = :model AND dim = :dim ORDER BY pack

-- name: pack
SELECT numbers, codes FROM codes WHERE agent = :agent AND pack = :pack

-- name: pack_put
INSERT INTO codes (agent, pack, model, dim, numbers, codes) VALUES (:agent, :pack, :model, :dim, :numbers, :codes)

-- name: pack_set
UPDATE codes SET numbers = :numbers, codes = :codes WHERE agent = :agent AND pack = :pack

-- name: pack_drop
DELETE FROM codes WHERE agent = :agent AND pack = :pack

-- name: every_pack
SELECT pack, model, dim FROM codes WHERE agent = :agent ORDER BY pack

-- name: living
SELECT number FROM embeddings
WHERE agent = :agent AND model = :model AND dim = :dim AND number BETWEEN :first AND :last

-- name: between
SELECT number, vector FROM embeddings
WHERE agent = :agent AND model = :model AND dim = :dim AND number BETWEEN :first AND :last ORDER BY number

-- name: after
SELECT entry_id, number, model, dim, vector, (
    SELECT id FROM entries WHERE entries.agent = :agent AND entries.id = embeddings.entry_id
)
FROM embeddings WHERE agent = :agent AND entry_id > :entry_id ORDER BY entry_id LIMIT :limit

-- name: packs_drop
DELETE FROM codes WHERE agent = :agent AND (model <> :model OR dim <> :dim)

-- name: packs_of_drop
DELETE FROM codes WHERE agent = :agent AND model = :model AND dim = :dim

-- name: texts
SELECT id, kind, content FROM entries WHERE agent = :agent AND id IN (:ids*)
