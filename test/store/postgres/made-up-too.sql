ALTER TABLE @schema@.plants ADD COLUMN origin text;
