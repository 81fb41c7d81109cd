CREATE TABLE pg_dist_shard AS
  SELECT 'plants'::regclass AS logicalrelid, number AS shardid,
    (number * 134217728::bigint - 2147483648)::text AS shardminvalue
  FROM generate_series(0, 31) AS number;
CREATE TABLE pg_dist_placement AS
  SELECT :group * 100 + shardid AS placementid, shardid, 1 + shardid % 2 AS groupid
  FROM pg_dist_shard;
CREATE TABLE pg_dist_local_group AS SELECT :group AS groupid;
CREATE FUNCTION lock_relation_if_exists(name text, mode text) RETURNS boolean
  LANGUAGE plpgsql AS 'BEGIN LOCK TABLE plants IN ROW SHARE MODE; RETURN true; END';
CREATE TABLE plants_0 ();
CREATE TABLE pg_dist_node AS
  SELECT number + 1 AS nodeid, number AS groupid, name AS nodename, 5432 AS nodeport,
    number > 0 AS shouldhaveshards, 'primary' AS noderole, true AS isactive,
    false AS hasmetadata, true AS metadatasynced
  FROM (VALUES (0, 'c'), (1, 'w1'), (2, 'w2')) AS nodes (number, name);
CREATE TABLE answers (nodeid int, success boolean, result text);
CREATE FUNCTION run_command_on_all_nodes(command text)
  RETURNS TABLE (nodeid int, success boolean, result text)
  LANGUAGE sql AS 'SELECT * FROM answers';
CREATE FUNCTION node_of(id bigint) RETURNS int LANGUAGE sql AS
  'SELECT (1 + ((hashint8(id)::bigint + 2147483648) / 134217728) % 2)::int';
