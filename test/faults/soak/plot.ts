/** Plots the samples of a soak. */
import { metricNames, metrics, type Sample } from "./sample.ts";

const panel = { width: 720, height: 110, left: 90, top: 26 };
const colours = ["#1b6e3c", "#b3541e"];

/** One panel per metric, one line per life; an SVG. */
export function plotOf(samples: readonly Sample[]): string {
  const servers = [...new Set(samples.map(({ server }) => server))];
  const lives = [...Map.groupBy(samples, ({ life }) => life).values()];
  const [fromMs, toMs] = rangeOf(samples.map(({ atMs }) => atMs));
  const x = (atMs: number) => panel.left + ((atMs - fromMs) / (toMs - fromMs)) * panel.width;
  const height = metricNames.length * (panel.height + panel.top) + panel.top;
  const hours = ((toMs - fromMs) / 3_600_000).toFixed(1);
  const legend = servers.map(
    (server, index) => `<tspan fill="${colours[index]}">${server} </tspan>`,
  );
  const panels = metricNames.flatMap((name, index) => {
    const { title, unit } = metrics[name];
    const top = panel.top + index * (panel.height + panel.top);
    const bottom = top + panel.height;
    const [, most] = rangeOf(samples.map(({ values }) => values[name]));
    const y = (value: number) => bottom - (value / most) * (panel.height - 20);
    const lines = lives.map((life) => {
      const points = life.map(
        ({ atMs, values }) => `${x(atMs).toFixed(1)},${y(values[name]).toFixed(1)}`,
      );
      const colour = colours[servers.indexOf(life[0]?.server ?? "")];
      return `<polyline points="${points.join(" ")}" fill="none" stroke="${colour}"/>`;
    });
    const label = `x="${panel.left - 6}" text-anchor="end"`;
    return [
      `<text x="${panel.left}" y="${top + 12}">${title}</text>`,
      `<text ${label} y="${y(most) + 4}">${Number(most.toPrecision(3))} ${unit}</text>`,
      `<text ${label} y="${bottom}">0</text>`,
      `<path d="M${panel.left} ${bottom}h${panel.width}" stroke="#999"/>`,
      ...lines,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${panel.left + panel.width + 20}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>Resources of ${servers.join(" and ")} over ${hours} hours</title>`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="${panel.left}" y="14">${hours} hours: ${legend.join("")}</text>`,
    ...panels,
    "</svg>\n",
  ].join("\n");
}

/** Never empty: a line of equal values needs a height, too. */
function rangeOf(values: readonly number[]): [least: number, most: number] {
  const least = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  return most > least ? [least, most] : [least, least + 1];
}
