ALTER TABLE @schema@.plants ADD COLUMN note text NOT NULL DEFAULT '';
