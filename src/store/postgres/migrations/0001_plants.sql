-- One row a plant. id is any int64; text is kept as it came, in UTF-8; no tag is
-- NULL, an empty tag is ''. The primary key is the only constraint, so that the
-- table can be distributed by it.
CREATE TABLE @schema@.plants (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  tag text
);

-- Which migrations were applied; the schema version is the highest of them.
CREATE TABLE @schema@.plant_store_migrations (
  version bigint PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
