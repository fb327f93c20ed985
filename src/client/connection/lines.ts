/** Yields the lines of a response as they arrive, including their line ends. */
export async function* linesOf(response: Response): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  for await (const chunk of chunksOf(response)) {
    const pieces = decoder.decode(chunk, { stream: true }).split(/(?<=\n)/);
    for (const piece of pieces) {
      begun.push(piece);
      if (!piece.endsWith("\n")) continue;
      yield begun.join("");
      begun = [];
    }
  }
  const rest = begun.join("") + decoder.decode();
  if (rest !== "") yield rest;
}

/** Uses a reader, because not every browser can iterate a stream. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.cancel().catch(() => {}); // The consumer stopped early: the rest is not read.
  }
}
