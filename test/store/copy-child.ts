/** Copies COUNT plants and then kills itself: `node copy-child.ts FROM TO COUNT`. */
import { copyPlants } from "../../src/store/copy.ts";

const [from = "", to = "", count = "0"] = process.argv.slice(2);

await copyPlants({ from, to }, (phase, done) => {
  if (phase === "copying" && done >= Number(count)) process.kill(process.pid, "SIGKILL");
});
