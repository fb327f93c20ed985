/**
 * Draws the results as an SVG chart: obtainable items and tokens along the line. It is readable on
 * light and dark pages, and distinguishes the ways by dashes and names, not by color alone.
 */
import type { Place, WayFigures } from "./figures.ts";

const WIDTH = 990;
const HEIGHT = 330;
const PANEL = { width: 300, height: 220, top: 62 } as const;
const LEFT = [52, 520] as const;

/** Color on light pages, color on dark pages, dashes. */
const STYLES: readonly (readonly [light: string, dark: string, dashes: string])[] = [
  ["#8a5a00", "#e0a93e", "2 3"],
  ["#9b2c6f", "#e58ac0", "7 3"],
  ["#1f7a4d", "#5fcf97", "9 3 2 3"],
  ["#6b6f76", "#b1b6bd", "4 4"],
  ["#0b5fd0", "#6aa8ff", ""],
];

interface Axis {
  readonly title: string;
  readonly ticks: readonly number[];
  readonly label: (value: number) => string;
  /** From 0 at the bottom to 1 at the top. */
  readonly scale: (value: number) => number;
  readonly value: (place: Place) => number;
}

const LOWEST = 500;
const HIGHEST = 30_000;

const OBTAINABLE: Axis = {
  title: "Planted items the agent can obtain, %",
  ticks: [0, 25, 50, 75, 100],
  label: String,
  scale: (value) => value / 100,
  value: (place) => place.obtainable,
};

const TOKENS: Axis = {
  title: "Tokens in the agent's context (log scale)",
  ticks: [500, 1_000, 5_000, 10_000, 20_000],
  label: (value) => value.toLocaleString("en"),
  scale: (value) => Math.log(value / LOWEST) / Math.log(HIGHEST / LOWEST),
  value: (place) => place.tokens,
};

export function chartOf(figures: readonly WayFigures[], caption: string): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(caption)}">`,
    `<style>${stylesheet()}</style>`,
    `<text x="${LEFT[0] - 30}" y="22" class="caption">${escaped(caption)}</text>`,
    ...[OBTAINABLE, TOKENS].flatMap((axis, n) => panel(axis, figures, LEFT[n] as number)),
    "</svg>",
    "",
  ].join("\n");
}

function stylesheet(): string {
  const lines = (dark: boolean): string =>
    STYLES.map(
      ([light, night], n) =>
        `.w${n}{stroke:${dark ? night : light}}.n${n}{fill:${dark ? night : light}}`,
    ).join("");
  const dashes = STYLES.map(([, , dash], n) => `.w${n}{stroke-dasharray:${dash || "none"}}`).join(
    "",
  );
  return [
    "text{font:12px system-ui,sans-serif;fill:#24292f}.caption{font-size:13px}.title{font-weight:600}",
    ".line{fill:none;stroke-width:1.8}.w4{stroke-width:3}.grid{stroke:#d0d7de;stroke-width:1}",
    lines(false),
    dashes,
    `@media(prefers-color-scheme:dark){text{fill:#e6edf3}.grid{stroke:#3d444d}${lines(true)}}`,
  ].join("");
}

function panel(axis: Axis, figures: readonly WayFigures[], left: number): string[] {
  const agents = figures[0]?.places.map(({ agent }) => agent) ?? [];
  const [first = 2, last = 12] = [agents[0], agents.at(-1)];
  const { top, height, width } = PANEL;
  const x = (agent: number): number => left + (width * (agent - first)) / Math.max(1, last - first);
  const y = (value: number): number => top + height * (1 - axis.scale(value));
  const grid = axis.ticks.flatMap((tick) => [
    `<line class="grid" x1="${left}" x2="${left + width}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>`,
    `<text x="${left - 6}" y="${round(y(tick) + 4)}" text-anchor="end">${axis.label(tick)}</text>`,
  ]);
  const names = apart(figures.map(({ places }) => y(axis.value(places.at(-1) as Place))));
  const lines = figures.flatMap(({ way, places }, n) => {
    const points = places.map((place) => `${round(x(place.agent))},${round(y(axis.value(place)))}`);
    return [
      `<polyline class="line w${n}" points="${points.join(" ")}"/>`,
      `<text class="n${n}" x="${left + width + 6}" y="${round((names[n] as number) + 4)}">${escaped(way)}</text>`,
    ];
  });
  return [
    `<text class="title" x="${left}" y="${top - 14}">${escaped(axis.title)}</text>`,
    ...grid,
    ...lines,
    ...agents.map(
      (agent) =>
        `<text x="${round(x(agent))}" y="${top + height + 18}" text-anchor="middle">${agent}</text>`,
    ),
    `<text x="${left + width / 2}" y="${top + height + 36}" text-anchor="middle">agents on the line</text>`,
  ];
}

const NAME_HEIGHT = 14;

/** Moves overlapping names down, in order. */
function apart(heights: readonly number[]): number[] {
  const order = heights.map((height, n) => ({ height, n })).sort((a, b) => a.height - b.height);
  const placed: number[] = [];
  let lowest = Number.NEGATIVE_INFINITY;
  for (const { height, n } of order) {
    lowest = Math.max(height, lowest + NAME_HEIGHT);
    placed[n] = lowest;
  }
  return placed;
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
