/**
 * Every regular expression that meets input takes linear time. recheck decides by analysis of the automaton,
 * and searches for attacks where a pattern has look-around or large counts. That search takes a count such as
 * {6,512} for growth, and what it finds depends on its time, so its attacks are measured.
 */
import { join } from "node:path";
import { check, type Diagnostics } from "recheck";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sourcePatterns } from "./source-patterns.ts";

/** What users run on their own files and command lines cannot be used against others. */
const isChecked = (file: string): boolean => !/^(?:cli|harness[\\/]setup)[\\/]/.test(file);

const patterns = sourcePatterns(join(import.meta.dirname, "..", "..", "src"), isChecked);

// As a program where there is a build for the system, which takes a tenth of the time.
const { RECHECK_BACKEND } = process.env;
beforeAll(async () => {
  process.env["RECHECK_BACKEND"] = RECHECK_BACKEND ?? "native";
  await check("a", "").catch(() => (process.env["RECHECK_BACKEND"] = "pure"));
});
afterAll(() => {
  if (RECHECK_BACKEND === undefined) delete process.env["RECHECK_BACKEND"];
});

const stateOf = async (source: string, flags: string): Promise<string> => {
  const result = await check(source, flags, { timeout: 60_000, randomSeed: 0 });
  if (result.status !== "vulnerable") return result.status;
  if (result.checker === "fuzz" && !growsWithSquare(result, source, flags)) return "safe";
  return `${result.status}: ${result.complexity.summary}`;
};

/** Returns whether an attack four times as long takes more than eight times the processor time. */
function growsWithSquare(
  { attack }: Extract<Diagnostics, { status: "vulnerable" }>,
  source: string,
  flags: string,
): boolean {
  const pattern = new RegExp(source, flags.replace(/[gy]/g, ""));
  const cost = (times: number): number => {
    const pumped = attack.pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join("");
    const text = pumped + attack.suffix;
    const costs = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      pattern.test(text);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    });
    return Math.min(...costs);
  };
  return cost(20_000) > 8 * Math.max(cost(5_000), 1_000);
}

describe("a regular expression in the sources", () => {
  it("is found, also where it is put together from parts", () => {
    const sources = patterns.map(({ source }) => source);
    expect(sources.length).toBeGreaterThan(250);
    expect(sources.some((each) => each.includes("passphrase") && each.includes("{6,512}"))).toBe(
      true,
    );
  });

  it.each(["^(a+)+$", "\\s+$", "eyJ[\\w-]+\\.eyJ", ".*a.*b.*c"])(
    "is refused if it backtracks: %s",
    async (source) => {
      expect(await stateOf(source, "")).toMatch(/^vulnerable/);
    },
  );

  it("takes linear time, whatever it is matched with [OPS-6]", async () => {
    const slow: string[] = [];
    for (const { source, flags, files } of patterns) {
      const state = await stateOf(source, flags);
      if (state !== "safe") slow.push(`${state} /${source}/${flags} in ${files.join(", ")}`);
    }
    expect(slow.join("\n")).toBe("");
  }, 1_200_000);
});
