/** A way to a server over a distance: `relay.ts PORT DELAY_MS`, each way. */
import { openRelay, overDistance } from "../../packages/gateway/test/support/relay.ts";
import { announceUrl } from "./announce.ts";

const [port, delayMs] = process.argv.slice(2).map(Number);
const distance = { delayMs: delayMs ?? 0 };
const { url } = await openRelay(
  port ?? 0,
  overDistance(() => distance),
);
announceUrl(url);
