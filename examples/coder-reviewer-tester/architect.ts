/** The architect: defines the data types that the coder cannot. */
import type { Player } from "./player.ts";
import { DECLARATIONS, DECLARED, TYPES } from "./sources.ts";

export const architect: Player = async (work, { project }) => {
  await project.write(TYPES, "export interface User { id: string; name: string }\n");
  await project.write(DECLARATIONS, DECLARED);
  await work.complete({ summary: `User is defined in ${TYPES}; ${DECLARATIONS} uses it.` });
};
