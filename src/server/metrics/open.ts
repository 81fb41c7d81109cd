import { type AdminListener, openAdmin, ServiceMetrics } from "connect-gateway/metrics";
import { version } from "../version.ts";
import { createCommitFamilies } from "./commit-families.ts";
import { CommitMetrics } from "./commit-metrics.ts";
import { layout } from "./layout.ts";

export interface Admin {
  readonly metrics: ServiceMetrics;
  /** Counters of the main thread. */
  readonly commits: CommitMetrics;
  readonly listener: AdminListener;
  close(): Promise<void>;
}

/**
 * Opens the metrics and the port that serves them.
 *
 * @param threads Serving threads besides the main thread; 0 if the main thread serves alone.
 */
export async function openMetrics(
  place: { readonly host: string; readonly port: number },
  threads: number,
): Promise<Admin> {
  const createFamilies = createCommitFamilies;
  const prefix = "plant_store";
  const metrics = new ServiceMetrics({ layout, prefix, version, threads, createFamilies });
  try {
    const listener = await openAdmin(place, metrics);
    const commits = new CommitMetrics(metrics.main.numbers);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, commits, listener, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}
