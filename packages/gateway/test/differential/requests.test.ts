import { requestTables } from "./rows/tables.ts";
import { testTables } from "./run-tables.ts";

testTables(requestTables);
