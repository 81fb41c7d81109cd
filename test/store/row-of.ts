import { type NewPlant, textFields } from "../../src/plant.ts";
import type { RowValues } from "../../src/store/sqlite/writer.ts";

/** A plant in the form that the SQLite writer receives. */
export function rowOf(plant: NewPlant): RowValues {
  return [plant.id, ...textFields.map((field) => plant[field] ?? null)];
}
