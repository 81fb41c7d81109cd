/** plant-store without coalescing: each request is its own statement and commit. */
import { openAuthenticator } from "connect-gateway-kit/auth";
import { serve } from "../../src/server/serve.ts";
import { resolveSettings } from "../../src/server/settings.ts";
import { openStore } from "../../test/support/open-store.ts";
import { token } from "../requests.ts";
import { announceUrl } from "./announce.ts";

const settings = resolveSettings({ port: 0, auth: { tokenFile: undefined, tokens: [token] } });
const serving = await serve(settings, {
  authenticator: await openAuthenticator(settings.auth, settings.log.warn),
  store: await openStore(process.argv[2] ?? "", { limits: { batchRowsMax: 1 } }),
});
announceUrl(`http://127.0.0.1:${serving.port}`);
process.once("SIGTERM", () => void serving.close());
