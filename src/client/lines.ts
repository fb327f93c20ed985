/** The lines of an answer as they arrive, with their ends. */
export async function* linesOf(response: Response): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  for await (const chunk of response.body ?? []) {
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
