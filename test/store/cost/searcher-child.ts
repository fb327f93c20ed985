/**
 * Loaded into the searcher's thread before its own module (sqlite-counter.ts): passes the statements
 * that are executed there to the main thread.
 */
import { type MessagePort, workerData } from "node:worker_threads";
import { recordStatements } from "./record-statements.ts";

const { folder, executions } = workerData as { folder: string; executions: MessagePort };
recordStatements(folder, (execution) => executions.postMessage(execution));
