import type { Host } from "./address.ts";
import type { Session } from "./session.ts";

/** The name of the coordinator among the nodes: its group in Citus's tables. */
export const coordinator = "0";

/** Maps plants to nodes of Citus. If it is outdated, statements take longer. */
export interface Placement {
  /** The OID of the table on the node that was asked. Another table gets another one. */
  readonly table: string;
  /** By the node's name. Undefined for a node that accepts no statements directly. */
  readonly nodes: ReadonlyMap<string, Host | undefined>;
  /** The nodes, and the coordinator, which may have no shards. */
  readonly hosts: ReadonlyMap<string, Host | undefined>;
  shardsOf(name: string): readonly string[];
  nodeOf(id: bigint): string;
}

export async function readPlacement(session: Session): Promise<Placement | undefined> {
  const [found] = await session.query(findTable);
  if (found?.[1] !== true) return undefined;
  const rows = await session.query(findShards);
  const [first] = rows;
  if (first === undefined) return undefined;
  /** In the order of their hashes. */
  const shards = rows.map(([hashMin, node, id, name, port]) => ({
    /** It covers the hashes from this one up to that of the next shard. */
    hashMin: Number(hashMin),
    node: String(node),
    host: hostOf(name, port),
    /** The same on every node. The id of a placement differs between nodes once a shard has moved. */
    id: String(id),
  }));
  const nodes = new Map(shards.map(({ node, host }) => [node, host]));
  return {
    table: String(found[0]),
    nodes,
    hosts: new Map([[coordinator, hostOf(first[5], first[6])], ...nodes]),
    shardsOf: (name) => shards.filter(({ node }) => node === name).map(({ id }) => id),
    nodeOf(id) {
      const hash = hashOf(id);
      return shards.findLast(({ hashMin }) => hashMin <= hash)?.node ?? "";
    },
  };
}

function hostOf(name: unknown, port: unknown): Host | undefined {
  return typeof name === "string" ? { name, port: Number(port) } : undefined;
}

const findTable =
  "SELECT to_regclass('@schema@.plants')::oid, to_regclass('pg_dist_shard') IS NOT NULL";

/** Nodes that share a shard count as one, without a host: storing a plant takes all of them. */
const findShards = `
  SELECT shardminvalue, node, shardid, own.nodename, own.nodeport, first.nodename, first.nodeport
  FROM (
    SELECT shardminvalue, shardid, string_agg(groupid::text, ',' ORDER BY groupid) AS node
    FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
    WHERE logicalrelid = '@schema@.plants'::regclass AND shardminvalue IS NOT NULL
    GROUP BY shardid, shardminvalue
  ) AS shards
  LEFT JOIN pg_dist_node AS own ON own.groupid::text = node
    AND own.noderole = 'primary' AND own.isactive AND own.hasmetadata AND own.metadatasynced
  LEFT JOIN pg_dist_node AS first ON first.groupid = ${coordinator} AND first.noderole = 'primary'
  ORDER BY shardminvalue::int`;

/** PostgreSQL's hashint8, which Citus uses to choose the shard, as an int32. */
export function hashOf(id: bigint): number {
  const high = Number(BigInt.asIntN(32, id >> 32n));
  const low = Number(BigInt.asIntN(32, id));
  return mix(low ^ (high >= 0 ? high : ~high));
}

/** hash_bytes_uint32 in hashfn.c: Bob Jenkins' lookup3, of one word. */
function mix(word: number): number {
  const initial = (0x9e3779b9 + 4 + 3923095) | 0;
  let [a, b, c] = [(initial + word) | 0, initial, initial];
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  return ((c ^ b) - rotate(b, 24)) | 0;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
