ALTER TABLE plants ADD COLUMN origin text;
