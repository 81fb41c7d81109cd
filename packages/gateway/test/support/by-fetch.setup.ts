import { beforeEach } from "vitest";

/**
 * What fetch has not: trailers and so gRPC, targets that are no URL or are normalised in one, a
 * method in lower case, bodies of GET, Node's requests and responses, brotli and zstd.
 */
const notOfFetch = [
  /gRPC(?!-)|grpc |through a proxy|trailers after them|HTTP\/1\.0/,
  /dots are segments|get \/v1|a Host that is none|unexpected body .* GET/,
  /served by the fallback|carries values from contextValues|the context has the protocol/,
  /the answer is in (br|zstd)|a client that accepts all|protovalidate|in a stream of both/,
];

beforeEach(({ task, skip }) => {
  const names = [task.name];
  for (let { suite } = task; suite !== undefined; { suite } = suite) names.unshift(suite.name);
  skip(notOfFetch.some((pattern) => pattern.test(names.join(" "))));
});
