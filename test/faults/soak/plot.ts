/** Plots the samples of a soak. */
import { type MetricName, metricNames, metrics, type Sample } from "./sample.ts";

const panel = { width: 720, height: 110, left: 90, top: 26 };
const colours = ["#1b6e3c", "#b3541e"];

/** One panel per metric, one line per life; an SVG. */
export function plotOf(samples: readonly Sample[]): string {
  const servers = [...new Set(samples.map(({ server }) => server))];
  const [fromMs, toMs] = rangeOf(samples.map(({ atMs }) => atMs));
  const x = (atMs: number) => panel.left + ((atMs - fromMs) / (toMs - fromMs)) * panel.width;
  const height = metricNames.length * (panel.height + panel.top) + panel.top;
  const panels = metricNames.map((name, index) =>
    panelOf(name, { samples, servers, x, top: panel.top + index * (panel.height + panel.top) }),
  );
  const hours = ((toMs - fromMs) / 3_600_000).toFixed(1);
  const legend = servers.map(
    (server, index) => `<tspan fill="${colours[index]}">${server} </tspan>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${panel.left + panel.width + 20}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>Resources of ${servers.join(" and ")} over ${hours} hours</title>`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="${panel.left}" y="14">${hours} hours: ${legend.join("")}</text>`,
    ...panels,
    "</svg>\n",
  ].join("\n");
}

interface Panel {
  readonly samples: readonly Sample[];
  readonly servers: readonly string[];
  readonly x: (atMs: number) => number;
  readonly top: number;
}

function panelOf(name: MetricName, { samples, servers, x, top }: Panel): string {
  const { title, unit } = metrics[name];
  const [, most] = rangeOf(samples.map(({ values }) => values[name]));
  const y = (value: number) => top + panel.height - (value / most) * (panel.height - 20);
  const lives = [...Map.groupBy(samples, ({ life }) => life).values()];
  const lines = lives.map((life) => {
    const points = life.map(
      ({ atMs, values }) => `${x(atMs).toFixed(1)},${y(values[name]).toFixed(1)}`,
    );
    const colour = colours[servers.indexOf(life[0]?.server ?? "")];
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${colour}"/>`;
  });
  const bottom = top + panel.height;
  return [
    `<text x="${panel.left}" y="${top + 12}">${title}</text>`,
    `<text x="${panel.left - 6}" y="${y(most) + 4}" text-anchor="end">${Number(most.toPrecision(3))} ${unit}</text>`,
    `<text x="${panel.left - 6}" y="${bottom}" text-anchor="end">0</text>`,
    `<path d="M${panel.left} ${bottom}h${panel.width}" stroke="#999"/>`,
    ...lines,
  ].join("\n");
}

/** Never empty: a line of equal values needs a height, too. */
function rangeOf(values: readonly number[]): [least: number, most: number] {
  const least = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  return most > least ? [least, most] : [least, least + 1];
}
