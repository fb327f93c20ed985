/** Opens one store from several processes of the next schema version at the same moment. */
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { startChild } from "../support/child.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const CHILD = new URL("./next-step-child.ts", import.meta.url);

/** Starts the processes: each must open the store and find no problems in it. */
export async function race(address: string, processes: number): Promise<void> {
  using folder = temporaryFolder();
  const start = folder.file("start");
  const said: unknown[] = [];
  let ready = 0;
  const children = Array.from({ length: processes }, () =>
    startChild(CHILD, [address, start], (line) => {
      if (line !== '"ready"') said.push(JSON.parse(line));
      else if (++ready === processes) writeFileSync(start, "");
    }),
  );
  for (const child of children) void child.ended.then(() => writeFileSync(start, ""));
  const ends = await Promise.all(children.map((child) => child.ended));
  expect(ends).toEqual(children.map(() => ({ code: 0, signal: null, stderr: "" })));
  expect(said).toEqual(children.map(() => 0));
}
