import { callTables } from "./rows/tables.ts";
import { testTables } from "./run-tables.ts";

testTables(callTables);
