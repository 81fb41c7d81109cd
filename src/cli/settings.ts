import type { Command } from "commander";
import * as settings from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";

export type Flags = settings.Flags;

export function addSettingFlags(command: Command, ...only: readonly string[]): Command {
  return settings.addSettingFlags(plantStore, command, ...only);
}

/** Reads all settings, or those named. @throws {SettingsError} */
export function readSettings(flags: Flags, ...only: readonly string[]) {
  return settings.readSettings(plantStore, flags, ...only);
}
