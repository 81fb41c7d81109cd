import { Counter, Gauge, type Registry } from "@prometheus-io/client";

/** Adds a metric whose value is read at each scrape. */
type Watch = (name: string, help: string, read: () => number) => void;

/** @param prefix Of the names. */
export function createWatches(
  prefix: string,
  registry: Registry,
): { readonly gauge: Watch; readonly counter: Watch } {
  const registers = [registry];
  return {
    gauge(name, help, read) {
      const collect = function (this: Gauge) {
        this.set(read());
      };
      new Gauge({ name: `${prefix}_${name}`, help, registers, collect });
    },
    counter(name, help, read) {
      const collect = function (this: Counter) {
        this.reset();
        this.inc(read());
      };
      new Counter({ name: `${prefix}_${name}`, help, registers, collect });
    },
  };
}
