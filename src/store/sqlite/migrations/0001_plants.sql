-- One row a plant. id is any int64; text is kept as it came, in UTF-8;
-- no tag is NULL, an empty tag is ''.
CREATE TABLE plants (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  tag TEXT
) STRICT;
